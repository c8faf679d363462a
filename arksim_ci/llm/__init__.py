"""The LLM: who is asked, what is asked, and how a provider is reached."""
