"""The user's agent, however it is reached."""
