"""The decision: pure functions from what was measured to a verdict."""
