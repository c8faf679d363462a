from __future__ import annotations

import json
from pathlib import Path

import pytest

from arksim_ci.config.errors import ConfigError
from arksim_ci.config.load import Overrides
from arksim_ci.schema.vocabulary import BUILTIN_METRICS, DEFAULT_METRICS
from tests.unit.config.project import AGENT, ENVIRONMENT, load, problems, write

CUSTOM_AGENT = """\
agent_config:
  agent_type: custom
  agent_name: support
  custom_config: {module_path: ./agent.py}
scenario_file_path: ./scenarios.json
"""


def test_defaults_are_the_documented_ones(tmp_path: Path) -> None:
    config = load(write(tmp_path)).config
    assert (config.model, config.provider, config.num_workers) == ("gpt-5.1", "openai", 50)
    assert (config.num_conversations_per_scenario, config.max_turns, config.generate_html_report) == (5, 5, True)
    assert (config.min_pass_rate, config.min_coverage, config.max_never_spoke_share) == (1.0, 1.0, 0.0)
    assert config.output_file_path == tmp_path / "simulation.json"
    assert config.output_dir == tmp_path / "results" / "evaluation"
    assert set(config.metrics_to_run) == set(BUILTIN_METRICS)


def test_paths_are_relative_to_where_they_are_written(tmp_path: Path) -> None:
    project, cwd, workspace = tmp_path / "project", tmp_path / "cwd", tmp_path / "workspace"
    config = write(project, "output_dir: out\ncode_paths: [src]\n")
    (project / "src").mkdir()
    write(cwd)
    (workspace / "tools").mkdir(parents=True)
    (workspace / "metrics.py").touch()
    given = Overrides(
        {"custom_metrics_file_paths": ["metrics.py"], "cache_dir": "c"}, "the input `overrides`", workspace
    )
    loaded = load(config, "--scenario_file_path", "scenarios.json", cwd=cwd, overrides=[given]).config
    assert loaded.scenario_file_path == cwd / "scenarios.json"
    assert loaded.output_dir == project / "out"
    assert loaded.code_paths == (project / "src",)
    assert loaded.custom_metrics_file_paths == (workspace / "metrics.py",)
    assert loaded.cache_dir == workspace / "c"
    assert loaded.output_file_path == project / "simulation.json"


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (("--output_dir", "rerun"), "rerun/simulation.json"),
        (("--output_dir", "rerun", "--output_file_path", "sim.json"), "sim.json"),
        (("--output_file_path", "sim.json"), "sim.json"),
        ((), "mine/sim.json"),
    ],
)
def test_a_rerun_into_another_folder_leaves_the_first_simulation(
    tmp_path: Path, arguments: tuple[str, ...], written: str
) -> None:
    config = write(tmp_path, "output_dir: out\noutput_file_path: mine/sim.json\n")
    assert load(config, *arguments, cwd=tmp_path).config.output_file_path == tmp_path / written


def test_an_empty_output_dir_is_told_once(tmp_path: Path) -> None:
    assert problems(write(tmp_path), "--output_dir", " ") == ["the command line: output_dir: the path is empty"]


def test_a_config_path_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "arksim")
    monkeypatch.chdir(tmp_path)
    loaded = load(Path("arksim/config.yaml")).config
    assert loaded.scenario_file_path == tmp_path / "arksim" / "scenarios.json"
    assert problems(Path("arksim/config.yaml"), "--code_file_path", "x.py", cwd=tmp_path) == [
        "the command line: code_file_path: there is no file x.py"
    ]


