"""The LLM behind an OpenAI-compatible API: asks, checks, repairs once, and adapts to what the server refuses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.client import (
    Answer,
    AnswerInvalid,
    ChatMessage,
    LLMUnavailable,
    Question,
    Role,
    RunLimitReached,
)
from arksim_ci.llm.completion import Completion, read_completion
from arksim_ci.llm.json_answer import NotJson, read_json, whole_characters
from arksim_ci.llm.limits import Limits
from arksim_ci.llm.parameters import Parameters, refused_parameter
from arksim_ci.llm.preflight import names_unknown_model, preflight
from arksim_ci.llm.providers import key_of, output_limit_name
from arksim_ci.llm.request import OUTPUT_LIMIT, repair_messages, request_fields, text_fields
from arksim_ci.llm.server import LARGEST_ANSWER, AnswerTooLarge, Server
from arksim_ci.llm.server_error import ServerError
from arksim_ci.llm.structured import Form, Forms, forms_of, has_shape
from arksim_ci.schema.verdict import Usage

if TYPE_CHECKING:
    from arksim_ci.llm.cache import AnswerCache

T = TypeVar("T")

_FORM_FIELDS = frozenset({"response_format", "tools", "tool_choice"})


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[T]):
    """One answer, read. `raw` is what `read` was given; `problems` are sentences for the LLM."""

    value: T | None
    raw: object
    text: str
    model: str
    problems: tuple[str, ...]
    truncated: bool = False


class OpenAIClient:
    """Answers questions by chat completions. Implements `arksim_ci.llm.client.LLM`.

    Parameters:
        settings: how the provider is reached.
        limits: concurrency, retries and budget of the run.
        timeout_seconds: for one whole request.
        cache: keeps the judge's answers, where one is wanted.
        now: seconds since the epoch.
    """

    def __init__(
        self,
        settings: ProviderSettings,
        limits: Limits,
        *,
        timeout_seconds: float,
        cache: AnswerCache | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._limits = limits
        self._cache = cache
        self._now = now
        self._server = Server(settings, timeout_seconds, now)
        self._forms = Forms(forms_of(settings.provider))
        self._parameters = Parameters()
        self._models: list[str] = []

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Answer the question; see `LLM.ask`."""
        cached = self._from_cache(question)
        if cached is not None:
            return cached
        async with self._forms.turn(wanted=question.schema is not None):
            first = await self._attempt(question, question.messages, OUTPUT_LIMIT, first=True)
        attempt = first
        if first.problems:
            attempt = await self._repaired(question, first)
        if attempt.value is None:
            raise AnswerInvalid(_cause(question, first, attempt))
        if not attempt.problems and self._cache is not None:
            self._cache.put(question, attempt.raw, attempt.model)
        return Answer(attempt.value, attempt.model, attempt.problems)

    async def preflight(self) -> list[str]:
        """Check key and model; see `LLM.preflight`."""
        return await preflight(
            self._settings,
            self._server.place,
            lambda: self._limits.free_call(self._server.get_model),
            self._ask_tiny,
            self._now,
        )

    def usage(self) -> Usage:
        """What was used so far, by role."""
        return self._limits.usage()

    def notes(self) -> list[str]:
        """What a reader of the verdict should know of this run's requests, in sentences."""
        notes = [*self._parameters.notes(), *self._forms.notes()]
        if len(self._models) > 1:
            notes.append(f"The server answered as more than one model: {', '.join(self._models)}.")
        return notes

    @property
    def model(self) -> str:
        """The model as the server names it, once it answered; before, as configured."""
        return self._models[0] if self._models else self._settings.model

    async def close(self) -> None:
        """Close connections."""
        await self._server.close()

    def _from_cache(self, question: Question[T]) -> Answer[T] | None:
        cached = self._cache.get(question) if self._cache is not None else None
        if cached is None:
            return None
        reading = question.read(cached.value)
        if reading.value is None or reading.problems:
            return None
        self._seen(cached.model)
        return Answer(reading.value, cached.model or self.model)

    async def _repaired(self, question: Question[T], first: _Attempt[T]) -> _Attempt[T]:
        """Ask for a better answer, once. What the first answer had is kept where the second has nothing."""
        limit = OUTPUT_LIMIT * 2 if first.truncated else OUTPUT_LIMIT
        messages = repair_messages(question, first.text, first.problems)
        try:
            second = await self._attempt(question, messages, limit, first=False)
        except (AnswerInvalid, LLMUnavailable, RunLimitReached):
            if first.value is None:
                raise
            return first
        return first if second.value is None and first.value is not None else second

    async def _attempt(
        self, question: Question[T], messages: Sequence[ChatMessage], output_limit: int, *, first: bool
    ) -> _Attempt[T]:
        """Ask once and read the answer."""
        try:
            completion, form = await self._exchange(question, messages, output_limit)
        except AnswerTooLarge:
            problem = f"the answer is larger than {LARGEST_ANSWER // 1024 // 1024} MB"
            return _Attempt(None, None, "", self.model, (problem,))
        text, model = completion.text, completion.model or self.model
        truncated = completion.truncated
        if completion.flaw is not None:
            flaw = f"{completion.flaw}, cut off at the output limit" if truncated else completion.flaw
            return _Attempt(None, None, text, model, (flaw,), truncated)
        if question.schema is None:
            reading = question.read(text)
            cut = ("the answer was cut off at the output limit",) if truncated else ()
            return _Attempt(
                None if truncated else reading.value, text, text, model, (*cut, *reading.problems), truncated
            )
        try:
            raw = whole_characters(read_json(text))
        except NotJson as error:
            if truncated:
                return _Attempt(None, None, text, model, ("the answer was cut off at the output limit",), True)
            if first and form is not None:
                self._forms.answered(form, in_shape=False)
            return _Attempt(None, None, text, model, (str(error),))
        if first and form is not None:
            self._forms.answered(form, in_shape=has_shape(raw, question.schema))
        reading = question.read(raw)
        problems = reading.problems
        if reading.value is None and not problems:
            problems = ("the answer does not have the form that was asked for",)
        return _Attempt(reading.value, raw, text, model, problems)

    async def _exchange(
        self, question: Question[T], messages: Sequence[ChatMessage], output_limit: int
    ) -> tuple[Completion, Form | None]:
        """Send the question, and again at once without what the server refuses.

        Raises:
            AnswerInvalid: the provider's content filter refuses the question itself.
            LLMUnavailable: no answer came.
            RunLimitReached: the budget is used up.
            AnswerTooLarge: the answer was cut off.
        """
        settings = self._settings
        again = False
        while True:
            form = self._forms.current if question.schema is not None else None
            fields = request_fields(
                settings.provider, settings.model, question, messages, form=form, output_limit=output_limit
            )
            body = self._parameters.apply(fields)
            try:
                return await self._send(question.role, body, again=again), form
            except _Refused as refused:
                self._learn(refused, form)
                again = True
            except ServerError as error:
                raise self._no_answer(error) from None

    def _learn(self, refused: _Refused, form: Form | None) -> None:
        if refused.parameter in _FORM_FIELDS and form is not None:
            self._forms.refused(form)
        else:
            self._parameters.refused(refused.parameter, refused.error)

    async def _send(self, role: Role, body: dict[str, object], *, again: bool = False) -> Completion:
        async def send() -> Completion:
            try:
                completion = read_completion(await self._server.chat(body))
            except ServerError as error:
                parameter = refused_parameter(error, body)
                if parameter is not None:
                    raise _Refused(parameter, error) from None
                raise
            self._seen(completion.model)
            return completion

        return await self._limits.call(role, send, again=again)

    async def _ask_tiny(self) -> None:
        """Send the smallest request there is. Counted as the judge's."""
        limit_name = output_limit_name(self._settings.provider)
        fields = text_fields(self._settings.model, "Say OK.", limit_name, 16)
        again = False
        while True:
            try:
                await self._send("judge", self._parameters.apply(fields), again=again)
            except _Refused as refused:
                self._learn(refused, None)
                again = True
            else:
                return

    def _seen(self, model: str) -> None:
        if model and model not in self._models and len(self._models) < 5:
            self._models.append(model)

    def _no_answer(self, error: ServerError) -> LLMUnavailable | AnswerInvalid:
        """The error as the caller of `ask` knows it, with what to do about it."""
        if "content_filter" in error.code:
            return AnswerInvalid(f"the provider's content filter refused the question: {error}")
        if error.key_refused:
            return LLMUnavailable(f"{self._server.place} refused {key_of(self._settings)}: {error}")
        if names_unknown_model(error, self._settings.model):
            return LLMUnavailable(
                f"{self._server.place} does not know the model {self._settings.model}: {error}; set `model`"
            )
        tries = f" (after {error.tries} tries)" if error.tries > 1 else ""
        return LLMUnavailable(f"{error}{tries}")


class _Refused(Exception):
    """The server refused a parameter."""

    def __init__(self, parameter: str, error: ServerError) -> None:
        super().__init__(str(error))
        self.parameter = parameter
        self.error = error


def _cause(question: Question[T], first: _Attempt[T], last: _Attempt[T]) -> str:
    said = "; ".join(last.problems)
    before = "; ".join(first.problems)
    repaired = said if said == before else f"{before}; after a repair: {said}"
    return f"the answer to {question.name} can't be used: {repaired}"
