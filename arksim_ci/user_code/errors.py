"""What goes wrong in the user's Python."""

from __future__ import annotations


class UserCodeFailed(Exception):
    """A custom metric or agent gave no result: it raised, hung, exited, or returned something else. The text is the cause."""
