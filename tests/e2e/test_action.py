"""The real image, run exactly as GitHub's runner runs it, with GitHub, an LLM and the agent on this machine."""

from __future__ import annotations

import json
import signal
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import Project
from tests.support.docker import IMAGE, Docker
from tests.support.docker_action import HEAD_SHA, OWNER, Step
from tests.support.fake_results_service import runtime_token
from tests.support.project import llm, scenario
from tests.support.scripted_server import Reply, Request, ScriptedServer, wait_until

pytestmark = pytest.mark.timeout(900)  # the first of them builds the images

ENDPOINT = "agent_config: {api_config: {endpoint: 'http://%s:%d/v1/chat/completions'}}"
RESULTS = "arksim/results/evaluation"
KEY = "sk-e2e-0123456789abcdef"


def endpoint(host: str, port: int, *more: str) -> str:
    """The input `overrides` that points at an agent."""
    return "\n".join([ENDPOINT % (host, port), "num_conversations_per_scenario: 1", *more])


def test_the_sample_agent_through_the_gateway(
    project: Project, serve_sample_agent: Callable[..., int], gateway: str
) -> None:
    """Complaint 12: an agent that an earlier step started, by the address that its config has everywhere else."""
    port = serve_sample_agent()
    step = project.step()
    before = step.files()
    ended = step.run({"overrides": endpoint("127.0.0.1", port)})

    assert ended.code == 1, ended.log
    assert f"answers at the machine's address {gateway}:{port}" in ended.log
    verdict = ended.file(f"{RESULTS}/verdict.json")
    assert verdict["exit_code"] == 1
    assert verdict["run"]["commit"] == HEAD_SHA

    outputs = ended.outputs
    assert outputs["exit-code"] == "1"
    assert outputs["conclusion"] == "failed"
    assert outputs["passed"] == "false"
    assert outputs["conversations"] == "10"
    assert int(outputs["unique-errors"]) >= 5
    for name in ("evaluation-file", "verdict-file", "report-file", "focus-dir", "junit-file", "sarif-file"):
        assert (ended.workspace / outputs[name]).exists(), name
    for name in ("report-url", "artifact-url", "focus-artifact-url", "comment-url"):
        assert outputs[name].startswith("https://github.com/org/shop/"), name

    made = ended.new_files(before)
    assert f"{RESULTS}/evaluation.json" in made
    assert {path for path, owner in made.items() if owner != OWNER} == set()

    (comment,) = project.comments()
    assert "<!--" in comment
    assert "15 business days" in comment
    assert "15 business days" in ended.summary
    assert project.artifact_names() == ["arksim-evaluation", "arksim-focus", "arksim-report.html"]
    assert "verdict.json" in project.zip("arksim-evaluation")
    assert "all_failures.json" in project.zip("arksim-focus")
    assert project.blob("arksim-report.html").lstrip().lower().startswith(b"<!doctype html>")


def test_the_fixed_agent_started_by_agent_command(project: Project) -> None:
    step = project.step()
    before = step.files()
    ended = step.run(
        {
            "overrides": "num_conversations_per_scenario: 1",
            "setup-command": "python -m pip --version; test -z \"$(env | grep -E '^(INPUT_|ACTIONS_|GITHUB_(TOKEN|OUTPUT))')\"",
            "agent-command": "cat /proc/1/environ || echo out of reach; echo ::error::forged; cd arksim && python agent.py --fixed",
            "agent-health-url": "http://127.0.0.1:8321/health",
        }
    )
    assert ended.code == 0, ended.log
    assert ended.outputs["conclusion"] == "passed"
    assert ended.outputs["passed"] == "true"
    assert "::error::forged" not in ended.log
    log = (ended.workspace / RESULTS / "agent.log").read_text()
    assert "from /opt/user/lib/python3.13/site-packages/pip" in log, "pip is of a venv apart from ours"
    assert "out of reach" in log
    assert runtime_token() not in log
    assert "agent.log" in project.zip("arksim-evaluation")
    assert {path for path, owner in ended.new_files(before).items() if owner != OWNER} == set()
    assert "::error::" not in ended.log


def test_an_agent_out_of_reach_is_told_the_three_ways_out(project: Project) -> None:
    ended = project.step().run({"overrides": endpoint("localhost", 8321)})
    assert ended.code == 3, ended.log
    assert ended.outputs["exit-code"] == "3"
    assert ended.outputs["conclusion"] == "error"
    for text in (ended.log, ended.summary, *project.comments()):
        assert "0.0.0.0" in text
        assert "services:" in text
        assert "agent-command" in text
    assert ended.file(f"{RESULTS}/verdict.json")["failures"][0]["type"] == "RUN_NOT_COMPLETED"