def test_all_problems_are_reported_at_once_with_their_lines(tmp_path: Path) -> None:
    config = write(
        tmp_path,
        "max_turns: 0\n"
        "numeric_threshold: {faithfulness: 3}\n"
        "numeric_thresholds:\n"
        "  faithfullness: 3\n"
        "  helpfulness: 9\n"
        "provider: opnai\n"
        "max_cost_usd: 5\n"
        "model: 4\n"
        "generate_html_report: maybe\n"
        "base_url: localhost:1234\n"
        "metrics_to_run: faithfulness\n",
    )
    assert problems(config) == [
        "config.yaml:9: max_turns: found 0; allowed: whole number, at least 1",
        'config.yaml:10: numeric_threshold: unknown key; did you mean "numeric_thresholds"?',
        'config.yaml:12: numeric_thresholds.faithfullness: no metric of this name runs; did you mean "faithfulness"? '
        "Known: helpfulness, coherence, verbosity, relevance, faithfulness, goal_completion, overall_score",
        "config.yaml:13: numeric_thresholds.helpfulness: found 9, but helpfulness is scored from 1 to 5",
        'config.yaml:14: provider: found "opnai"; did you mean "openai"? Allowed: one of "openai", "azure", "anthropic", '
        '"google", "ollama", "openai_compatible", "offline"',
        'config.yaml:15: max_cost_usd: needs the price of the model "gpt-5.1"; add it to prices',
        "config.yaml:16: model: found 4; allowed: text; put it in quotes",
        'config.yaml:17: generate_html_report: found "maybe"; allowed: true or false',
        "config.yaml:18: base_url: must be a URL that begins with http:// or https:// and names a host, without spaces",
        'config.yaml:19: metrics_to_run: found "faithfulness"; allowed: list of texts; write ["faithfulness"]',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_turns: true\n", "config.yaml:9: max_turns: found true; allowed: whole number, at least 1"),
        (
            "min_pass_rate: 80\n",
            "min_pass_rate: found 80; allowed: number from 0 to 1 or mapping of name to number from 0 to 1",
        ),
        (
            "min_pass_rate: {goal_completion: 2}\n",
            "min_pass_rate.goal_completion: found 2; allowed: number from 0 to 1",
        ),
        ("num_workers: many\n", 'found "many"; allowed: whole number, at least 1, or "auto"'),
        ("judge_mode: perMetric\n", 'did you mean "per_metric"? Allowed: one of "combined", "per_metric"'),
        (
            "trace_receiver: {prot: 1}\n",
            'trace_receiver.prot: unknown key; did you mean "port"? Allowed: enabled, host',
        ),
        ("trace_receiver: true\n", "trace_receiver: found true; allowed: mapping"),
        ("numeric_thresholds: [1]\n", "numeric_thresholds: found a list; allowed: mapping of name to number"),
        ("numeric_thresholds: {helpfulness: }\n", "numeric_thresholds.helpfulness: found null; allowed: number"),
        ("numeric_thresholds: {helpfulness: high}\n", 'numeric_thresholds.helpfulness: found "high"; allowed: number'),
        ("output_dir: ''\n", "output_dir: the path is empty"),
        ("prices: {m: {input: 1, output: 2}}\n", "prices.m.cached_input: is missing; needed: number, at least 0"),
        ("api_key_env: sk-0123 456\n", "api_key_env: this is not the name of a variable"),
        ("provider: openai_compatible\n", "base_url: is missing; the provider openai_compatible needs it"),
        ("base_url: http://${HOST}/v1\n", "base_url: can't hold ${VAR}"),
        ("simulated_user_prompt_template: '{% for %}'\n", "is not a valid Jinja2 template, in its line 1"),
        ("custom_metrics_file_paths: [m.py]\n", "custom_metrics_file_paths[0]: there is no file"),
        ("custom_metrics_file_paths: [scenarios.json]\n", "scenarios.json does not end in .py"),
        ("code_file_path: .\n", "is a folder, a file is needed"),
        ("code_paths: [src]\n", "code_paths[0]: there is no file or folder"),
        ("output_dir: scenarios.json\n", "output_dir: scenarios.json is a file, a folder is needed"),
        ("output_dir: scenarios.json/x\n", "output_dir: scenarios.json is a file, a folder is needed"),
        ("output_file_path: ./scenarios.json\n", "would overwrite scenarios.json, which the run reads"),
        ("output_file_path: config.yaml\n", "would overwrite config.yaml, which the run reads"),
        ("cache_dir: " + "x" * 5000 + "\nmax_turns: 0\n", "max_turns: found 0"),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(tmp_path: Path, text: str, message: str) -> None:
    found = problems(write(tmp_path, text))
    assert message in found[0]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("agent_config: {agent_type: chat_completions}\n", "agent_config.agent_name: is missing; needed: text"),
        (
            "agent_config: {agent_name: x, agent_type: chat}\n",
            'found "chat"; did you mean "chat_completions"? Allowed: one of',
        ),
        ("agent_config: {agent_name: x, agent_type: a2a}\n", "agent_config.api_config: is missing; a2a needs it"),
        (
            "agent_config: {agent_name: x, agent_type: custom}\n",
            "agent_config.custom_config: is missing; custom needs it",
        ),
        ("agent_config:\n", "agent_config: is missing; simulate-evaluate needs it, or agent_config_file_path"),
        ("agent_config: support\n", 'agent_config: found "support"; allowed: mapping'),
    ],
)
def test_an_agent_that_is_not_described(tmp_path: Path, agent: str, message: str) -> None:
    found = problems(write(tmp_path, agent=agent + "scenario_file_path: ./scenarios.json\n"))
    assert any(message in line for line in found), found


