"""How tools are run: one module for each way."""
