"""The support agent of an online shop, as an OpenAI-compatible server. Python's standard library is all it needs.

    python agent.py [--host 127.0.0.1] [--port 8321] [--fixed]

It answers from a small knowledge by rules. Five faults are planted in it, each marked PLANTED FAULT below, so that a
quality gate has something to find. `--fixed` (or SUPPORT_AGENT_FIXED=1) serves the repaired agent.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
import uuid
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LONGEST_BODY = 1_000_000  # bytes


@dataclass(frozen=True)
class Entry:
    """One piece of what the agent knows: when it applies (a pattern over the user's message) and what to say."""

    applies: str
    answer: str


RETURNS = Entry(
    r"\breturn(?:s|ed|ing)?\b(?! shipping| label)|send (?:it|them) back",
    "You can return unworn items within 30 days of delivery. Please keep the original box.",
)
RETURN_SHIPPING = Entry(
    r"return shipping|return label|pays? for (?:the )?return|cost of (?:the )?return",
    "Return shipping is free of charge: just use the prepaid label that is in your parcel.",
)
REFUNDS = Entry(
    r"\brefund|money back",
    "Your refund goes back to the payment method you used, 5 business days after your return reaches our warehouse.",
)
EXCHANGES = Entry(
    r"\bexchang(?!\w* for cash)|\b(?:another|different|bigger|smaller) size",
    "You can exchange shoes for another size free of charge within 30 days. "
    "Choose the new size in the returns portal and we send it as soon as your parcel is scanned.",
)
STANDARD_SHIPPING = Entry(
    r"standard (?:shipping|delivery)|shipping (?:cost|fee|option)|delivery option|(?:shipping|delivery) (?:take|times?)",
    "Standard shipping costs 4.90 EUR and takes 3 to 5 business days.",
)
EXPRESS_SHIPPING = Entry(
    r"\bexpress\b|shipping option|delivery option",
    "Express shipping costs 9.90 EUR and takes 1 to 2 business days if you order before 2 pm.",
)
FREE_SHIPPING = Entry(
    r"free shipping|shipping (?:is )?free|shipping for free",
    "Standard shipping is free for orders of 60 EUR or more.",
)
WARRANTY = Entry(
    r"how long [^.?!]*(?:warrant|guarantee)|warranty period|(?:warranty|guarantee) (?:lasts?|valid)",
    "Hiking boots have a warranty of 24 months from delivery.",
)
WARRANTY_COVERAGE = Entry(
    r"(?:warranty|guarantee) covers?\b|warranty coverage|covered by the warranty",
    "The warranty covers faults in material and workmanship, not normal wear.",
)
WARRANTY_CLAIMS = Entry(
    r"warranty claim|claim|broken|came off",
    "To make a warranty claim, send us two photos of the fault and your order number.",
)
JACKET_WASHING = Entry(
    r"\bwash|\bclean|\bdetergent",
    "Wash the rain jacket at 30 degrees on a gentle cycle with liquid detergent. Do not use fabric softener.",
)
JACKET_REPELLENCY = Entry(
    r"repellen|waterproof(?:ing)? again|restore|impregnat",
    "To restore the water repellency, tumble dry the jacket on low heat for 20 minutes, then apply a repellent spray.",
)
GIFT_CARDS = Entry(
    r"gift card|voucher",
    "Gift cards are valid for 3 years from the date of purchase. They cannot be exchanged for cash.",
)
CANCELLING = Entry(r"\bcancel", "An order can be cancelled until it is shipped.")
GIFT_CARD_REST = Entry(
    r"remaining (?:amount|balance|credit)|balance|part of",
    "If an order costs less than the gift card holds, the remaining balance stays on the card for later.",
)
HUMAN = Entry(
    r"\bhuman\b|real person|(?:speak|talk) (?:to|with) (?:a|an|some)",
    "Of course. You can reach a colleague from our service team by phone at +49 30 555 01 00, "
    "Monday to Friday from 9:00 to 17:00, or by e-mail at service@trailhead.example.",
)
ENTRIES = (
    RETURNS,
    RETURN_SHIPPING,
    REFUNDS,
    EXCHANGES,
    STANDARD_SHIPPING,
    EXPRESS_SHIPPING,
    FREE_SHIPPING,
    WARRANTY,
    WARRANTY_COVERAGE,
    WARRANTY_CLAIMS,
    JACKET_WASHING,
    JACKET_REPELLENCY,
    GIFT_CARDS,
    GIFT_CARD_REST,
    CANCELLING,
)

# PLANTED FAULT 1, a wrong figure: refunds take 5 business days after the parcel is in the warehouse.
FAULTY_REFUNDS = Entry(
    REFUNDS.applies,
    "Your refund goes back to the payment method you used, 15 business days after your return reaches our warehouse.",
)
# PLANTED FAULT 2, repetition: whatever is asked about jackets, the answer is the one about washing, again and again.
FAULTY_JACKET_REPELLENCY = Entry(JACKET_REPELLENCY.applies, JACKET_WASHING.answer)
# PLANTED FAULT 3, a request ignored: somebody asks for a human being and is sent to the help pages.
FAULTY_HUMAN = Entry(
    HUMAN.applies, "Most questions are answered on our help pages. Have a look around in the meantime!"
)
# PLANTED FAULT 4, details left out: how long the warranty lasts.
FAULTY_WARRANTY = Entry(WARRANTY.applies, "Good news: our hiking boots do come with a warranty.")
# PLANTED FAULT 5, an assumption: see `about_order`.

FAULTY = {
    REFUNDS: FAULTY_REFUNDS,
    JACKET_REPELLENCY: FAULTY_JACKET_REPELLENCY,
    HUMAN: FAULTY_HUMAN,
    WARRANTY: FAULTY_WARRANTY,
}

ORDERS = {
    "1001": "Order 1001 was shipped on 3 March and arrives on 6 March.",
    "1002": "Order 1002 is still being packed. It leaves our warehouse on 9 March.",
}
WHICH_ORDER = "I'm happy to look that up. What is your order number, please?"
NOT_FOUND = (
    "I'm sorry, I don't know an order with that number. Could you check your order number in the confirmation e-mail?"
)
UNKNOWN = "I'm sorry, I don't have information on that. Our service team at service@trailhead.example will know."
GREETING = "Hello! I can help with orders, shipping, returns, warranty and gift cards. What would you like to know?"


class SupportAgent:
    """Answers a conversation. It keeps no state: everything it knows of the conversation is in the messages."""

    def __init__(self, fixed: bool) -> None:
        self.fixed = fixed

    def answer(self, messages: list[dict[str, str]]) -> str:
        """The answer to the last user message of a conversation."""
        said = [message["content"] for message in messages if message["role"] == "user"]
        told = [message["content"] for message in messages if message["role"] == "assistant"]
        if not said:
            return GREETING
        if re.search(HUMAN.applies, said[-1], re.I):
            return self._text(HUMAN)
        about = said[-1]
        if told and told[-1] in (WHICH_ORDER, NOT_FOUND) and len(said) > 1:
            about = f"{said[-2]} {said[-1]}"
        if re.search(
            r"\b(?:my|the|an?) order\b|\border \d|\bparcel\b|\bcancel\b", about, re.I
        ) and not told_about_order(told):
            return self.about_order(about)
        return self.about_shop(said[-1], told)

    def about_shop(self, message: str, told: list[str]) -> str:
        """Everything that applies to the message and was not said before; what was, where there is nothing else."""
        found = [self._text(entry) for entry in ENTRIES if re.search(entry.applies, message, re.I)]
        new = [text for text in found if not any(text in earlier for earlier in told)]
        return " ".join(dict.fromkeys(new or found[:1])) or UNKNOWN

    def about_order(self, message: str) -> str:
        """What is known of the order that the user names."""
        number = re.search(r"\d{4,}", message)
        if number is None:
            if self.fixed:
                return WHICH_ORDER
            # PLANTED FAULT 5, an assumption: the user named no order, and the agent takes the first that it finds.
            return ORDERS["1001"]
        if number[0] not in ORDERS:
            return NOT_FOUND
        if re.search(r"\bcancel", message, re.I):
            if number[0] == "1002":
                return "Order 1002 has not been shipped yet, so I have cancelled it. You get a confirmation by e-mail."
            return f"Order {number[0]} is already on its way and can no longer be cancelled, but you can return it."
        return ORDERS[number[0]]

    def _text(self, entry: Entry) -> str:
        return entry.answer if self.fixed else FAULTY.get(entry, entry).answer


def told_about_order(told: list[str]) -> bool:
    """Whether the agent has given the state of an order already."""
    return any(re.search(r"\border 100\d\b", answer, re.I) for answer in told)


class BadRequest(Exception):
    """The request is not a chat completion request."""


def read_messages(body: bytes) -> list[dict[str, str]]:
    """The messages of a request, checked."""
    try:
        request = json.loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not messages:
        raise BadRequest("`messages` must be a list with at least one message")
    if request.get("stream"):
        raise BadRequest("`stream` is not supported")
    return [{"role": str(role), "content": text} for role, text in map(read_message, messages)]


def read_message(message: Any) -> tuple[str, str]:
    """Role and text of one message; content may be text, a list of text parts, or null."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise BadRequest("each message must be an object with a `role`")
    content = message.get("content")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str | None):
        raise BadRequest("`content` must be text")
    return message["role"], content or ""


class Handler(BaseHTTPRequestHandler):
    """POST /v1/chat/completions and GET /health."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    agent: SupportAgent

    def do_GET(self) -> None:
        if self.path == "/health":
            self.reply(200, {"status": "ok", "fixed": self.agent.fixed})
        else:
            self.refuse(404, f"there is no {self.path}")

    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            length = -1
        if not 0 <= length <= LONGEST_BODY:
            self.close_connection = True  # the body stays unread
            self.refuse(413 if length > 0 else 400, f"a body may have at most {LONGEST_BODY} bytes")
            return
        body = self.rfile.read(length)
        if self.path != "/v1/chat/completions":
            self.refuse(404, f"there is no {self.path}")
            return
        try:
            messages = read_messages(body)
        except BadRequest as error:
            self.refuse(400, str(error))
            return
        self.reply(200, completion(self.agent.answer(messages)))

    def refuse(self, status: int, message: str) -> None:
        self.reply(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def reply(self, status: int, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: one line a request would drown the demo's own output."""


def completion(text: str) -> dict[str, Any]:
    """A chat completion as OpenAI shapes it."""
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "support-agent-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


def serve(host: str, port: int, fixed: bool) -> ThreadingHTTPServer:
    """A server that is bound and not yet serving. Port 0 takes a free one."""
    handler = type("BoundHandler", (Handler,), {"agent": SupportAgent(fixed)})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description="A shop's support agent with planted faults, OpenAI-compatible.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8321, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--fixed", action="store_true", help="serve the repaired agent, without the planted faults")
    arguments = parser.parse_args()
    fixed = arguments.fixed or os.environ.get("SUPPORT_AGENT_FIXED", "") not in ("", "0")
    server = serve(arguments.host, arguments.port, fixed)
    print(f"Support agent on http://{arguments.host}:{server.server_port}/v1/chat/completions", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
