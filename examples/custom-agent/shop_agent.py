"""A shop's support agent with two tools, written for ArkSim's custom-agent interface. Standard library only; no LLM.

It answers questions about orders and cancels orders. One instance holds one conversation.
"""

from __future__ import annotations

import re
import uuid

from arksim import AgentConfig, AgentResponse
from arksim.simulation_engine.agent.base import BaseAgent
from arksim.simulation_engine.tool_types import ToolCall
from shop_tools import ORDERS, Shop


class ShopAgent(BaseAgent):
    """Looks an order up before it speaks of it; cancels only after a yes."""

    def __init__(self, agent_config: AgentConfig) -> None:
        super().__init__(agent_config)
        self._shop = Shop(dict(ORDERS))
        self._order = ""
        self._asked_to_cancel = False
        self._calls: list[ToolCall] = []

    async def get_chat_id(self) -> str:
        return str(uuid.uuid4())

    async def execute(self, user_query: str, **kwargs: object) -> AgentResponse:
        self._calls = []
        content = self._answer(user_query)
        return AgentResponse(content=content, tool_calls=self._calls)

    async def close(self) -> None:
        print(f"{self.agent_config.agent_name}: conversation closed")

    def _answer(self, text: str) -> str:
        if named := re.search(r"ORD-\d+", text.upper()):
            self._order = named[0]
        if not self._order:
            return "I can help with orders. What is the number of yours? It looks like ORD-1001."
        if self._asked_to_cancel and re.search(r"\b(yes|please do|go ahead|confirm)\b", text, re.IGNORECASE):
            self._asked_to_cancel = False
            return self._use("cancel_order", order_id=self._order)
        found = self._use("get_order", order_id=self._order)
        if "cancel" in text.lower() and "processing" in found:
            self._asked_to_cancel = True
            return f"{found} Shall I cancel it? Please answer yes or no."
        if "cancel" in text.lower():
            return f"{found} Only orders that are still being processed can be cancelled, so I can't cancel this one."
        return found

    def _use(self, tool: str, **arguments: str) -> str:
        """Call a tool and note the call, so that a scenario's assertion can check it."""
        call = ToolCall(id=f"call-{len(self._calls)}", name=tool, arguments=dict(arguments))
        try:
            call.result = getattr(self._shop, tool)(**arguments)
        except LookupError as error:
            call.error = str(error)
        self._calls.append(call)
        return call.result or f"I could not find that order: {call.error}"
