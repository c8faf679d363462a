from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.scenarios import load_scenarios, load_simulation, match_scenarios
from tests.unit.config.project import scenario


def scenario_file(tmp_path: Path, *scenarios: object, **top: object) -> Path:
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps({"schema_version": "v1", "scenarios": scenarios, **top}, indent=1), encoding="utf-8")
    return path


def errors(tmp_path: Path, *scenarios: object, **top: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_scenarios(scenario_file(tmp_path, *scenarios, **top))
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_a_scenario_file_with_everything(tmp_path: Path) -> None:
    item = scenario(
        scenario_id="shop/refund: день 1",
        knowledge=[{"content": "30 days.", "metadata": {"source": ["a", 1]}}],
        origin={"user_attributes": {"age": 3}, "anything": [1]},
        assertions=[{"type": "tool_calls", "expected": [{"name": "refund", "arguments": {"id": 1}}]}],
    )
    loaded = load_scenarios(scenario_file(tmp_path, item))
    assert loaded.scenarios[0].scenario_id == "shop/refund: день 1"
    assert loaded.scenarios[0].knowledge[0].content == "30 days."
    assert loaded.scenarios[0].assertions[0].expected[0].arg_match_mode == "ignore"


def test_a_problem_names_the_scenario_and_its_line(tmp_path: Path) -> None:
    bad = scenario(scenario_id="late", knowledge=[{"content": "x"}, {"contnt": "y"}])
    del bad["goal"]
    assert errors(tmp_path, scenario(), bad) == [
        'scenarios.json:12: scenarios[1] "late" goal: is missing; needed: text',
        'scenarios.json:21: scenarios[1] "late" knowledge[1].content: is missing; needed: text',
        'scenarios.json:22: scenarios[1] "late" knowledge[1].contnt: unknown key; did you mean "content"? Allowed: content, '
        "metadata",
    ]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (scenario(assertion=[]), '"refund" assertion: unknown key; did you mean "assertions"?'),
        (scenario(user_attributes={"age": 30}), "user_attributes has moved into origin"),
        (
            scenario(assertions=[{"type": "tools", "expected": []}]),
            'assertions[0].type: found "tools"; did you mean "tool_calls"? Allowed: "tool_calls"',
        ),
        (
            scenario(assertions=[{"type": "tool_calls", "expected": [], "match_mode": "unorderd"}]),
            'match_mode: found "unorderd"; did you mean "unordered"?',
        ),
        (
            scenario(assertions=[{"type": "tool_calls", "expected": [{"nam": "x", "name": "y"}]}]),
            "expected[0].nam: unknown key",
        ),
        (scenario(goal=3), "goal: found 3; allowed: text"),
        (scenario(scenario_id=""), "scenario_id: is empty"),
        (scenario(scenario_id="  "), "scenario_id: is empty"),
        (scenario(scenario_id=7), "scenarios[0] scenario_id: found 7; allowed: text"),
        (scenario(scenario_id="x" * 1001), "scenario_id: is longer than 1,000 characters"),
        (
            scenario(scenario_id="a\nb"),
            'scenarios[0] "a b" scenario_id: holds a line break or another control character',
        ),
        ("text", 'scenarios[0]: found "text"; allowed: mapping'),
    ],
)
def test_a_scenario_that_is_refused(tmp_path: Path, item: object, message: str) -> None:
    found = errors(tmp_path, item)
    assert len(found) == 1, found
    assert message in found[0]
    assert found[0].startswith("scenarios.json:")


def test_ids_stand_once(tmp_path: Path) -> None:
    found = errors(tmp_path, scenario(), scenario(scenario_id="b"), scenario())
    assert found == ['scenarios.json:21: scenarios[2] "refund" scenario_id: this id stands twice, first at index 0']


