"""One file for each change of the schema, in order."""
