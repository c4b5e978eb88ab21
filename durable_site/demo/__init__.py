"""The demonstration: an agent, its tools and a scripted provider, registered as a user's are."""