@pytest.mark.parametrize(
    ("api", "message"),
    [
        ("{endpoint: 'localhost:8000/v1', body: {messages: []}}", "endpoint: must be a URL that begins with http://"),
        ("{endpoint: 'http:///v1', body: {messages: []}}", "endpoint: must be a URL"),
        ("{endpoint: 'http://a:99999/', body: {messages: []}}", "endpoint: must be a URL"),
        ("{endpoint: 'http://a b/', body: {messages: []}}", "endpoint: must be a URL"),
        ("{endpoint: '', body: {messages: []}}", "endpoint: is empty"),
        ("{body: {messages: []}}", "endpoint: is missing; needed: text"),
        ("{endpoint: 'http://a/', bdy: {messages: []}, body: {a: 1}}", 'bdy: unknown key; did you mean "body"?'),
        ("{endpoint: 'http://a/'}", "body: is missing; chat_completions needs it"),
        ("{endpoint: 'http://a/', body: {messages: hello}}", "body.messages: must be a list of mappings"),
        ("{endpoint: 'http://a/', body: {a: 1}, headers: {'X Y': a}}", "is not a name that an HTTP header can have"),
        (
            "{endpoint: 'http://a/', body: {a: 1}, headers: {X: a, x: b}}",
            "headers.x: stands twice, the other time as X",
        ),
        (
            '{endpoint: "http://a/", body: {a: 1}, headers: {X: "a\\nb"}}',
            "holds characters that no HTTP header can carry",
        ),
        ("{endpoint: 'http://a/', body: {a: 1}, headers: {X: 17}}", "found a number; allowed: text; put it in quotes"),
    ],
)
def test_what_is_wrong_with_the_way_to_the_agent(tmp_path: Path, api: str, message: str) -> None:
    agent = f"scenario_file_path: scenarios.json\nagent_config:\n  agent_type: chat_completions\n  agent_name: x\n  api_config: {api}\n"
    found = problems(write(tmp_path, agent=agent))
    assert len(found) == 1, found
    assert message in found[0]
    assert found[0].startswith("config.yaml:5: agent_config.api_config")


def test_an_a2a_agent_has_no_body(tmp_path: Path) -> None:
    agent = AGENT.replace("chat_completions\n", "a2a\n", 1)
    assert problems(write(tmp_path, agent=agent)) == [
        "config.yaml:6: agent_config.api_config.body: belongs to chat_completions; an a2a agent has no body"
    ]


def test_a_custom_agent_is_a_python_file(tmp_path: Path) -> None:
    config = write(tmp_path, agent=CUSTOM_AGENT)
    assert "agent_config.custom_config.module_path: there is no file" in problems(config)[0]
    (tmp_path / "agent.py").touch()
    loaded = load(config).config
    assert loaded.agent_config and loaded.agent_config.custom_config
    assert loaded.agent_config.custom_config.module_path == tmp_path / "agent.py"
    config = write(tmp_path, agent=CUSTOM_AGENT.replace("./agent.py", "my.agent"))
    assert "a dotted module name is not supported" in problems(config)[0]


def test_values_of_the_agents_settings_are_never_shown(tmp_path: Path) -> None:
    api = "{endpoint: ['https://sk-secret@host'], headers: {Authorization: {sk-secret: 1}}, body: sk-secret}"
    agent = f"agent_config:\n  agent_type: chat_completions\n  agent_name: x\n  api_config: {api}\napi_key: sk-secret\n"
    found = problems(write(tmp_path, agent=agent + "api_token: [sk-secret]\nbase_url: 'sk-secret'\n"))
    assert len(found) > 4
    assert "sk-secret" not in "\n".join(found)


def test_null_means_not_set(tmp_path: Path) -> None:
    text = "model: null\nmetrics_to_run:\ncustom_metrics_file_paths:\nnumeric_thresholds: null\nqualitative_failure_labels: ~\n"
    config = load(write(tmp_path, text, agent=AGENT.replace("    body:", "    headers:\n    body:"))).config
    assert config.model == "gpt-5.1"
    assert config.numeric_thresholds is None
    assert config.agent_config and config.agent_config.api_config
    assert config.agent_config.api_config.headers == {}


