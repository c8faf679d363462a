from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from arksim_ci.user_code.host import UserCodeFailed
from tests.integration.user_code.conftest import Bench

SCORE_INPUT = {
    "chat_history": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
    "current_turn": [{"role": "user", "content": "Hi"}],
    "knowledge": "Shops open at 9.",
    "user_goal": "Know when shops open.",
    "profile": "Ann",
    "tool_calls": [{"name": "search"}],
}

ALL_KINDS = """
    from __future__ import annotations
    from {package} import QuantitativeMetric, QualitativeMetric, QuantResult, QualResult, ScoreInput, ChatMessage, format_chat_history
    from helper import five

    class Base(QuantitativeMetric):
        pass  # abstract: it has no score

    class _Hidden(QuantitativeMetric):
        def score(self, score_input): raise AssertionError

    class Length(QuantitativeMetric):
        def __init__(self, llm=None):
            super().__init__("length", (0, 100), {{"limit": five()}}, "How long", llm)
        def score(self, score_input: ScoreInput) -> QuantResult:
            text = format_chat_history(score_input.chat_history)
            assert text == "user: Hi\\nassistant: Hello\\n", text
            assert score_input.tool_calls == [{{"name": "search"}}]
            assert isinstance(score_input.current_turn[0], ChatMessage)
            assert (score_input.profile, score_input.knowledge) == ("Ann", "Shops open at 9.")
            return QuantResult(name="length", value=score_input.model_extra["limit"], reason="r", metadata={{"n": (1, 2)}})

    class Whole(QuantitativeMetric):
        def __init__(self):
            super().__init__(scope="conversation")
        async def score(self, score_input):
            return QuantResult(name=self.name, value=3, reason=score_input.user_goal)

    class Tone(QualitativeMetric):
        def __init__(self, **settings):
            super().__init__(name="tone", label_colors={{"calm": "green", "angry": "red"}}, **settings)
        async def evaluate(self, score_input):
            return QualResult(name=self.name, value="calm", reason=await self.llm.call_async("How calm?"))

    class Needs(QualitativeMetric):
        def __init__(self, llm=None):
            super().__init__(name="needs", llm=llm, scope="conversation")
        def evaluate(self, score_input):
            return QualResult(name=self.name, value="complete", reason=self.llm.call("Asked?") + " " + self.llm.model + " " + self.llm.provider)
"""


@pytest.mark.parametrize("package", ["arksim.evaluator", "arksim.evaluator.base_metric", "arksim_ci"])
@pytest.mark.parametrize("has_pydantic", [True, False])
async def test_all_four_kinds_are_found_and_run(
    bench: Bench, bare_python: Path, package: str, has_pydantic: bool
) -> None:
    bench.write("helper.py", "def five(): return 5")
    file = bench.write("metrics.py", ALL_KINDS.format(package=package))
    host = await bench.host(python=None if has_pydantic else bare_python)
    loaded = {metric.name: metric for metric in await host.load_metrics([file])}
    assert set(loaded) == {"length", "Whole", "tone", "needs"}
    assert (loaded["length"].kind, loaded["length"].scope, loaded["length"].scale) == ("numeric", "turn", (0, 100))
    assert (loaded["Whole"].scope, loaded["Whole"].scale) == ("conversation", (1, 5))
    assert (loaded["tone"].kind, loaded["tone"].labels, loaded["tone"].scale) == (
        "qualitative",
        ("calm", "angry"),
        None,
    )
    assert loaded["needs"].labels == ()
    assert loaded["needs"].file == str(file)

    results = await asyncio.gather(*(host.score(name, SCORE_INPUT) for name in ("length", "Whole", "tone", "needs")))
    assert [(item.value, item.reason, item.scope) for item in results] == [
        (5, "r", "turn"),
        (3, "Know when shops open.", "conversation"),
        ("calm", "an answer", "turn"),
        ("complete", "an answer gpt-test offline", "conversation"),
    ]
    assert results[0].metadata == {"n": [1, 2]}
    assert sorted(name for _, _, name in bench.questions) == ["needs", "tone"]
    assert not (bench.folder / "__pycache__").exists()


async def test_the_real_files_of_a_project_run(bench: Bench) -> None:
    file = Path(__file__).parents[3] / ".." / "shared" / "cases" / "bank-insurance" / "custom_metrics.py"
    if not file.exists():
        pytest.skip("../shared is not here")
    host = await bench.host()
    loaded = await host.load_metrics([file.resolve()])
    assert {metric.name for metric in loaded} == {
        "clarity",
        "product_suitability",
        "prohibited_statements",
        "needs_assessment",
    }
    bench.answer = lambda: {"score": 4.5, "reason": "clear", "label": "violated"}
    results = {metric.name: await host.score(metric.name, SCORE_INPUT) for metric in loaded}
    assert {name: result.value for name, result in results.items()} == {
        "clarity": 4.5,
        "product_suitability": 4.5,
        "prohibited_statements": "violated",
        "needs_assessment": "violated",
    }
    messages, schema, _ = bench.questions[0]
    assert [message["role"] for message in messages] == ["system", "user"]
    assert "Shops open at 9." in messages[1]["content"]
    assert schema is not None
    assert set(schema["properties"]) == {"score", "reason"}


