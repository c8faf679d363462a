"""The quality gate for chat agents."""

__version__ = "0.1.0"
