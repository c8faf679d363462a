from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.overrides import parse_overrides, yaml_overrides
from tests.unit.config.project import load, problems, write


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--max_turns", "4"], {"max_turns": 4}),
        (["--max-turns=4"], {"max_turns": 4}),
        (["--model", "4"], {"model": "4"}),
        (["--model=a=b"], {"model": "a=b"}),
        (["--generate_html_report"], {"generate_html_report": True}),
        (["--generate-html-report", "no", "--max-turns", "1"], {"generate_html_report": False, "max_turns": 1}),
        (["--num_workers", "auto"], {"num_workers": "auto"}),
        (["--num_workers", "8"], {"num_workers": 8}),
        (["--min_coverage", "0.5"], {"min_coverage": 0.5}),
        (["--min_pass_rate", "0.5"], {"min_pass_rate": 0.5}),
        (["--min_pass_rate.clarity", "0.5"], {"min_pass_rate": {"clarity": 0.5}}),
        (["--run_timeout_seconds", "null"], {"run_timeout_seconds": None}),
        (["--model", "null"], {"model": "null"}),
        (["--metrics_to_run", "faithfulness, coherence,"], {"metrics_to_run": ["faithfulness", "coherence"]}),
        (["--metrics_to_run", ""], {"metrics_to_run": []}),
        (["--code_paths", '["a,b", "c"]'], {"code_paths": ["a,b", "c"]}),
        (["--numeric_thresholds.faithfulness", "-0.5"], {"numeric_thresholds": {"faithfulness": -0.5}}),
        (
            ["--qualitative_failure_labels.agent_behavior_failure", "false information,repetition"],
            {"qualitative_failure_labels": {"agent_behavior_failure": ["false information", "repetition"]}},
        ),
        (
            ["--agent-config.api-config.headers.X-Api-Key", "12"],
            {"agent_config": {"api_config": {"headers": {"X-Api-Key": "12"}}}},
        ),
        (
            ["--agent_config.api_config.body.temperature", "0", "--agent_config.api_config.body.model", "m"],
            {"agent_config": {"api_config": {"body": {"temperature": 0, "model": "m"}}}},
        ),
        (["--prices.gpt-5.1.input", "3"], {"prices": {"gpt-5.1": {"input": 3.0}}}),
        (
            ["--prices", '{"m.1": {"input": 1, "cached_input": 0, "output": 2}}'],
            {"prices": {"m.1": {"input": 1, "cached_input": 0, "output": 2}}},
        ),
        (
            ["--simulated_user_prompt_template", "{{ scenario.goal }}"],
            {"simulated_user_prompt_template": "{{ scenario.goal }}"},
        ),
        (["--max_turns", "many"], {"max_turns": "many"}),
        (["--max-turns", "1", "--max_turns", "2"], {"max_turns": 2}),
        (["--unknown-key", "x"], {"unknown_key": "x"}),
    ],
)
def test_arguments_have_the_type_that_their_key_declares(argv: list[str], expected: dict[str, object]) -> None:
    found = parse_overrides(argv)
    assert found == expected
    assert repr(found) == repr(expected)


def test_every_argument_that_is_no_override_is_reported() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_overrides(["extra", "--model", "--max-turns", "3", "-x", "--provider"])
    assert str(caught.value).splitlines() == [
        'the command line: unexpected argument "extra"; write --key value',
        "the command line: --model: needs a value",
        'the command line: unexpected argument "-x"; write --key value',
        "the command line: --provider: needs a value",
    ]


def test_an_override_reaches_into_a_mapping_and_leaves_the_rest(tmp_path: Path) -> None:
    config = write(tmp_path, "numeric_thresholds:\n  faithfulness: 3\n  helpfulness: 3\n")
    loaded = load(
        config,
        "--numeric_thresholds.faithfulness",
        "4",
        "--agent_config.api_config.endpoint",
        "http://other/v1",
        "--agent_config.api_config.body.model",
        "m",
    ).config
    assert loaded.numeric_thresholds == {"faithfulness": 4, "helpfulness": 3}
    assert loaded.agent_config and loaded.agent_config.api_config
    assert loaded.agent_config.api_config.endpoint == "http://other/v1"
    assert loaded.agent_config.api_config.body == {"messages": [], "model": "m"}
    assert load(config, "--numeric_thresholds", "null").config.numeric_thresholds is None


def test_the_command_line_beats_inputs_and_inputs_beat_the_file(tmp_path: Path) -> None:
    config = write(tmp_path, "max_turns: 1\nmodel: file\nprovider: openai\n")
    given = yaml_overrides(
        "max-turns: 2\nmodel: input\nagent_config.agent_name: renamed\n", "the input `overrides`", tmp_path
    )
    loaded = load(config, "--model", "line", overrides=[given]).config
    assert (loaded.max_turns, loaded.model, loaded.provider) == (2, "line", "openai")
    assert loaded.agent_config and loaded.agent_config.agent_name == "renamed"


def test_a_wrong_override_names_its_place(tmp_path: Path) -> None:
    given = yaml_overrides("max_turns: 2\nmin_coverage: 80\n", "the input `overrides`", tmp_path)
    found = problems(write(tmp_path), "--max-turns", "many", "--num-worker", "3", overrides=[given])
    assert found == [
        'the command line: max_turns: found "many"; allowed: whole number, at least 1',
        'the command line: num_worker: unknown key; did you mean "num_workers"?',
        "the input `overrides`:2: min_coverage: found 80; allowed: number from 0 to 1; 80 % is 0.8",
    ]


def test_overrides_must_be_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a YAML mapping of config keys is needed"):
        yaml_overrides("- a\n", "the input `overrides`", tmp_path)
    assert yaml_overrides("", "the input `overrides`", tmp_path).values == {}


def test_one_item_of_a_list_cannot_be_overridden(tmp_path: Path) -> None:
    found = problems(write(tmp_path), "--agent_config.api_config.body.messages.0.content", "x")
    assert found == [
        "the command line: agent_config.api_config.body.messages: is a list; give the whole list, not one item"
    ]
