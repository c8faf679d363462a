"""The way from a custom metric's `self.llm` to the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arksim_ci.llm.client import LLM, ChatMessage


class LLMRelay:
    """Passes questions of the user's Python to the LLM of the run, once there is one.

    The user's Python is loaded, and its problems reported, before an LLM is built.
    """

    def __init__(self) -> None:
        self._llm: LLM | None = None

    def connect(self, llm: LLM) -> None:
        """Say who answers from now on."""
        self._llm = llm

    async def ask(self, messages: list[dict[str, object]], schema: dict[str, object] | None, case: str) -> object:
        """Ask on behalf of a custom metric.

        Raises:
            LLMError: there is no usable answer, or no LLM yet.
        """
        from arksim_ci.llm.client import LLMUnavailable  # noqa: PLC0415  (a configuration error does not pay for it)
        from arksim_ci.llm.questions.custom_metric import ask_for_custom_metric  # noqa: PLC0415

        if self._llm is None:
            raise LLMUnavailable("the LLM can't be asked while the file is being loaded")
        prompt = [_message(message) for message in messages]
        return (await self._llm.ask(ask_for_custom_metric(prompt, schema, case))).value


def _message(message: dict[str, object]) -> ChatMessage:
    from arksim_ci.llm.client import ChatMessage  # noqa: PLC0415

    role, content = message.get("role"), message.get("content")
    if role == "system":
        return ChatMessage("system", str(content))
    if role == "assistant":
        return ChatMessage("assistant", str(content))
    return ChatMessage("user", str(content))
