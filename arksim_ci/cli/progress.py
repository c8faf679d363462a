"""Progress in a terminal: a live bar where there is one, a plain line every few seconds elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from arksim_ci.reports.safe_text import log_text
from arksim_ci.schema.simulation import Conversation, Turn

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_SECONDS_BETWEEN_LINES = 5.0


class Counts:
    """What was done so far, in words."""

    def __init__(self) -> None:
        self.conversations = 0
        self.expected = 0
        self.turns = 0
        self.judgements = 0

    def __str__(self) -> str:
        return (
            f"{self.conversations} of {_counted(self.expected, 'conversation')} finished, {_counted(self.turns, 'turn')}, "
            f"{_counted(self.judgements, 'judgement')}"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


class PlainProgress:
    """Plain lines, for logs. With `verbose` the conversations are printed as they go on.

    Args:
        stream: where lines go, standard error as a rule.
        verbose: whether to print what is said.
        redact: replaces secrets in a text.
        monotonic: a clock in seconds.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        verbose: bool = False,
        redact: Callable[[str], str] = str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._verbose = verbose
        self._redact = redact
        self._monotonic = monotonic
        self._counts = Counts()
        self._last_line = monotonic()

    def phase(self, name: str) -> None:
        self._line(f"{name} ...")

    def expect(self, conversations: int, turns: int) -> None:
        self._counts.expected = conversations
        self._line(f"{_counted(conversations, 'conversation')} of up to {_counted(turns, 'turn')}")

    def turn_answered(self, scenario_id: str, turn: Turn) -> None:
        self._counts.turns += 1
        if self._verbose:
            said = turn.user.content if turn.user else ""
            self._line(f"[{scenario_id}] turn {turn.turn_id + 1}")
            self._line(f"  user:  {said}")
            self._line(f"  agent: {turn.agent.content}")
        self._now_and_then()

    def conversation_ended(self, conversation: Conversation) -> None:
        self._counts.conversations += not conversation.not_finished
        self._now_and_then()

    def judged(self) -> None:
        self._counts.judgements += 1
        self._now_and_then()

    def note(self, sentence: str) -> None:
        self._line(sentence)

    def close(self) -> None:
        """Say where the run ended up."""
        if self._counts.expected:
            self._line(str(self._counts))

    def _now_and_then(self) -> None:
        if self._monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._line(str(self._counts))

    def _line(self, text: str) -> None:
        self._last_line = self._monotonic()
        self._stream.write(log_text(self._redact(text)) + "\n")
        self._stream.flush()


class BarProgress(PlainProgress):
    """A live bar on a terminal, and the notes above it."""

    def __init__(
        self,
        stream: TextIO,
        *,
        redact: Callable[[str], str] = str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(stream, redact=redact, monotonic=monotonic)
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def expect(self, conversations: int, turns: int) -> None:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
        from rich.progress import Progress as Bar  # noqa: PLC0415

        self._counts.expected = conversations
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("conversations, {task.fields[turns]} turns, {task.fields[judgements]} judgements"),
            TimeElapsedColumn(),
            console=Console(file=self._stream),
            transient=True,
        )
        self._task = self._bar.add_task("Testing", total=conversations, turns=0, judgements=0)
        self._bar.start()

    def phase(self, name: str) -> None:
        if self._bar is None:
            super().phase(name)
        elif self._task is not None:
            self._bar.update(self._task, description=name)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        super().close()

    def _now_and_then(self) -> None:
        if self._bar is not None and self._task is not None:
            counts = self._counts
            self._bar.update(
                self._task, completed=counts.conversations, turns=counts.turns, judgements=counts.judgements
            )

    def _line(self, text: str) -> None:
        if self._bar is None:
            super()._line(text)
        else:
            self._bar.console.out(log_text(self._redact(text)), highlight=False)