def test_an_agent_that_dies_early_ends_with_3_and_its_last_lines(project: Project) -> None:
    ended = project.step().run({"agent-command": "cd arksim && echo '::error::boom' && node server.js"})
    assert ended.code == 3, ended.log
    assert "exit code 127: a command was not found; the action's image has Python and bash only" in ended.log
    assert "node: command not found" in ended.log
    assert "\n::error::boom" not in ended.log
    assert ended.outputs["conclusion"] == "error"


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ({"comment": "allways"}, 'input comment: "allways" is not allowed; allowed: always, on-failure, off'),
        ({"provider": "openai"}, "OPENAI_API_KEY"),
        ({"config": "../../etc/config.yaml"}, "/github/workspace"),
        ({"overrides": "numeric_threshold: {faithfulness: 4}"}, "numeric_thresholds"),
    ],
)
def test_a_wrong_configuration_ends_with_2_before_anything_is_done(
    project: Project, inputs: dict[str, str], says: str
) -> None:
    """Complaint 15, too: paths outside of the workspace."""
    step = project.step()
    before = step.files()
    ended = step.run(inputs)
    assert ended.code == 2, ended.log
    assert says in ended.log
    assert ended.outputs["exit-code"] == "2"
    assert ended.outputs["conclusion"] == "error"
    assert ended.new_files(before) == {}
    assert project.comments() == []


def scripted_step(project: Project, server: ScriptedServer, scenarios: int = 1) -> tuple[Step, dict[str, str]]:
    """A step whose agent and LLM are the scripted server, by loopback addresses and hyphenated inputs."""
    step = project.step()
    config = {
        "agent_config": {
            "agent_type": "chat_completions",
            "agent_name": "shop",
            "api_config": {"endpoint": f"http://localhost:{server.port}/agent", "body": {"messages": []}},
        },
        "scenario_file_path": "./scenarios.json",
        "num_conversations_per_scenario": 1,
        "max_turns": 1,
        "num_workers": 2,
        "numeric_thresholds": {"overall_score": 0.8},
        "qualitative_failure_labels": {"agent_behavior_failure": ["false information"]},
    }
    step.write("arksim/config.yaml", yaml.safe_dump(config))
    listed = [scenario(f"scenario_{number}") for number in range(scenarios)]
    step.write("arksim/scenarios.json", json.dumps({"schema_version": "v1", "scenarios": listed}))
    inputs = {
        "provider": "openai_compatible",
        "model": "scripted-1",
        "base-url": f"http://localhost:{server.port}/v1",
        "api-key": KEY,
    }
    return step, inputs


def test_a_scripted_llm_on_localhost_by_hyphenated_inputs(project: Project, gateway: str) -> None:
    """Complaints 12 and 14: `base-url` is a loopback address, and `INPUT_BASE-URL` and `INPUT_API-KEY` arrive."""
    with ScriptedServer(llm(), host=gateway) as server:
        step, inputs = scripted_step(project, server)
        ended = step.run(inputs)
        assert ended.code == 0, ended.log
        assert all(request.headers["Authorization"] == f"Bearer {KEY}" for request in server.requests["llm"])
        assert not any("Authorization" in request.headers for request in server.requests["agent"])
    assert f"::add-mask::{KEY}" in ended.log
    assert KEY not in ended.log.replace(f"::add-mask::{KEY}", "")
    assert KEY not in "".join([ended.summary, *ended.outputs.values(), *project.comments()])


def test_a_judge_that_is_down_ends_with_3_and_says_so(project: Project, gateway: str) -> None:
    def down(_: Request) -> Reply:
        return Reply(status=400, body={"error": {"message": "the judge is out of order"}})

    with ScriptedServer(llm(judge=down), host=gateway) as server:
        step, inputs = scripted_step(project, server)
        ended = step.run(inputs)
    assert ended.code == 3, ended.log
    assert ended.outputs["conclusion"] == "error"
    assert ended.outputs["passed"] == "false"
    types = {failure["type"] for failure in ended.file(f"{RESULTS}/verdict.json")["failures"]}
    assert types == {"INCOMPLETE_COVERAGE", "METRIC_NOT_EVALUATED"}
    assert "out of order" in project.comments()[0]


def test_fail_on_gate_false_publishes_and_ends_0(project: Project, gateway: str) -> None:
    """Complaint 16."""
    with ScriptedServer(llm(agent_behavior_failure="false information"), host=gateway) as server:
        step, inputs = scripted_step(project, server)
        ended = step.run({**inputs, "fail-on-gate": "false"})
    assert ended.code == 0, ended.log
    assert ended.outputs["exit-code"] == "1"
    assert ended.outputs["conclusion"] == "failed"
    assert ended.file(f"{RESULTS}/verdict.json")["exit_code"] == 1
    assert len(project.comments()) == 1


