"""Limits of rounds and tokens: counted over all Runs of a Turn, whatever interrupts them (T20)."""

from __future__ import annotations
