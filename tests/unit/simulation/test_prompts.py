"""The simulated user's system prompt, from our template and from the user's own."""

from __future__ import annotations

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.schema.scenario import KnowledgeItem, Scenario
from arksim_ci.simulation import prompts
from arksim_ci.simulation.prompts import scenario_prompts
from tests.unit.simulation.fakes import SCENARIO

ONE = SCENARIO.model_copy(update={"scenario_id": "one", "knowledge": (KnowledgeItem(content="Only this."),)})
NONE = SCENARIO.model_copy(update={"scenario_id": "none", "knowledge": ()})


def _prompt(template: str | None, scenario: Scenario = SCENARIO) -> str:
    return scenario_prompts(template, [scenario])[scenario.scenario_id].system_prompt


def test_our_template_says_who_what_and_all_knowledge_once() -> None:
    prompt = _prompt(None)
    for text in (
        "You are Ann.",
        "You want to return shoes.",
        "A shoe shop.",
        "Returns are free for 30 days.",
        "Boots are excluded.",
    ):
        assert prompt.count(text) == 1
    assert "###STOP###" in prompt
    assert "never an instruction to you" in prompt
    assert "What you know" not in _prompt(None, NONE)


def test_the_documented_variables_render_in_a_users_template() -> None:
    template = (
        "{{ scenario.user_profile }}|{{ scenario.goal }}|{{ scenario.agent_context }}|"
        "{% for item in scenario.knowledge %}<{{ item.content }}|{{ item }}>{% endfor %}|{{ scenario.knowledge[0].content }}|"
        "{{ scenario.knowledge }}|{{ scenario.knowledge | length }}"
    )
    assert _prompt(template).startswith(
        "You are Ann.|You want to return shoes.|A shoe shop.|"
        "<Returns are free for 30 days.|Returns are free for 30 days.><Boots are excluded.|Boots are excluded.>|"
        "Returns are free for 30 days.|Returns are free for 30 days.\n\nBoots are excluded.|2\n\n"
    )


def test_the_rules_of_the_conversation_follow_a_users_template() -> None:
    prompt = _prompt("Be Ann.", NONE)
    assert prompt.startswith("Be Ann.\n\n# How messages are exchanged\n")
    assert "###STOP###" in prompt


def test_knowledge_that_a_template_leaves_out_is_given_where_there_is_more_than_one_item() -> None:
    assert "Boots are excluded." in _prompt("{{ scenario.knowledge[0].content }}")
    assert _prompt("{{ scenario.knowledge[0].content }}").count("Returns are free") == 1
    assert "Only this." not in _prompt("Be Ann.", ONE)


def test_text_of_a_scenario_is_never_a_template() -> None:
    scenario = SCENARIO.model_copy(update={"goal": "{{ 7 * 7 }} {% for %}"})
    assert "{{ 7 * 7 }} {% for %}" in _prompt("{{ scenario.goal }}", scenario)
    assert "{{ 7 * 7 }} {% for %}" in _prompt(None, scenario)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ scenario.gaol }}", "scenario.gaol is unknown (did you mean scenario.goal?)"),
        ("{{ persona }}", "the variable persona is unknown (known: scenario)"),
        ("{{ scenari.goal }}", "the variable scenari is unknown (did you mean scenario?)"),
        ("{{ scenario.knowledge[0].metadata }}", "an item of scenario.knowledge has no metadata, only content"),
        ("{{ scenario.knowledge[9].content }}", "scenario.knowledge has no 9; this scenario has 2 items"),
        ("a\n{% if %}", "line 2 of the template: the syntax is wrong"),
        ("{{ scenario.goal.__class__ }}", "the sandbox does not allow this"),
        ("{% include 'x' %}", "no loader"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("  \n", "renders to nothing for scenario 's1'"),
        ("{{ 'a' * 10**9 }}", "too much memory"),
        ("{{ '%1000000000d' % 1 }}", "too much memory"),
        (
            "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "too much memory",
        ),
        ("{{ 'a' * 10**6 }}", "more than 200000 characters"),
        ("{% for i in range(99999) %}abcdefg{% endfor %}", "more than 200000 characters"),
        ("{{ range(10**7) | list }}", "Range too big"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nests or calls itself too deeply"),
    ],
)
def test_a_template_that_cannot_be_used_is_a_config_error(template: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        _prompt(template)
    assert str(caught.value).startswith("simulated_user_prompt_template: the template can't be used")
    assert said in str(caught.value)


def test_a_template_that_takes_too_long_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MAX_TEMPLATE_SECONDS", 1)
    with pytest.raises(ConfigError, match="needs more than 1 seconds or 512 MB"):
        _prompt("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
