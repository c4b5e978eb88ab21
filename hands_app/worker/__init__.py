"""The use cases of a Hands process: admit, authorize, claim, execute, finish, publish."""
