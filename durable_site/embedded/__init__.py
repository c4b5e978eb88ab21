"""The embedded system: one supervisor that runs every role of the house as a child process."""