async def test_two_files_may_have_the_same_stem_and_neighbours_of_their_own(bench: Bench) -> None:
    text = """
        from arksim.evaluator import QuantitativeMetric, QuantResult
        class {name}(QuantitativeMetric):
            def score(self, score_input): return QuantResult(name=self.name, value=1)
    """
    files = [
        bench.write(f"{folder}/metrics.py", text.format(name=name)) for folder, name in (("a", "One"), ("b", "Two"))
    ]
    host = await bench.host()
    assert [metric.name for metric in await host.load_metrics(files)] == ["One", "Two"]


async def test_a_file_that_only_imports_its_metrics_has_them(bench: Bench) -> None:
    bench.write(
        "library/mine.py",
        """
        from arksim.evaluator import QuantitativeMetric, QuantResult
        class Mine(QuantitativeMetric):
            def score(self, score_input): return QuantResult(name=self.name, value=1)
        """,
    )
    file = bench.write("metrics.py", "from library.mine import Mine\n")
    host = await bench.host()
    assert [metric.name for metric in await host.load_metrics([file])] == ["Mine"]


async def test_the_llm_gives_models_dictionaries_and_texts_and_its_errors_are_the_users(bench: Bench) -> None:
    file = bench.write(
        "metrics.py",
        """
        from pydantic import BaseModel
        from arksim.evaluator import QuantitativeMetric, QuantResult
        from arksim.llms.chat import LLM

        class Grade(BaseModel):
            score: float

        llm = LLM(model="another-model", provider="openai")

        class Asks(QuantitativeMetric):
            def score(self, score_input):
                how = score_input.user_goal
                if how == "model":
                    grade = self.llm.call([{"role": "user", "content": "?"}], schema=Grade, temperature=0)
                    assert isinstance(grade, Grade)
                    return QuantResult(name=self.name, value=grade.score)
                if how == "dictionary":
                    return QuantResult(name=self.name, value=self.llm.call("?", schema={"type": "object"})["score"])
                if how == "module":
                    return QuantResult(name=self.name, value=llm.call("?", schema=Grade).score)
                if how == "bad messages":
                    self.llm.call([{"role": "boss", "content": "?"}])
                try:
                    self.llm.call("?", schema=Grade)
                except RuntimeError as error:
                    return QuantResult(name=self.name, value=0, reason=str(error))
        """,
    )
    host = await bench.host()
    await host.load_metrics([file])
    bench.answer = lambda: {"score": 4}
    assert (await host.score("Asks", {"user_goal": "model"}, case="Asks c-1 0")).value == 4
    assert bench.questions[-1][2] == "Asks c-1 0"
    for how in ("model", "dictionary", "module"):
        assert (await host.score("Asks", {"user_goal": how})).value == 4
    assert "LLM(model='another-model'): the run's model 'gpt-test' answers instead" in bench.logged
    assert "temperature not used" in bench.logged
    with pytest.raises(UserCodeFailed, match="a message needs a role"):
        await host.score("Asks", {"user_goal": "bad messages"})
    bench.answer = lambda: {"other": 4}
    with pytest.raises(UserCodeFailed, match="ValidationError"):
        await host.score("Asks", {"user_goal": "model"})

    def refuse() -> object:
        raise RuntimeError("the budget of the run is used up")

    bench.answer = refuse
    assert (await host.score("Asks", {})).reason == "the budget of the run is used up"


async def test_waiting_for_the_llm_is_not_the_users_time(bench: Bench) -> None:
    file = bench.write(
        "metrics.py",
        """
        from arksim.evaluator import QuantitativeMetric, QuantResult
        class Asks(QuantitativeMetric):
            def score(self, score_input): return QuantResult(name=self.name, value=1, reason=self.llm.call("?"))
        """,
    )

    async def slow(messages: object, schema: object, name: str) -> object:
        await asyncio.sleep(1.2)
        return "late"

    host = await bench.host(seconds=0.4, ask_llm=slow)
    await host.load_metrics([file])
    assert (await host.score("Asks", {})).reason == "late"


async def test_starting_twice_is_starting_once_and_one_process_is_enough(bench: Bench) -> None:
    file = bench.write(
        "metrics.py",
        """
        import os
        from arksim.evaluator import QuantitativeMetric, QuantResult
        class Pid(QuantitativeMetric):
            def score(self, score_input): return QuantResult(name=self.name, value=os.getpid())
        """,
    )
    host = await bench.host()
    await host.start()
    await host.load_metrics([file])
    await host.start()
    pids = {(await host.score("Pid", {})).value for _ in range(3)}
    assert len(pids) == 1
    assert len([name for name in Path("/proc").iterdir() if name.name.isdigit() and is_worker_of_ours(name)]) == 1


def is_worker_of_ours(process: Path) -> bool:
    try:
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        return parent == str(os.getpid()) and "worker.py" in (process / "cmdline").read_text()
    except OSError:
        return False
