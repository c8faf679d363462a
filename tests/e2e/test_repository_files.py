"""Workflows, action.yml, Dockerfile and forms, held to GitHub's schemas and to the checkers that the field uses."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import arksim_ci
from tests.support.tools import ROOT, lint_tools

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("lint")]  # the first run installs the tools

OURS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
EXAMPLES = sorted((ROOT / "examples" / "workflows").glob("*.yml"))
STARTER = ROOT / "examples" / "starter" / "workflow.yml"
WORKFLOWS = [*OURS, *EXAMPLES, STARTER]
ACTION = ROOT / "action.yml"
COMPOSITE = ROOT / "composite" / "action.yml"
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
README_WORKFLOW = re.compile(r"```yaml\n(name: .*?)```", re.DOTALL)


def names(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def run(*command: str, allowed: tuple[int, ...] = (0,)) -> str:
    tool, *arguments = command
    done = subprocess.run(
        [str(lint_tools() / tool), *arguments], capture_output=True, text=True, cwd=ROOT, timeout=300, check=False
    )
    assert done.returncode in allowed, done.stdout[-6000:] + done.stderr[-6000:]
    return done.stdout + done.stderr


def load(path: Path) -> Any:
    """A workflow; `on` is a word to YAML 1.1's ears, not a key."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["on"] = document.pop(True, document.get("on"))
    return document


def steps(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", [*OURS, *EXAMPLES]),
        ("vendor.github-actions", [ACTION, COMPOSITE]),
        ("vendor.dependabot", [ROOT / ".github" / "dependabot.yml"]),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_follow_githubs_schemas(schema: str, paths: list[Path]) -> None:
    assert paths
    run("check-jsonschema", "--builtin-schema", schema, *names(paths))


def test_workflows_pass_actionlint() -> None:
    run("actionlint", "-shellcheck=", "-pyflakes=", *names(WORKFLOWS))


def test_zizmor_finds_nothing() -> None:
    run(
        "zizmor",
        "--offline",
        "--no-progress",
        "--config",
        ".github/zizmor.yml",
        *names(WORKFLOWS),
        "action.yml",
        "composite/action.yml",
        ".github/dependabot.yml",
    )


def test_the_dockerfile_passes_hadolint() -> None:
    run("hadolint", "Dockerfile")


@pytest.mark.parametrize(
    ("tool", "name", "text"),
    [
        (
            "actionlint",
            "w.yml",
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps: [{run: 'echo ${{ nope.x }}'}]\n",
        ),
        ("zizmor", "w.yml", "on: pull_request_target\njobs:\n  a:\n    runs-on: x\n    steps: [{uses: 'a/b@main'}]\n"),
        ("hadolint", "Dockerfile", "FROM debian\nRUN cd /tmp\n"),
    ],
)
def test_the_checkers_would_find_something(tool: str, name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    arguments = {"zizmor": ["--offline", "--no-progress"], "actionlint": ["-shellcheck="]}.get(tool, [])
    done = subprocess.run(
        [str(lint_tools() / tool), *arguments, str(tmp_path / name)], capture_output=True, timeout=100, check=False
    )
    assert done.returncode != 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_give_no_more_than_needed(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    assert all("permissions" in job for job in workflow["jobs"].values())
    for step in steps(workflow):
        uses = step.get("uses", "")
        if uses.startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        if uses and not uses.startswith("./") and not uses.startswith("org/arksim-action"):
            assert re.search(r"@[0-9a-f]{40}$", uses), uses


@pytest.mark.parametrize("path", [*EXAMPLES, STARTER, *OURS], ids=lambda path: path.name)
def test_workflows_use_inputs_and_outputs_that_exist(path: Path) -> None:
    ours = [step for step in steps(load(path)) if re.match(r"\./|org/arksim-action\b", step.get("uses", ""))]
    assert ours or path in OURS
    for step in ours:
        action = yaml.safe_load((COMPOSITE if "/composite" in step["uses"] else ACTION).read_text(encoding="utf-8"))
        assert set(step.get("with", {})) <= set(action["inputs"])
        for output in re.findall(rf"steps\.{step.get('id', '-')}\.outputs\.([\w-]+)", path.read_text(encoding="utf-8")):
            assert output in action["outputs"]


def test_the_readmes_workflow_is_one_too(tmp_path: Path) -> None:
    found = README_WORKFLOW.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    path = tmp_path / "workflow.yml"
    path.write_text(found[1])
    run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(path))
    run("actionlint", "-shellcheck=", "-pyflakes=", str(path))


def test_the_list_of_examples_is_complete() -> None:
    listed = set(re.findall(r"\(([\w-]+\.yml)\)", (ROOT / "examples" / "workflows" / "README.md").read_text()))
    assert listed == {path.name for path in EXAMPLES}


def test_every_action_is_used_in_one_version() -> None:
    versions: dict[str, set[str]] = {}
    for path in [*WORKFLOWS, COMPOSITE]:
        for name, version in re.findall(r"uses: ([\w./-]+)@(\S+ *#? *\S*)", path.read_text(encoding="utf-8")):
            versions.setdefault(name, set()).add(version.strip())
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


def release_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("point_at_image", ROOT / ".github" / "release" / "point_at_image.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_release_points_action_yml_at_exactly_its_image() -> None:
    image = f"ghcr.io/org/arksim-action:{arksim_ci.__version__}@sha256:{'0a' * 32}"
    text = ACTION.read_text(encoding="utf-8")
    released = release_tool().pointed_at(text, image)
    before, after = yaml.safe_load(text), yaml.safe_load(released)
    assert before["runs"] == {**after["runs"], "image": "Dockerfile"}
    assert after["runs"]["image"] == f"docker://{image}"
    assert {key: value for key, value in before.items() if key != "runs"} == {
        key: value for key, value in after.items() if key != "runs"
    }
    assert f"IMAGE: {image.split(':')[0]}" in (ROOT / ".github" / "workflows" / "release.yml").read_text()
    for wrong in ("", "ghcr.io/org/arksim-action:1.2.3", f"docker.io/x:1.2.3@sha256:{'0' * 64}", image + "\n"):
        with pytest.raises(ValueError, match="no image on ghcr"):
            release_tool().pointed_at(text, wrong)
    with pytest.raises(ValueError, match="exactly once"):
        release_tool().pointed_at(released, image)