def test_a_cancelled_job_keeps_what_is_finished(project: Project, gateway: str, containers: Docker) -> None:
    """SIGINT, 7.5 s, SIGTERM, 2.5 s, SIGKILL: by then the files are written, the agent is stopped, and nothing is left running."""

    script = llm()

    def stuck(request: Request) -> Reply:
        return replace(script(request), delay=0.05 if request.number < 9 else 60)

    stubborn = "trap '' TERM INT; while :; do sleep 0.2; done"
    command = {
        "agent-command": f"python -m http.server 9 & {stubborn}",
        "agent-health-url": "http://127.0.0.1:9/",
    }
    with ScriptedServer(stuck, host=gateway) as server:
        step, inputs = scripted_step(project, server, scenarios=6)
        before = step.files()
        with step.start({**inputs, **command}) as running:
            wait_until(lambda: len(server.requests["llm"]) > 9, 60)
            cancelled = time.monotonic()
            running.signal(signal.SIGINT)
            time.sleep(1)
            running.signal(signal.SIGTERM)
            ended = running.end(timeout=30)
            seconds = time.monotonic() - cancelled
    assert ended.code == 3, ended.log
    assert seconds < 10, "the runner would have killed it"
    verdict = ended.file(f"{RESULTS}/verdict.json")
    assert verdict["status"] == "CANCELLED"
    assert verdict["coverage"]["evaluated_conversations"] > 0
    assert ended.outputs["exit-code"] == "3"
    assert ended.summary
    assert {path for path, owner in ended.new_files(before).items() if owner != OWNER} == set()
    assert containers("ps", "--all", "--quiet", "--filter", f"name={step.name}") == ""


HOSTILE = {
    "PATH": "/nowhere",
    "PYTHONPATH": "/github/workspace",
    "PYTHONHOME": "/opt/hostedtoolcache/Python/3.9.1/x64",
    "PYTHONSTARTUP": "/github/workspace/arksim_ci.py",
    "LD_LIBRARY_PATH": "/github/workspace/lib:/opt/hostedtoolcache/Python/3.9.1/x64/lib",
    "LD_PRELOAD": "/github/workspace/lib/libz.so.1",
    "VIRTUAL_ENV": "/nowhere",
    "SSLKEYLOGFILE": "",
    "LANG": "tlh_KX",
    "LC_ALL": "C",
    "TMPDIR": "/nowhere",
}


def test_a_hostile_environment_changes_nothing(project: Project) -> None:
    """Complaint 14, in the action itself and in the commands that it runs."""
    step = project.step()
    for module in ("arksim_ci", "json", "asyncio", "yaml", "sitecustomize"):
        step.write(f"{module}.py", "raise SystemExit('a module of the workspace was imported')")
    for library in ("libz.so.1", "libexpat.so.1", "libm.so.6", "libpython3.13.so.1.0", "libssl.so.3"):
        step.write(f"lib/{library}", "no library")
    ended = step.run(
        {"overrides": "num_conversations_per_scenario: 1", "agent-command": "cd arksim && python -I agent.py --fixed"},
        **HOSTILE,
    )
    assert ended.code == 0, ended.log
    assert ended.outputs["conclusion"] == "passed"


def wheel(folder: Path, name: str, source: str) -> str:
    """A wheel with one module, made by hand so that nothing has to be fetched to build it."""
    path = folder / f"{name}-0.0.1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", source)
        archive.writestr(f"{name}-0.0.1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
        archive.writestr(
            f"{name}-0.0.1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-0.0.1.dist-info/RECORD", "")
    return path.name


def test_requirements_are_for_the_users_python_only(project: Project) -> None:
    """A custom metric and an agent that need packages of the workspace, one of them named as one of ours."""
    step = project.step()
    wheels = [
        wheel(step.workspace, "shoplib", "GREETING = 'hello'"),
        wheel(step.workspace, "openai", "raise SystemExit(9)"),
    ]
    step.write("requirements.txt", "".join(f"./{name}\n" for name in wheels))
    metrics = (step.workspace / "arksim/custom_metrics.py").read_text()
    step.write(
        "arksim/custom_metrics.py",
        metrics.replace("from __future__ import annotations", "from __future__ import annotations\n\nimport shoplib"),
    )
    ended = step.run(
        {
            "overrides": "num_conversations_per_scenario: 1",
            "requirements": "requirements.txt",
            "agent-command": "cd arksim && python -c 'import shoplib' && python agent.py --fixed",
        }
    )
    assert ended.code == 0, ended.log


def test_requirements_that_cant_be_installed_end_with_3(project: Project) -> None:
    step = project.step()
    step.write("requirements.txt", "./not-there\n")
    ended = step.run({"requirements": "requirements.txt", "agent-command": "cd arksim && python agent.py"})
    assert ended.code == 3, ended.log
    assert "pip could not install" in ended.log
    assert "not-there" in ended.log


def test_the_image_says_what_it_is_and_starts_without_a_shell(containers: Docker) -> None:
    entrypoint = containers("image", "inspect", "--format", '{{join .Config.Entrypoint " "}}', IMAGE).split()
    assert entrypoint[-3:] == ["/opt/arksim/bin/python", "-I", "/opt/arksim/entrypoint.py"]
    assert all(part.startswith(("/", "-")) or part.isupper() or "_" in part for part in entrypoint)
    labels = containers("image", "inspect", "--format", "{{json .Config.Labels}}", IMAGE)
    for name in ("title", "description", "source", "documentation", "licenses"):
        assert f"org.opencontainers.image.{name}" in labels
    tools = (
        "for tool in gcc cc make git hatchling; do ! command -v $tool || exit 1; done; ! /opt/arksim/bin/python -m pip"
    )
    containers("run", "--rm", "--entrypoint", "bash", IMAGE, "-c", tools)
