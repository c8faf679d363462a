"""Conversations between simulated users and the agent."""
