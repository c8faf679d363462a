"""The documented files as pydantic models, and the words that they share."""
