"""What is asked of the house, and which tests hold it: `make coverage-of-spec`."""
