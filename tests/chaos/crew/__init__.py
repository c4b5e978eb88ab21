"""A Django app with the agent and tools that workers run while their surroundings break."""
