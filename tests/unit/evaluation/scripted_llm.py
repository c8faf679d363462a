"""An LLM that answers as a test scripts it, and sources in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from arksim_ci.evaluation.sources import SourceFile, read_sources
from arksim_ci.llm.client import Answer, AnswerInvalid, LLMUnavailable, Question
from arksim_ci.schema.verdict import Usage

T = TypeVar("T")


class ScriptedLLM:
    """Answers each question with what `script` makes of it, read as the real client reads it; None is an outage."""

    model = "scripted"

    def __init__(self, script: Callable[[Question[object]], object]) -> None:
        self.script = script
        self.asked: list[str] = []
        self.prompts: list[str] = []

    async def ask(self, question: Question[T]) -> Answer[T]:
        self.asked.append(question.name)
        self.prompts.append(question.messages[0].content)
        answer = self.script(question)  # type: ignore[arg-type]
        if answer is None:
            raise LLMUnavailable("HTTP 500")
        reading = question.read(answer)
        if reading.value is None:
            raise AnswerInvalid(" ".join(reading.problems))
        return Answer(reading.value, self.model)

    async def preflight(self) -> list[str]:
        return []

    def usage(self) -> Usage:
        return Usage()

    def notes(self) -> list[str]:
        return []

    async def close(self) -> None:
        pass


def source(folder: Path, text: str | bytes, name: str = "agent.py") -> SourceFile:
    """A file in a folder, read as a source."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (found,) = [file for file in read_sources([path], root=folder).files if file.name == name]
    return found
