"""The scenario's knowledge as single statements, and which of them a text is about."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from arksim_ci.llm.offline.figures import Figure, figures
from arksim_ci.llm.offline.text import sentences, stems
from arksim_ci.schema.scenario import Scenario

_HEADING = re.compile(r"^\s*#{1,6}\s+(.*?)\s*#*\s*$|^\s*\*\*([^*]+?):?\*\*:?\s*$")
_LABEL = re.compile(r"^([^\W\d_][^:.!?]{2,60}):\s+(?=\S)")
_TABLE_RULE = re.compile(r"^[\s|:-]+$")
_HYPOTHETICAL = re.compile(
    r"\b(?:for example|for instance|e\.g|such as|suppose|let['’]?s say|imagine|(?:an|the) example|if your)\b", re.I
)

STRONG_MATCH: Final = 0.5
"""From this share of a question's weight on, a statement is what the question asks about."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, list item or table row of the knowledge.

    `topic` is its heading or its label (`Return period: ...`), "" where it has none. `subject` holds the stems of topic and
    text, `body` those of the text alone.
    """

    text: str
    topic: str
    subject: frozenset[str]
    body: frozenset[str]
    figures: tuple[Figure, ...]

    @property
    def named(self) -> str:
        """The text with its topic before it, as a quotation needs it."""
        return f"{self.topic}: {self.text}" if self.topic else self.text

    @property
    def is_example(self) -> bool:
        """Whether it speaks of an assumed case, whose figures are no facts."""
        return bool(_HYPOTHETICAL.search(self.text)) or "example" in self.topic.casefold()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All statements, with the weight of each stem: 1 for a stem of a single statement, less for a common one."""

    statements: tuple[Statement, ...]
    weights: dict[str, float]

    def weight(self, these: Iterable[str]) -> float:
        """The sum of the weights of some stems; a stem that the knowledge lacks weighs 1."""
        return sum(self.weights.get(one, 1.0) for one in these)

    def match(self, asked: frozenset[str], statement: Statement) -> float:
        """How much of a question a statement speaks of: the share of the question's weight, 0-1."""
        whole = self.weight(asked)
        return self.weight(asked & statement.subject) / whole if whole else 0.0

    def relevant(self, asked: frozenset[str], least: float = STRONG_MATCH) -> list[tuple[float, Statement]]:
        """The statements that a question is about, best first: at least `least` of its weight, or its best matches.

        A single shared stem is enough only where the question has no more than two.
        """
        shared_at_least = 1 if len(asked) <= 2 else 2
        found = [
            (score, statement)
            for statement in self.statements
            if len(asked & statement.subject) >= shared_at_least and (score := self.match(asked, statement)) >= least
        ]
        return sorted(found, key=lambda pair: -pair[0])


@lru_cache(maxsize=256)
def _read(items: tuple[str, ...]) -> Knowledge:
    found: list[Statement] = []
    for item in items:
        topic = ""
        for line in item.splitlines():
            heading = _HEADING.match(line)
            if heading:
                topic = (heading.group(1) or heading.group(2)).strip()
            elif not _TABLE_RULE.match(line):
                found.extend(_statements(line, topic))
    counts = Counter(one for statement in found for one in statement.subject)
    return Knowledge(
        statements=tuple(found),
        weights={one: math.log(1 + len(found) / count) / math.log(1 + len(found)) for one, count in counts.items()},
    )


def _statements(line: str, topic: str) -> list[Statement]:
    found = []
    label = _LABEL.match(next(iter(sentences(_plain(line))), ""))
    if label:
        topic = label.group(1)
    for number, written in enumerate(sentences(_plain(line))):
        sentence = written[label.end() :] if label and number == 0 else written
        found.append(
            Statement(
                text=sentence,
                topic=topic,
                subject=stems(f"{topic} {sentence}"),
                body=stems(sentence),
                figures=figures(sentence),
            )
        )
    return found


def _plain(line: str) -> str:
    return line.replace("|", " ").replace("`", "")


def knowledge_of(scenario: Scenario) -> Knowledge:
    """The statements of a scenario's knowledge."""
    return _read(tuple(item.content for item in scenario.knowledge))


def is_hypothetical(text: str) -> bool:
    """Whether a sentence speaks of an assumed case ("for example", "if your ...")."""
    return bool(_HYPOTHETICAL.search(text))


def coverage(answer: str, statement: Statement, already_said: frozenset[str] = frozenset()) -> float:
    """How much of a statement an answer passes on: the share of its stems and figures, 0-1.

    A figure counts as two stems, and an answer whose figures of that kind are all others speaks of something else. Stems of the question itself (`already_said`) prove nothing and are left out, unless
    nothing else is there.
    """
    said = figures(answer)
    told = stems(answer)
    body = (statement.body - already_said) or statement.body
    agreeing = sum(any(f.agrees_with(own) for f in said if f.is_comparable(own)) for own in statement.figures)
    comparable = any(f.is_comparable(own) for f in said for own in statement.figures)
    if comparable and not agreeing:
        return 0.0
    whole = len(body) + 2.0 * len(statement.figures)
    return (len(body & told) + 2.0 * agreeing) / whole if whole else 0.0
