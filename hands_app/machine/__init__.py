"""Pure decisions about executions: no I/O, no clock, no ids. `now` is always an argument."""
