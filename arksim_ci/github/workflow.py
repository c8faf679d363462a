"""What a step tells the runner: log lines, groups, masks, annotations, outputs, the step summary.

Source of the escapes and limits: "Workflow commands for GitHub Actions", docs.github.com, and `ActionCommand` of actions/runner.
"""

from __future__ import annotations

import logging
import secrets as random_source
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TextIO

from arksim_ci.reports.safe_text import cut, log_text, without_commands

Level = Literal["error", "warning", "notice"]

MOST_ANNOTATIONS: Final = 10
SUMMARY_LIMIT: Final = 1024 * 1024
"""Bytes; GitHub drops the whole summary of a step that has more."""
SUMMARY_MARGIN: Final = 48 * 1024
_LONGEST_LINE: Final = 4000
_LONGEST_MESSAGE: Final = 3000


@dataclass(frozen=True)
class Annotation:
    """A mark on a file of the repository, or on the run where `file` is empty. `line` counts from 1."""

    level: Level
    message: str
    title: str = ""
    file: str = ""
    line: int | None = None


class Workflow:
    """The runner's ear: everything that is printed goes through here, and nothing of it can be taken for a command.

    Args:
        stream: standard output of the action.
        output_file: `GITHUB_OUTPUT`.
        summary_file: `GITHUB_STEP_SUMMARY`.
    """

    def __init__(self, stream: TextIO, output_file: Path | None, summary_file: Path | None) -> None:
        self._stream = stream
        self._output_file = output_file
        self._summary_file = summary_file
        self._open_group = False
        self._annotations = 0
        self.redact: Callable[[str], str] = str
        """Replaces secrets, as far as they are known by now."""

    def log(self, text: str) -> None:
        """Write a line, or several, that no reader of commands takes for one."""
        self._write(log_text(self.redact(text), _LONGEST_LINE))

    def group(self, name: str) -> None:
        """Begin a fold of the log; the one before ends."""
        self.end_group()
        self._write(f"::group::{_data(' '.join(log_text(self.redact(name), 200).split()))}")
        self._open_group = True

    def end_group(self) -> None:
        """End the fold, where one is open."""
        if self._open_group:
            self._write("::endgroup::")
            self._open_group = False

    def mask(self, secret: str) -> None:
        """Have a value replaced in the log and the summary from now on; the runner masks each line of it, too."""
        if secret.strip():
            self._write(f"::add-mask::{_data(secret)}")

    def annotate(self, annotation: Annotation) -> None:
        """Put a mark on a file or on the run. GitHub shows ten of a kind: what is above ten goes to the log."""
        message = cut(without_commands(log_text(self.redact(annotation.message), _LONGEST_MESSAGE)), _LONGEST_MESSAGE)
        if self._annotations >= MOST_ANNOTATIONS:
            self.log(f"{annotation.level}: {annotation.message}")
            return
        self._annotations += 1
        properties = {"file": annotation.file, "line": str(annotation.line or "")}
        properties["title"] = " ".join(log_text(self.redact(annotation.title), 200).split())
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
        self._write(f"::{annotation.level}{f' {listed}' if listed else ''}::{_data(message)}")

    def warning(self, sentence: str) -> None:
        """Warn the reader of the run."""
        self.annotate(Annotation("warning", sentence, "arksim"))

    def outputs(self, values: Mapping[str, str]) -> str:
        """Write the step's outputs. Returns why they could not be written, or nothing."""
        return self._append(self._output_file, "".join(output_text(name, value) for name, value in values.items()))

    def end(self, outputs: Mapping[str, str], summary: str = "") -> None:
        """Say how a step without results ended. What can't be written is a warning."""
        for trouble in (self.outputs(outputs), self.summary(summary) if summary else ""):
            if trouble:
                self.warning(trouble)

    def summary_room(self) -> int:
        """Bytes that the summary can still take, with a margin; what earlier code wrote counts."""
        try:
            used = self._summary_file.stat().st_size if self._summary_file else 0
        except OSError:
            used = 0
        return max(SUMMARY_LIMIT - SUMMARY_MARGIN - used, 0)

    def summary(self, text: str) -> str:
        """Add to the step's summary. Returns why that could not be, or nothing."""
        text = f"{text.rstrip()}\n"
        if len(text.encode("utf-8", "replace")) > self.summary_room():
            return "the step summary has no room left: GitHub would drop all of it"
        return self._append(self._summary_file, text)

    def _append(self, path: Path | None, text: str) -> str:
        if path is None:
            return ""
        try:
            with path.open("a", encoding="utf-8", errors="replace", newline="") as file:
                file.write(text)
        except OSError as error:
            return f"{path.name} can't be written: {error.strerror}"
        return ""

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


class LogHandler(logging.Handler):
    """Brings what the package's modules log into the step's log."""

    def __init__(self, workflow: Workflow) -> None:
        super().__init__(logging.INFO)
        self._workflow = workflow

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, its traceback included."""
        prefix = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        self._workflow.log(f"{prefix}{self.format(record)}")


def output_text(name: str, value: str) -> str:
    """One output as the file holds it; several lines stand between random delimiters, which no value can guess."""
    if "\n" not in value and "\r" not in value:
        return f"{name}={value}\n"
    delimiter = f"arksim_{random_source.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