def test_an_unknown_key_is_reported_whatever_it_holds(tmp_path: Path) -> None:
    assert "max_turn: unknown key" in problems(write(tmp_path, "max_turn:\n"))[0]


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "3\n"])
def test_a_config_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    assert "a mapping of config keys is needed" in problems(write(tmp_path, text, agent=""))[0]


def test_an_empty_config_says_what_is_needed(tmp_path: Path) -> None:
    config = write(tmp_path, agent="# nothing yet\n")
    assert problems(config) == [
        "config.yaml: scenario_file_path: is missing; simulate-evaluate needs the path to scenarios.json",
        "config.yaml: agent_config: is missing; simulate-evaluate needs it, or agent_config_file_path",
    ]
    assert [line.split(": ")[1] for line in problems(config, command="evaluate")] == [
        "scenario_file_path",
        "simulation_file_path",
    ]
    assert [line.split(": ")[1] for line in problems(config, command="simulate")] == [
        "scenario_file_path",
        "agent_config",
    ]


def test_evaluate_needs_the_simulation_file_and_no_agent(tmp_path: Path) -> None:
    config = write(tmp_path, "simulation_file_path: s.json\n", agent="scenario_file_path: scenarios.json\n")
    assert "simulation_file_path: there is no file" in problems(config, command="evaluate")[0]
    (tmp_path / "s.json").touch()
    assert load(config, command="evaluate").config.simulation_file_path == tmp_path / "s.json"
    assert load(config, command="validate").config.agent_config is None
    assert "agent_config: is missing" in problems(config, command="simulate-evaluate")[0]


def test_a_simulation_file_that_is_still_to_be_written_is_no_problem_for_a_simulation(tmp_path: Path) -> None:
    load(write(tmp_path, "simulation_file_path: later.json\n"))


def test_the_agents_own_file(tmp_path: Path) -> None:
    agent = {"agent_type": "custom", "agent_name": "own", "custom_config": {"module_path": "./agent.py"}}
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "agent.json").write_text(json.dumps(agent, indent=1), encoding="utf-8")
    (folder / "agent.py").touch()
    text = "scenario_file_path: scenarios.json\nagent_config_file_path: agents/agent.json\n"
    loaded = load(write(tmp_path, agent=text), "--agent_config.agent_name", "renamed").config
    assert loaded.agent_config and loaded.agent_config.custom_config
    assert loaded.agent_config.custom_config.module_path == folder / "agent.py"
    assert loaded.agent_config.agent_name == "renamed"
    inline = load(write(tmp_path, "agent_config_file_path: agents/agent.json\n"))
    assert inline.config.agent_config and inline.config.agent_config.agent_name == "support"
    assert "agent_config_file_path is not read" in inline.warnings[0]


def test_problems_in_the_agents_own_file_name_it(tmp_path: Path) -> None:
    text = "scenario_file_path: scenarios.json\nagent_config_file_path: agent.json\n"
    config = write(tmp_path, agent=text)
    assert "config.yaml:2: agent_config_file_path: agent.json: there is no such file" in problems(config)[0]
    (tmp_path / "agent.json").write_text('{"agent_type": "a2a",\n "agent_name": "x",\n "api": {}}', encoding="utf-8")
    found = problems(config)
    assert found[0] == "agent.json: agent_config.api_config: is missing; a2a needs it, with the endpoint"
    assert found[1].startswith('agent.json:3: agent_config.api: unknown key; did you mean "api_config"?')
    (tmp_path / "agent.json").write_text("{", encoding="utf-8")
    assert "is not valid JSON" in problems(config)[0]


def test_the_deprecated_score_threshold_gates(tmp_path: Path) -> None:
    loaded = load(write(tmp_path, "score_threshold: 0.7\n"))
    assert loaded.config.numeric_thresholds == {"overall_score": 0.7}
    assert loaded.config.score_threshold is None
    assert loaded.warnings == ("score_threshold is deprecated; it is used as numeric_thresholds.overall_score",)
    both = load(write(tmp_path, "score_threshold: 0.7\nnumeric_thresholds: {overall_score: 0.5}\n"))
    assert both.config.numeric_thresholds == {"overall_score": 0.5}
    assert (
        "score_threshold: found 7; allowed: number from 0 to 1" in problems(write(tmp_path, "score_threshold: 7\n"))[0]
    )


