"""The Brain house: Sessions, Threads, Turns and the loop that drives an agent."""
