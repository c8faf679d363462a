from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from arksim_ci.agents.agent import AgentDidNotAnswer
from arksim_ci.agents.custom import CustomConnection
from arksim_ci.config.model import AgentConfig
from arksim_ci.schema.scenario import KnowledgeItem, Scenario
from arksim_ci.user_code.host import UserCodeHost, UserCodeNotLoadable

EXAMPLE = Path(__file__).parents[3] / "examples" / "custom-agent"
SCENARIO = Scenario(
    scenario_id="s",
    user_id="u",
    goal="Get a refund.",
    agent_context="A shop.",
    user_profile="Ann",
    knowledge=(KnowledgeItem(content="Refunds take 5 days.", metadata={"source": "faq"}),),
)

HEAD = """
import asyncio, os, sys, threading, time
from arksim import AgentConfig, AgentResponse, ToolCall
from arksim.simulation_engine.agent.base import BaseAgent
"""


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log: list[str] = []
        self.hosts: list[UserCodeHost] = []

    async def connect(self, source: str, class_name: str | None = None, seconds: float = 20) -> CustomConnection:
        file = self.folder / "my_agent.py"
        file.write_text(HEAD + dedent(source), encoding="utf-8")
        return await self.connect_to(file, class_name, seconds)

    async def connect_to(
        self, file: Path, class_name: str | None = None, seconds: float = 20, name: str = "shop"
    ) -> CustomConnection:
        async def ask(messages: list[dict[str, Any]], schema: object, who: str) -> object:
            return f"{who} asked {messages[0]['content']}"

        host = UserCodeHost(
            Path(sys.executable), os.environ, ask_llm=ask, call_timeout_seconds=seconds, log=self.log.append
        )
        await host.start()
        self.hosts.append(host)
        config = AgentConfig.model_validate(
            {
                "agent_type": "custom",
                "agent_name": name,
                "custom_config": {"module_path": file, "class_name": class_name},
            }
        )
        return CustomConnection(config, host)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for host in bench.hosts:
        await host.close()


async def test_an_agent_gets_what_arksim_gives_it(bench: Bench) -> None:
    connection = await bench.connect(
        """
        class Mine(BaseAgent):
            def __init__(self, agent_config: AgentConfig) -> None:
                super().__init__(agent_config)
                self.said = []
            async def get_chat_id(self): return "own id"
            async def execute(self, user_query: str, **kwargs):
                self.said.append(user_query)
                metadata = kwargs["metadata"]
                knowledge = [(item.content, item.metadata) for item in metadata["knowledge"]]
                return repr((self.agent_config.agent_name, self.agent_config.custom_config.class_name, self.said,
                             metadata["chat_id"], metadata["user_goal"], knowledge, metadata["turn_id"]))
            async def close(self): print("closed after", self.said)
        """
    )
    assert await connection.load() == "Mine"
    agent = await connection.open("c-1", SCENARIO)
    other = await connection.open("c-2", SCENARIO)
    assert (await other.answer("Hello", 0)).content.startswith("('shop', None, ['Hello'], 'c-2'")
    await agent.answer("Hi", 0)
    answer = await agent.answer("Money back!", 1)
    assert answer.content == repr(
        ("shop", None, ["Hi", "Money back!"], "c-1", "Get a refund.", [("Refunds take 5 days.", {"source": "faq"})], 1)
    )
    assert answer.tool_calls == ()
    await agent.close()
    await agent.close()
    await other.close()
    await connection.close()
    await bench.hosts[0].close()
    assert [line for line in bench.log if "closed" in line] == [
        "user code: closed after ['Hi', 'Money back!']",
        "user code: closed after ['Hello']",
    ]


@pytest.mark.parametrize(
    "returned",
    [
        "AgentResponse(content='done', tool_calls=[ToolCall(id='1', name='refund', arguments={'n': 1}, result='ok')])",
        "{'content': 'done', 'tool_calls': [{'id': '1', 'name': 'refund', 'arguments': {'n': 1}, 'result': 'ok', 'more': 1}]}",
        "__import__('types').SimpleNamespace(content='done', tool_calls=[{'id': '1', 'name': 'refund', 'arguments': {'n': 1}, 'result': 'ok'}])",
    ],
)
async def test_tool_calls_come_with_the_answer(bench: Bench, returned: str) -> None:
    connection = await bench.connect(
        f"""
        class Plain:
            def execute(self, user_query, metadata): return {returned}
        """
    )
    answer = await (await connection.open("c", SCENARIO)).answer("Hi", 0)
    (call,) = answer.tool_calls
    assert (answer.content, call.id, call.name, call.arguments, call.result) == ("done", "1", "refund", {"n": 1}, "ok")


async def test_a_tool_only_answer_has_no_content(bench: Bench) -> None:
    connection = await bench.connect(
        "class Plain:\n    def execute(self, **kwargs): return {'content': None, 'tool_calls': [{'name': 'wait'}]}\n"
    )
    answer = await (await connection.open("c", SCENARIO)).answer("Hi", 0)
    assert (answer.content, answer.tool_calls[0].name) == ("", "wait")


