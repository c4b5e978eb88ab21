"""How tool calls leave the house and their results return; knows ports and contract only."""
