"""The language of the Brain house: pydantic types and frozen values that travel.

Imports nothing of Django.
"""
