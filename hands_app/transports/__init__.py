"""How messages leave and reach a Hands process."""