async def test_traced_tool_calls_belong_to_the_turn_in_which_they_were_made(bench: Bench) -> None:
    connection = await bench.connect(
        """
        from arksim.tracing.context import trace_conversation_id, trace_receiver_ref, trace_turn_id
        class Traced(BaseAgent):
            async def get_chat_id(self): return "x"
            async def execute(self, user_query, **kwargs):
                async def tool():
                    where = (trace_conversation_id.get(), trace_turn_id.get())
                    await asyncio.sleep(0.05)
                    trace_receiver_ref.get().submit_tool_calls(*where, [ToolCall(id="", name=f"tool of {where}")])
                await asyncio.create_task(tool())
                return "ok"
        """
    )
    one, two = await connection.open("c-1", SCENARIO), await connection.open("c-2", SCENARIO)
    answers = await asyncio.gather(one.answer("Hi", 0), two.answer("Hi", 3))
    assert [[call.name for call in answer.tool_calls] for answer in answers] == [
        ["tool of ('c-1', 0)"],
        ["tool of ('c-2', 3)"],
    ]


async def test_a_sync_agent_has_one_thread_for_its_whole_conversation_and_blocks_no_other(bench: Bench) -> None:
    connection = await bench.connect(
        """
        class Sync(BaseAgent):
            def __init__(self, agent_config):
                super().__init__(agent_config)
                self.threads = {threading.get_ident()}
            def get_chat_id(self): self.threads.add(threading.get_ident())
            def execute(self, user_query, **kwargs):
                self.threads.add(threading.get_ident())
                time.sleep(float(user_query))
                return f"{len(self.threads)} {threading.get_ident()}"
        """
    )
    agents = [await connection.open(f"c-{number}", SCENARIO) for number in range(3)]
    loop = asyncio.get_running_loop()
    began = loop.time()
    answers = await asyncio.gather(*(agent.answer("0.4", 0) for agent in agents))
    assert loop.time() - began < 1.1
    assert all(answer.content.startswith("1 ") for answer in answers)
    assert len({answer.content for answer in answers}) == 3


async def test_an_agent_may_ask_the_llm_of_the_run(bench: Bench) -> None:
    connection = await bench.connect(
        """
        from arksim.llms.chat import LLM
        class Asks(BaseAgent):
            async def get_chat_id(self): return "x"
            async def execute(self, user_query, **kwargs): return await LLM(model="m").call_async(user_query)
        """
    )
    assert (await (await connection.open("c", SCENARIO)).answer("Hi", 0)).content == "agent asked Hi"


FAILS = {
    "None": ("return None", "execute() returned NoneType; it must return a text, or a response"),
    "a number": ("return 5", "execute() returned int"),
    "wrong tool calls": (
        "return {'content': 'x', 'tool_calls': [{'id': '1'}]}",
        "the agent's answer can't be used: tool_calls.0.name",
    ),
    "raises": ("raise ValueError('boom')", "the agent's execute(): ValueError: boom"),
    "exits": ("sys.exit(2)", "the agent's execute(): SystemExit: 2"),
    "hangs": ("await asyncio.sleep(60)", "the agent's execute() did not return within 0.5 s"),
    "ends the process": ("os._exit(6)", "the worker process ended (exit code 6) while the agent's execute() ran"),
}


@pytest.mark.parametrize("case", list(FAILS))
async def test_trouble_is_that_conversations_only(bench: Bench, case: str) -> None:
    """Row 16 of the list of faults: an agent that returns None once."""
    body, cause = FAILS[case]
    connection = await bench.connect(
        f"""
        class Bad(BaseAgent):
            async def get_chat_id(self): return "x"
            async def execute(self, user_query, **kwargs):
                if user_query == "be bad":
                    {body}
                return "fine"
        """,
        seconds=0.5 if case == "hangs" else 20,
    )
    bad = await connection.open("bad", SCENARIO)
    assert (await bad.answer("be good", 0)).content == "fine"
    with pytest.raises(AgentDidNotAnswer) as caught:
        await bad.answer("be bad", 1)
    assert cause in str(caught.value)
    await bad.close()
    good = await connection.open("good", SCENARIO)
    assert (await good.answer("be good", 0)).content == "fine"
    await good.close()


async def test_once_an_agent_ended_a_process_each_conversation_has_its_own(bench: Bench) -> None:
    connection = await bench.connect(
        """
        class Ends:
            async def execute(self, user_query, **kwargs):
                if user_query == "end": os._exit(6)
                return str(os.getpid())
        """
    )
    first, second = await connection.open("1", SCENARIO), await connection.open("2", SCENARIO)
    assert (await first.answer("who", 0)).content == (await second.answer("who", 0)).content
    with pytest.raises(AgentDidNotAnswer, match="exit code 6"):
        await first.answer("end", 1)
    with pytest.raises(AgentDidNotAnswer, match=r"had ended \(exit code 6\) before"):
        await second.answer("who", 1)
    third, fourth = await connection.open("3", SCENARIO), await connection.open("4", SCENARIO)
    with pytest.raises(AgentDidNotAnswer, match="exit code 6"):
        await third.answer("end", 0)
    assert (await fourth.answer("who", 0)).content.isdigit()
    for agent in (first, second, third, fourth):
        await agent.close()


