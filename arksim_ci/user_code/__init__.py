"""The user's own Python, as a guest in a process of its own."""
