"""Management commands of the assembled site."""
