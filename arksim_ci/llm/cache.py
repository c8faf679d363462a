"""Answers on disk, by the content of the question. One file a question, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from arksim_ci.llm.client import Question

_log = logging.getLogger(__name__)

LARGEST_ENTRY: Final = 8 * 1024 * 1024
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """What the LLM answered: parsed JSON, or text."""

    value: object
    model: str


class AnswerCache:
    """Only the judge's usable answers are kept; a second process may read and write at the same time.

    Parameters:
        folder: made when the first answer is written.
        identity: what tells LLMs apart: provider, model, base URL.
    """

    def __init__(self, folder: Path, identity: tuple[str, ...]) -> None:
        self._folder = folder
        self._identity = identity
        self._writable = True

    def get(self, question: Question[Any]) -> CachedAnswer | None:
        """The answer to this very question; None where there is none, or what is there can't be read."""
        if question.role != "judge":
            return None
        try:
            with self._file(question).open("rb") as file:
                entry = json.loads(file.read(LARGEST_ENTRY + 1))
            if entry["format"] == _FORMAT and isinstance(entry["model"], str):
                return CachedAnswer(entry["answer"], entry["model"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return None

    def put(self, question: Question[Any], value: object, model: str) -> None:
        """Keep an answer. A folder that can't be written is a line in the log, once, and no more."""
        if question.role != "judge" or not self._writable:
            return
        target = self._file(question)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=target.parent, suffix=".tmp")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"format": _FORMAT, "model": model, "answer": value}, file)
                Path(name).replace(target)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            self._writable = False
            _log.warning("answers are not cached: %s", error)

    def _file(self, question: Question[Any]) -> Path:
        key = json.dumps(
            [
                _FORMAT,
                self._identity,
                question.name,
                [(message.role, message.content) for message in question.messages],
                question.schema,
                question.case,
            ],
            sort_keys=True,
        )
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"