def test_an_empty_file_of_scenarios_is_refused(tmp_path: Path) -> None:
    assert errors(tmp_path) == ["scenarios.json:3: scenarios: holds no scenario; at least one is needed"]
    assert "scenario: unknown key" in errors(tmp_path, scenario(), scenario=[])[0]
    (tmp_path / "scenarios.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError, match="a mapping with schema_version and scenarios is needed"):
        load_scenarios(tmp_path / "scenarios.json")


def simulation(*scenario_ids: str, **conversation: object) -> dict[str, Any]:
    message = {"turn_id": 0, "message_id": "m", "role": "simulated_user", "content": "Hi"}
    return {
        "schema_version": "v1",
        "simulator_version": "0.3.8",
        "simulation_id": "s",
        "generated_at": "2026-01-01T00:00:00Z",
        "conversations": [
            {
                "conversation_id": f"c{index}",
                "scenario_id": scenario_id,
                "conversation_history": [message, {**message, "role": "assistant", "extra": 1}],
                "simulated_user_prompt": {"simulated_user_prompt_template": "", "variables": {}},
                **conversation,
            }
            for index, scenario_id in enumerate(scenario_ids)
        ],
        "added_by_another_tool": {},
    }


def simulation_errors(tmp_path: Path, value: object) -> list[str]:
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_simulation(path)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_a_simulation_file_may_hold_more_than_we_know(tmp_path: Path) -> None:
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(simulation("refund", unknown=1)), encoding="utf-8")
    loaded = load_simulation(path)
    assert [turn.agent.content for turn in loaded.conversations[0].turns()] == ["Hi"]


def test_a_simulation_file_that_is_refused(tmp_path: Path) -> None:
    assert "holds no conversation, so there is nothing to evaluate" in simulation_errors(tmp_path, simulation())[0]
    assert "a mapping with simulation_id" in simulation_errors(tmp_path, [])[0]
    found = simulation_errors(tmp_path, simulation("refund", conversation_history=[{"role": "user"}]))
    assert any('conversations[0] "c0" conversation_history[0].role: found "user"' in line for line in found)
    found = simulation_errors(tmp_path, simulation("a", "b", conversation_id="same"))
    assert 'conversations[1] "same" conversation_id: this id stands twice, first at index 0' in found[0]


def message(turn_id: int, role: str) -> dict[str, Any]:
    return {"turn_id": turn_id, "message_id": f"{turn_id}{role}", "role": role, "content": "text"}


def test_turns_of_a_simulation_count_upwards_and_are_answered_once(tmp_path: Path) -> None:
    user, agent = "simulated_user", "assistant"
    backwards = [message(1, user), message(1, agent), message(0, user), message(0, agent), message(2, user)]
    found = simulation_errors(tmp_path, simulation("refund", conversation_history=backwards))
    assert len(found) == 2
    assert "conversation_history[2].turn_id: turn 0 comes after turn 1; turns count upwards" in found[0]
    twice = [message(0, user), message(0, agent), message(0, agent)]
    found = simulation_errors(tmp_path, simulation("refund", conversation_history=twice))
    assert len(found) == 1
    assert "conversation_history[2].turn_id: turn 0 has two answers" in found[0]


def test_a_simulation_may_start_with_the_agent_and_end_with_the_user(tmp_path: Path) -> None:
    history = [
        message(0, "assistant"),
        message(0, "simulated_user"),
        message(1, "assistant"),
        message(3, "simulated_user"),
    ]
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(simulation("refund", conversation_history=history)), encoding="utf-8")
    assert len(load_simulation(path).conversations[0].turns()) == 2


def test_a_simulation_is_held_to_its_scenarios(tmp_path: Path) -> None:
    scenarios = load_scenarios(scenario_file(tmp_path, scenario(), scenario(scenario_id="other")))
    path = tmp_path / "simulation.json"
    path.write_text(json.dumps(simulation("refund")), encoding="utf-8")
    assert match_scenarios(load_simulation(path), scenarios, path) == [
        'scenario "other" has no conversation in the simulation file'
    ]
    path.write_text(json.dumps(simulation("refund", "gone", "gone")), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        match_scenarios(load_simulation(path), scenarios, path)
    assert len(caught.value.problems) == 1
    assert 'its scenario "gone" is not in the scenario file' in str(caught.value)
