"""The interface of an LLM: a question goes in, a checked answer and its usage come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from arksim_ci.schema.verdict import Usage

T = TypeVar("T")

Role = Literal["simulated_user", "judge", "analysis"]
"""In whose name a question is asked; usage is counted by it."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What could be read from an answer, and what is wrong with it.

    `problems` are sentences for the LLM, which gets one chance to repair; `value` holds what is right all the same, and
    is None where nothing is.
    """

    value: T | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """One question to an LLM.

    `name` tells the kind of question (`judge_turn`, `simulated_user`, ...) and names the JSON schema on the wire. `schema` is the
    JSON Schema of the answer, None where the answer is plain text; `read` then gets the text, otherwise the parsed
    JSON. `facts` is what the prompt was written from: the offline provider answers from it. `case` tells repetitions
    apart that may ask the very same thing: it is part of the cache's key.
    """

    name: str
    role: Role
    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, object] | None
    read: Callable[[object], Reading[T]]
    facts: object
    case: str = ""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A checked answer. `problems` is what one repair did not mend; `model` is the name that the server reports."""

    value: T
    model: str
    problems: tuple[str, ...] = ()


class LLM(Protocol):
    """Whoever answers questions: a provider's client, or the offline rules."""

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Answer the question.

        Raises:
            AnswerInvalid: the answer could not be read, nor could the repaired one.
            LLMUnavailable: no answer came, after all retries.
            RunLimitReached: the budget or the deadline forbids the request.
        """
        ...

    async def preflight(self) -> list[str]:
        """Check key and model without cost, where the provider can. Returns warnings.

        Raises:
            PreflightFailed: the key is refused or the model unknown; nothing was spent.
        """
        ...

    def usage(self) -> Usage:
        """What was used so far, by role."""
        ...

    def notes(self) -> list[str]:
        """What a reader of the results should know of how the LLM was reached, in sentences."""
        ...

    @property
    def model(self) -> str:
        """The model as the server names it, once it answered; before, as configured."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class LLMError(Exception):
    """An LLM question that has no usable answer. The text is a cause that a reader can act on."""


class AnswerInvalid(LLMError):
    """The LLM answered, but not usably: not JSON, truncated, refused, out of range."""


class LLMUnavailable(LLMError):
    """The LLM did not answer: outage, time-out, refused credentials."""


class RunLimitReached(LLMError):
    """A limit of the run (calls, cost) forbids the request."""


class PreflightFailed(Exception):
    """The provider refused the key or does not know the model, before anything was spent."""
