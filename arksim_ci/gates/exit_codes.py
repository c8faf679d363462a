"""The exit codes of every command. A failed gate wins over a run that could not be measured (1 before 3)."""

from __future__ import annotations

from typing import Final

EXIT_OK: Final = 0
"""The run completed, everything that the gates read was measured, and every gate passed."""
EXIT_EVAL_FAILED: Final = 1
"""A gate failed on what was measured, or the agent fell silent in more test cases than allowed."""
EXIT_CONFIG_ERROR: Final = 2
"""The configuration can't be used; found before the first paid call."""
EXIT_INTERNAL_ERROR: Final = 3
"""The run could not be completed or measured, and no gate had failed by then."""