async def test_hung_agents_do_not_stop_the_conversations_beside_them(bench: Bench) -> None:
    connection = await bench.connect(
        """
        class Hangs:
            def execute(self, user_query, **kwargs):
                time.sleep(float(user_query))
                return str(os.getpid())
        """,
        seconds=0.4,
    )
    good = await connection.open("good", SCENARIO)
    before = (await good.answer("0", 0)).content
    bad = [await connection.open(f"bad-{number}", SCENARIO) for number in range(5)]
    failed = await asyncio.gather(*(agent.answer("60", 0) for agent in bad), return_exceptions=True)
    assert all(isinstance(item, AgentDidNotAnswer) for item in failed)
    assert (await good.answer("0", 1)).content == before
    new = await connection.open("new", SCENARIO)
    assert (await new.answer("0", 0)).content != before
    await asyncio.gather(*(agent.close() for agent in (good, new, *bad)))


async def test_trouble_in_the_constructor_or_in_close(bench: Bench) -> None:
    connection = await bench.connect(
        """
        class Trouble:
            def __init__(self, config):
                if config.agent_name == "broken": raise ValueError("no key")
            async def get_chat_id(self): return None
            async def execute(self, user_query, **kwargs): return "fine"
            async def close(self): raise ValueError("can't close")
        """
    )
    agent = await connection.open("c", SCENARIO)
    await agent.close()
    assert "user code: the agent's close(): ValueError: can't close" in bench.log
    broken = await bench.connect_to(bench.folder / "my_agent.py", name="broken")
    with pytest.raises(AgentDidNotAnswer, match="the agent's constructor or get_chat_id\\(\\): ValueError: no key"):
        await broken.open("c", SCENARIO)


@pytest.mark.parametrize(
    ("source", "class_name", "message"),
    [
        ("x = 1\n", None, "no agent class: a subclass of BaseAgent"),
        ("class A(BaseAgent): ...\n", None, r"A is not complete: it lacks execute\(\), get_chat_id\(\)"),
        ("class A(BaseAgent):\n    async def execute(self, q): ...\n", "A", r"A is not complete: it lacks get_chat_id\(\)"),
        ("class A:\n    def execute(self): ...\nclass B:\n    def execute(self): ...\n", None, r"several agent classes \(A, B\); name one in `custom_config.class_name`"),
        ("class A:\n    def execute(self): ...\n", "B", "there is no class 'B' in this file; it has A"),
        ("class A:\n    def run(self): ...\n", "A", "A has no `execute` method"),
        ("import package_of_nowhere\n", None, "requirements"),
    ],
)  # fmt: skip
async def test_a_class_that_cannot_be_used_is_a_config_error(
    bench: Bench, source: str, class_name: str | None, message: str
) -> None:
    connection = await bench.connect(source, class_name)
    with pytest.raises(UserCodeNotLoadable, match=message) as caught:
        await connection.load()
    assert caught.value.problems[0].source.endswith("my_agent.py")


async def test_the_example_answers_with_tool_calls(bench: Bench) -> None:
    config = AgentConfig.model_validate(
        yaml.safe_load((EXAMPLE / "config.yaml").read_text(encoding="utf-8"))["agent_config"]
    )
    assert config.custom_config is not None
    scenarios = {
        item["scenario_id"]: Scenario.model_validate(item)
        for item in json.loads((EXAMPLE / "scenarios.json").read_text())["scenarios"]
    }
    connection = await bench.connect_to(EXAMPLE / config.custom_config.module_path, name=config.agent_name)
    assert await connection.load() == "ShopAgent"

    agent = await connection.open("c", scenarios["cancel-order"])
    assert (await agent.answer("Hello", 0)).tool_calls == ()
    asked = await agent.answer("Please cancel order ORD-1002", 1)
    assert [call.name for call in asked.tool_calls] == ["get_order"]
    assert "Shall I cancel it?" in asked.content
    done = await agent.answer("Yes, go ahead.", 2)
    assert [(call.name, call.arguments) for call in done.tool_calls] == [("cancel_order", {"order_id": "ORD-1002"})]
    assert done.content == "Order ORD-1002 for the Mechanical Keyboard is cancelled."
    await agent.close()

    agent = await connection.open("d", scenarios["shipped-order-stays"])
    refused = await agent.answer("Cancel ORD-1001!", 0)
    assert "can't cancel this one" in refused.content
    unknown = await agent.answer("And ORD-9?", 1)
    assert unknown.tool_calls[0].error == "there is no order ORD-9"
    await agent.close()
    assert not (EXAMPLE / "__pycache__").exists()