def test_the_provider_variable_beats_the_file_and_overrides_beat_it(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "LLM_PROVIDER": "anthropic"}
    config = write(tmp_path, "provider: google\n")
    loaded = load(config, environment=environment)
    assert loaded.config.provider == "anthropic"
    assert "LLM_PROVIDER" in loaded.warnings[0]
    assert load(config, "--provider", "ollama", environment=environment).config.provider == "ollama"
    assert load(config, environment={**ENVIRONMENT, "LLM_PROVIDER": " "}).config.provider == "google"
    found = problems(config, environment={**ENVIRONMENT, "LLM_PROVIDER": "gogle"})
    assert found[0].startswith('the variable LLM_PROVIDER: provider: found "gogle"; did you mean "google"?')


@pytest.mark.parametrize(("alias", "provider"), [("claude", "anthropic"), ("gemini", "google")])
def test_arksims_older_provider_names(tmp_path: Path, alias: str, provider: str) -> None:
    loaded = load(write(tmp_path, f"provider: {alias}\n"))
    assert loaded.config.provider == provider
    assert loaded.warnings == (f'the provider name "{alias}" is deprecated; it is now "{provider}"',)


def test_arksims_azure_section_is_accepted_and_said_to_be_unused(tmp_path: Path) -> None:
    agent = AGENT.replace("    body:", "    azure_config: {deployment: x}\n    body:")
    assert "azure_config is not used" in load(write(tmp_path, agent=agent)).warnings[0]


def test_settings_that_do_nothing_are_said(tmp_path: Path) -> None:
    (tmp_path / "agent.py").touch()
    agent = AGENT.replace("  api_config:", "  custom_config: {module_path: agent.py}\n  api_config:")
    loaded = load(write(tmp_path, "entry_function: main\n", agent=agent))
    assert len(loaded.warnings) == 2
    assert "agent_config.custom_config is not used" in loaded.warnings[0]
    assert "entry_function is not used" in loaded.warnings[1]


@pytest.mark.parametrize("text", ["metrics_to_run: []\n", "", f"metrics_to_run: [{', '.join(DEFAULT_METRICS)}]\n"])
def test_all_default_metrics_bring_the_one_for_tool_calls_along(tmp_path: Path, text: str) -> None:
    assert set(load(write(tmp_path, text)).config.metrics_to_run) == set(BUILTIN_METRICS)


def test_chosen_metrics_are_taken_at_their_word(tmp_path: Path) -> None:
    text = "metrics_to_run: [agent_behavior_failure, agent_behavior_failure]\n"
    assert load(write(tmp_path, text)).config.metrics_to_run == ("agent_behavior_failure",)


def test_a_cost_limit_with_a_price(tmp_path: Path) -> None:
    text = "max_cost_usd: 5\nprices: {gpt-5.1: {input: 1, cached_input: 0.1, output: 10}}\n"
    assert load(write(tmp_path, text)).config.max_cost_usd == 5
    assert load(write(tmp_path, "max_cost_usd: 5\nprovider: offline\n")).config.max_cost_usd == 5
    assert "max_cost_usd: needs the price" in problems(write(tmp_path, text), "--model", "other")[0]


def test_a_good_template_is_accepted(tmp_path: Path) -> None:
    text = "simulated_user_prompt_template: |\n  {% for item in scenario.knowledge %}{{ item.content }}{% endfor %}\n"
    assert load(write(tmp_path, text)).config.simulated_user_prompt_template


def test_the_real_projects_files(tmp_path: Path) -> None:
    config = Path(__file__).parents[4] / "shared" / "cases" / "bank-insurance" / "config.yaml"
    if not config.is_file():
        pytest.skip("the shared folder with the real project's files is not here")
    loaded = load(config, "--output_dir", str(tmp_path / "out"))
    assert loaded.warnings == ()
    assert loaded.config.output_dir == tmp_path / "out"
    with pytest.raises(ConfigError, match="the variable OPENAI_API_KEY is not set"):
        load(config, environment={})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("min_pass_rate: 90\n", "90 % is 0.9"),
        ('min_pass_rate: "90%"\n', "90 % is 0.9"),
        ("qualitative_failure_labels: {agent_behavior_failure: false information}\n", 'write ["false information"]'),
        ("qqqqqqqq: 1\n", "unknown key; all keys: https://"),
        ("code_file_path: ./scenarios.jsn\n", 'there is no file scenarios.jsn; did you mean "scenarios.json"?'),
    ],
)
def test_a_mistake_says_how_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (problem,) = problems(write(tmp_path, text))
    assert told in problem


def test_a_scenario_file_is_no_configuration(tmp_path: Path) -> None:
    write(tmp_path)
    (problem,) = problems(tmp_path / "scenarios.json")
    assert "this is a scenario file; give config.yaml" in problem
