"""Drives the agent's loop; `loop.py` comes first. Knows ports and contract, no framework."""
