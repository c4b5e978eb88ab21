"""How the schema changes; run by `python -m hands_app migrate`."""
