"""Which parts of the agent's source are shown for an error, where all of it does not fit into one request."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from arksim_ci.evaluation.functions import span
from arksim_ci.evaluation.sources import SourceFile, Sources
from arksim_ci.evaluation.words import words
from arksim_ci.llm.questions.recommendation import SourceExcerpt

SOURCE_TOKENS: Final = 12_000
"""Most tokens of source in one request, at four characters a token."""

_CHARACTERS: Final = SOURCE_TOKENS * 4
_SHORTEST, _LONGEST = 10, 60
"""Lines of a part: it ends before a new block at the left edge once it is long enough, and never grows beyond the most."""
_NUMBERING: Final = 10
"""Characters that the line number and the punctuation add to each line."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines `first` to `last` (from 1) of the file number `file`."""

    file: int
    first: int
    last: int
    characters: int
    words: frozenset[str]


class SourceChoice:
    """Chooses for each error what is shown of the source, and knows what was shown of it altogether.

    Args:
        sources: all files.
        characters: most that may be shown for one error.
    """

    def __init__(self, sources: Sources, characters: int = _CHARACTERS) -> None:
        self._sources = sources
        self._characters = characters
        self._parts = [part for number, file in enumerate(sources.files) for part in _parts(number, file)]
        self._fits = sum(part.characters for part in self._parts) <= characters
        self._entry = _entry(sources)
        self._shown: set[_Part] = set()

    def excerpts(self, about: str) -> tuple[SourceExcerpt, ...]:
        """The source, or what of it has most to do with an error, in the order of the files.

        First comes the entry function, then the parts that share most words with `about` (the error in words: description,
        reasons, evidence); a rare word counts more than one that stands in many parts.
        """
        parts = self._parts if self._fits else self._most_relevant(words(about))
        self._shown.update(parts)
        return tuple(_joined(sorted(parts, key=lambda part: (part.file, part.first)), self._sources.files))

    def notes(self) -> list[str]:
        """What of the source was read for all errors together, in sentences; nothing where it was everything."""
        notes = []
        every = sum(len(file.shown) for file in self._sources.files)
        read = sum(part.last - part.first + 1 for part in self._shown)
        if read < every:
            files = len({part.file for part in self._shown})
            notes.append(
                f"The agent's source does not fit into one request: for code fixes, {read:,} of {every:,} lines in {files:,} "
                f"of {len(self._sources.files):,} files were read, those that have most to do with the errors."
            )
        if self._sources.entry_function and self._sources.files and self._entry is None:
            notes.append(
                f'The entry_function "{self._sources.entry_function}" is not defined in the source that was read.'
            )
        return notes

    def _most_relevant(self, asked: frozenset[str]) -> list[_Part]:
        spread = Counter(word for part in self._parts for word in part.words & asked)

        def rank(part: _Part) -> tuple[bool, float]:
            score = sum(math.log(1 + len(self._parts) / spread[word]) for word in part.words & asked)
            return not self._in_entry(part), -score

        chosen, left = [], self._characters
        for part in sorted(self._parts, key=lambda part: (*rank(part), part.file, part.first)):
            if part.characters <= left:
                chosen.append(part)
                left -= part.characters
        return chosen

    def _in_entry(self, part: _Part) -> bool:
        if self._entry is None:
            return False
        file, first, last = self._entry
        return part.file == file and part.first <= last and part.last >= first


def _entry(sources: Sources) -> tuple[int, int, int] | None:
    """File number, first and last line of the entry function."""
    if sources.entry_function:
        for number, file in enumerate(sources.files):
            if found := span(file.shown, sources.entry_function):
                return number, *found
    return None


def _parts(number: int, file: SourceFile) -> Iterator[_Part]:
    first = 1
    lines = file.shown
    for last in range(1, len(lines) + 1):
        length = last - first + 1
        following = lines[last] if last < len(lines) else ""
        block_ends = not lines[last - 1].strip() and following.strip() and not following[0].isspace()
        if last == len(lines) or length >= _LONGEST or (length >= _SHORTEST and block_ends):
            text = lines[first - 1 : last]
            characters = sum(len(json.dumps(line, ensure_ascii=False)) + _NUMBERING for line in text)
            yield _Part(number, first, last, characters, words("\n".join((file.name, *text))))
            first = last + 1


def _joined(parts: Sequence[_Part], files: Sequence[SourceFile]) -> Iterator[SourceExcerpt]:
    """Excerpts; parts that follow one another are one."""
    runs: list[list[_Part]] = []
    for part in parts:
        if runs and runs[-1][-1].file == part.file and runs[-1][-1].last + 1 == part.first:
            runs[-1].append(part)
        else:
            runs.append([part])
    for run in runs:
        file, first, last = files[run[0].file], run[0].first, run[-1].last
        yield SourceExcerpt(file.name, first, "\n".join(file.shown[first - 1 : last]))
