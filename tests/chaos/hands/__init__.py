"""Hands workers that are killed, stopped and cut off, beside a Brain that the test drives."""

ROUNDS = "DURABLE_CRASH_ROUNDS"
"""How often a worker is killed at each place; once in the ordinary suite."""
FIGURES = "DURABLE_CRASH_FIGURES"
"""A file that gets one JSON line of figures for each place."""
