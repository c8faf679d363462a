"""What a terminal adds to the closing block: what was written, and which command comes next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from arksim_ci.config.document import shown
from arksim_ci.output import FOCUS
from arksim_ci.reports.safe_text import isolated, one_line, without_commands

_REPORT = "final_report.html"
_ALL = "all_failures.json"


def file_lines(folder: Path, files: Sequence[Path]) -> dict[str, str]:
    """Every written file, for the closing block: label → text. The folder stands there once.

    Args:
        folder: the output folder.
        files: what was written, in the order to show it.
    """
    inside = [file.relative_to(folder).as_posix() for file in files if file.is_relative_to(folder)]
    lines = {"Report": (folder / _REPORT).as_uri()} if _REPORT in inside else {}
    if inside:
        lines |= {"Folder": str(folder), "In it": ", ".join(inside)}
    if elsewhere := [str(file) for file in files if not file.is_relative_to(folder)]:
        lines["Besides"] = ", ".join(elsewhere)
    return lines


def rerun_command(config: Path, folder: Path, files: Sequence[Path]) -> str:
    """The command that reruns only what failed, ready to be copied; "" where no focus file was written."""
    focus = [file for file in files if file.parent == folder / FOCUS]
    if not focus:
        return ""
    first = min(focus, key=lambda file: (file.name == _ALL, len(file.name), file.name))
    words = ["arksim-ci", "simulate-evaluate", shown(config), "--scenario_file_path", shown(first)]
    return _safe(shlex.join([*words, "--output_dir", "rerun"]))


def _safe(text: str) -> str:
    return isolated(without_commands(one_line(text)))
