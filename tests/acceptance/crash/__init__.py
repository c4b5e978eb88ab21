"""Kill -9 of a Brain at each place where something could be lost or done twice."""

ROUNDS = "DURABLE_CRASH_ROUNDS"
"""How often a Brain is killed at each place; once in the ordinary suite."""
FIGURES = "DURABLE_CRASH_FIGURES"
"""A file that gets one JSON line of figures for each place."""
