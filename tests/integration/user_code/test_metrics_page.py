"""The examples of docs/metrics.md run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arksim_ci.schema.evaluation import QualResult, QuantResult
from tests.integration.user_code.conftest import Bench

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def _turn(answer: str) -> dict[str, object]:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": answer}]
    return {"chat_history": talk, "current_turn": talk}


def _conversation(answer: str) -> dict[str, object]:
    return {**_turn(answer), "current_turn": []}


async def test_each_example_loads_and_measures(bench: Bench) -> None:
    host = await bench.host()
    files = [bench.write(f"metrics_{number}.py", text) for number, text in enumerate(EXAMPLES)]
    found = {metric.name: metric for metric in await host.load_metrics(files)}
    assert {(name, metric.kind, metric.scope, metric.scale) for name, metric in found.items()} == {
        ("plain_language", "numeric", "turn", (1, 5)),
        ("asks_for_secrets", "qualitative", "conversation", None),
        ("politeness", "numeric", "turn", (0, 5)),
    }
    short, long = (
        await host.score("plain_language", _turn("Yes.")),
        await host.score("plain_language", _turn("a " * 30)),
    )
    assert isinstance(short, QuantResult)
    assert isinstance(long, QuantResult)
    assert (short.value, long.value, long.reason) == (5, 1, "30 words at most.")
    asked = await host.score("asks_for_secrets", _conversation("What is your password?"))
    clean = await host.score("asks_for_secrets", _conversation("Yes."))
    assert isinstance(asked, QualResult)
    assert isinstance(clean, QualResult)
    assert (asked.value, clean.value, clean.reason) == ("asked", "clean", None)
    bench.answer = lambda: {"score": 4, "reason": "Friendly."}
    polite = await host.score("politeness", _turn("With pleasure."))
    assert isinstance(polite, QuantResult)
    assert (polite.value, polite.reason) == (4, "Friendly.")
    [(messages, schema, _)] = bench.questions
    assert "With pleasure." in messages[0]["content"]
    assert schema is not None


async def test_the_same_names_come_from_arksim_ci(bench: Bench) -> None:
    host = await bench.host()
    text = EXAMPLES[0].replace("from arksim.evaluator import", "from arksim_ci import")
    [metric] = await host.load_metrics([bench.write("ours.py", text)])
    assert metric.name == "plain_language"


@pytest.mark.parametrize(
    "name", ["score_range", "label_colors", "current_turn", "chat_history", "additional_input", "metadata"]
)
def test_the_page_explains_each_name(name: str) -> None:
    assert f"`{name}`" in PAGE
