"""Pure decisions over rows held in memory: no I/O, no clock, no random.

`now` and ids are arguments.
"""
