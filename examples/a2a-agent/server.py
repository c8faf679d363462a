"""A shop's support agent that speaks A2A, by the official SDK. No LLM.

    python server.py [PORT]

It looks orders up, asks before it cancels one (input-required), streams, and reports its tool calls by ArkSim's extension.
"""

from __future__ import annotations

import re
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
    Part,
    Task,
    TaskState,
    TaskStatus,
)
from starlette.applications import Starlette

TOOL_CALLS = "https://arksim.arklex.ai/a2a/tool-call-capture/v1"
ORDERS = {
    "ORD-1001": ("Wireless Headphones", "shipped"),
    "ORD-1002": ("Mechanical Keyboard", "processing"),
}


class Conversation:
    """One context: its own copy of the order book, and what was spoken of last."""

    def __init__(self) -> None:
        self.orders = dict(ORDERS)
        self.order_id = ""
        self.calls: list[dict[str, object]] = []

    def get_order(self) -> str:
        product, status = self.orders.get(self.order_id, ("", ""))
        if not product:
            return self._called("get_order", f"There is no order {self.order_id}.")
        return self._called("get_order", f"Order {self.order_id} is for the {product}; its status is {status}.")

    def cancel_order(self) -> str:
        product, _ = self.orders[self.order_id]
        self.orders[self.order_id] = (product, "cancelled")
        return self._called("cancel_order", f"Order {self.order_id} for the {product} is cancelled.")

    def _called(self, tool: str, result: str) -> str:
        self.calls.append({"name": tool, "arguments": {"order_id": self.order_id}, "result": result})
        return result


class ShopAgent(AgentExecutor):
    """Looks an order up before it speaks of it; cancels only after a yes."""

    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        conversation = self._conversations.setdefault(context.context_id, Conversation())
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        goes_on = context.current_task is not None
        if not goes_on:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await event_queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
        await updater.start_work()
        conversation.calls = []
        said, question = self._answer(conversation, context.get_user_input(), goes_on)
        metadata = {f"{TOOL_CALLS}/tool_calls": conversation.calls}
        await updater.add_artifact([Part(text=said)], metadata=metadata, extensions=[TOOL_CALLS])
        if question:
            await updater.requires_input(updater.new_agent_message([Part(text=question)]))
        else:
            await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    def _answer(self, conversation: Conversation, text: str, was_asked: bool) -> tuple[str, str]:
        """What to say, and what to ask then."""
        if named := re.search(r"ORD-\d+", text.upper()):
            conversation.order_id = named[0]
        if not conversation.order_id:
            return "I can help with orders. What is the number of yours? It looks like ORD-1001.", ""
        if was_asked and re.search(r"\b(yes|please do|go ahead|confirm)\b", text, re.IGNORECASE):
            return conversation.cancel_order(), ""
        found = conversation.get_order()
        if "cancel" in text.lower() and "processing" in found:
            return found, "Shall I cancel it? Please answer yes or no."
        if "cancel" in text.lower():
            return (
                f"{found} Only orders that are still being processed can be cancelled, so I can't cancel this one.",
                "",
            )
        return found, ""


def application(url: str) -> Starlette:
    """The agent as a web application."""
    card = AgentCard(
        name="Shop support",
        description="Looks orders up and cancels them.",
        version="1.0.0",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        capabilities=AgentCapabilities(
            streaming=True, extensions=[AgentExtension(uri=TOOL_CALLS, description="Reports tool calls.")]
        ),
        skills=[AgentSkill(id="orders", name="Orders", description="Status and cancellation.", tags=["orders"])],
    )
    handler = DefaultRequestHandler(agent_executor=ShopAgent(), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9999
    uvicorn.run(application(f"http://127.0.0.1:{port}"), host="127.0.0.1", port=port, log_level="warning")
