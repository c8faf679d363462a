"""Files that can't be what they should be: a clear sentence, exit 2, nothing written, nobody asked."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.cli import main
from tests.support.fault_server import answer_well
from tests.support.project import Project, arksim_ci, scenario
from tests.support.scripted_server import ScriptedServer

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
YAML: dict[str, tuple[bytes, str]] = {
    "truncated": (b"agent_config: {agent_type: chat_comp", "config.yaml:1"),
    "empty": (b"", "config.yaml"),
    "a list": (b"- a\n- b\n", "mapping"),
    "binary": (bytes(range(256)) * 8, "UTF-8"),
    "UTF-16": ("provider: offline\n".encode("utf-16"), "UTF-8"),
    "UTF-32": ("provider: offline\n".encode("utf-32"), "UTF-8"),
    "a NUL": (b"provider: off\0line\n", "config.yaml"),
    "a key twice": (b"max_turns: 2\nmax_turns: 3\n", "max_turns"),
    "a bomb": (BOMB.encode(), "config.yaml"),
    "an alias of itself": (b"a: &a [*a]\n", "config.yaml"),
    "a Python tag": (b"provider: !!python/object/apply:os.system ['touch hacked']\n", "config.yaml"),
    "a tag of its own": (b"provider: !secret x\n", "config.yaml"),
    "deep": (b"a: " + b"[" * 20_000 + b"]" * 20_000, "config.yaml"),
    "not a number": (b"numeric_thresholds: {faithfulness: .nan}\n", "faithfulness"),
    "infinite": (b"min_pass_rate: .inf\n", "min_pass_rate"),
    "two documents": (b"max_turns: 1\n---\nmax_turns: 2\n", "config.yaml"),
    "large": (b"# " + b"x" * 30_000_000, "MB"),
}
GOOD = json.dumps({"schema_version": "v1", "scenarios": [scenario()]})
JSON: dict[str, tuple[bytes, str]] = {
    "truncated": (GOOD[:-40].encode(), "scenarios.json"),
    "empty": (b"", "scenarios.json"),
    "a list": (f"[{GOOD}]".encode(), "scenarios.json"),
    "binary": (bytes(range(256)) * 8, "UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), "UTF-8"),
    "a key twice": (GOOD.replace('"scenario_id"', '"scenario_id": "other", "scenario_id"').encode(), "scenario_id"),
    "not a number": (GOOD.replace('"v1"', "NaN").encode(), "NaN"),
    "deep": (b"[" * 100_000, "scenarios.json"),
    "a lone surrogate": (GOOD.replace("shoes", "\\ud800").encode(), "scenarios.json"),
    "an unknown key": (GOOD.replace('"goal"', '"gaol"').encode(), 'did you mean "goal"'),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer_well) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: ScriptedServer) -> Project:
    server.requests = {role: [] for role in server.requests}
    made = Project(tmp_path, server)
    made.write()
    return made


@pytest.fixture
def refused(project: Project, server: ScriptedServer, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command that has to end with 2; gives what it said."""

    def run(command: str = "simulate-evaluate", *arguments: str) -> str:
        before = sorted(project.folder.rglob("*"))
        code = main([command, str(project.folder / "config.yaml"), *arguments])
        said = capsys.readouterr()
        assert code == 2, said.err
        assert sorted(project.folder.rglob("*")) == before
        assert not any(server.requests.values())
        assert len(said.err) < 20_000
        assert "Traceback" not in said.err
        assert "internal error" not in said.err
        return said.err

    return run


@pytest.mark.parametrize("kind", YAML)
def test_config(kind: str, project: Project, refused: Callable[..., str]) -> None:
    content, told = YAML[kind]
    (project.folder / "config.yaml").write_bytes(content)
    assert told in refused()


@pytest.mark.parametrize("kind", JSON)
def test_scenarios(kind: str, project: Project, refused: Callable[..., str]) -> None:
    content, told = JSON[kind]
    (project.folder / "scenarios.json").write_bytes(content)
    said = refused()
    assert told in said
    assert "scenarios.json" in said


@pytest.mark.parametrize("kind", JSON)
def test_simulation(kind: str, project: Project, refused: Callable[..., str]) -> None:
    content = JSON[kind][0].replace(b"scenarios", b"conversations").replace(b'"goal"', b'"conversation_id": 7, "goal"')
    (project.folder / "old.json").write_bytes(content)
    assert "old.json" in refused("evaluate", "--simulation_file_path", str(project.folder / "old.json"))


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (["x" * 10_000], "longer than"),
        (["twice", "twice"], "stands twice"),
        ([""], "scenario_id"),
        ([" "], "is empty"),
        (["a\nb"], "line break"),
        (["a\x1b[31m"], "control character"),
        ([7], "scenario_id"),
        ([None], "scenario_id"),
    ],
)
def test_scenario_ids(ids: list[Any], told: str, project: Project, refused: Callable[..., str]) -> None:
    project.scenarios = [scenario(name) for name in ids]
    project.write()
    said = refused()
    assert told in said
    assert "\x1b" not in said


def test_ids_that_look_like_paths_are_names(project: Project) -> None:
    project.scenarios = [scenario(name) for name in ("../../up", "/etc/passwd", "a/b", "C:\\x", "x" * 100, "..", "-rf")]
    project.config |= {"num_conversations_per_scenario": 1, "max_turns": 1}
    finished = project.run()
    assert finished.code == 0, finished.err
    known = (
        "verdict",
        "evaluation",
        "simulation",
        "recommendations",
        "final_report",
        "agent_performance",
        "unique_errors",
    )
    assert all(name.startswith((*known, "focus/", "junit", "results", "journal")) for name in finished.files)
    assert {each.scenario_id for each in finished.simulation.conversations} == {each["scenario_id"] for each in project.scenarios}  # fmt: skip


def test_a_byte_order_mark_is_no_trouble(project: Project) -> None:
    for name in ("config.yaml", "scenarios.json"):
        path = project.folder / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert main(["validate", str(project.folder / "config.yaml")]) == 0


@pytest.mark.parametrize("name", ["config.yaml", "scenarios.json"])
@pytest.mark.parametrize("instead", ["a folder", "endless", "a link to nowhere", "a link to itself", "unreadable"])
def test_what_is_no_file(name: str, instead: str, project: Project, refused: Callable[..., str]) -> None:
    path = project.folder / name
    path.unlink()
    match instead:
        case "a folder":
            path.mkdir()
        case "endless":
            path.symlink_to("/dev/zero")
        case "a link to nowhere":
            path.symlink_to("nowhere")
        case "a link to itself":
            path.symlink_to(name)
        case "unreadable":
            if os.geteuid() == 0:
                pytest.skip("root reads everything")
            path.write_text("x")
            path.chmod(0)
    assert name in refused()


@pytest.mark.parametrize("where", ["is a file", "is a link", "is below a file", "is on a read-only disk"])
def test_an_output_folder_that_cannot_be_used(where: str, project: Project, server: ScriptedServer) -> None:
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    folder = project.folder / "out"
    match where:
        case "is a file":
            folder.write_text("mine")
        case "is a link":
            folder.symlink_to(elsewhere)
        case "is below a file":
            folder.write_text("mine")
            folder = folder / "results"
        case "is on a read-only disk":
            folder = Path("/proc/self/results")
    project.config["output_dir"] = str(folder)
    finished = project.run()
    assert finished.code == 2, finished.err
    assert "output_dir" in finished.err
    assert folder.name in finished.err or "out is a file" in finished.err
    assert server.requests["llm"] == server.requests["agent"] == []
    assert list(elsewhere.iterdir()) == []
    assert not (project.folder / "out").is_file() or (project.folder / "out").read_text() == "mine"


def test_a_link_in_the_place_of_a_result_is_never_written_through(project: Project) -> None:
    project.output_dir.mkdir(parents=True)
    victim = project.folder / "victim"
    victim.write_text("mine")
    names = ("verdict.json", "journal.jsonl", "focus", "final_report.html", "simulation.json")
    for name in names:
        (project.output_dir / name).symlink_to(victim)
    (project.folder / "simulation.json").symlink_to(victim)
    finished = project.run()
    assert victim.read_text() == "mine"
    assert finished.code in (2, 3), finished.out
    assert "symbolic link" in finished.err


def test_a_disk_that_fills_up(project: Project, tmp_path: Path) -> None:
    """What could be written whole is there; the rest is named, and the run is not green."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=False, capture_output=True)  # fmt: skip
    if mounted.returncode:
        pytest.skip("only root can mount a small disk")
    try:
        project.config |= {"output_dir": str(small / "results"), "num_conversations_per_scenario": 1, "max_turns": 2}
        project.write()
        finished = arksim_ci(
            "simulate-evaluate",
            str(project.folder / "config.yaml"),
            output_dir=small / "results",
            cwd=project.folder,
        )
        assert finished.code == 3, finished.out + finished.err
        assert "can't be written (No space left on device)" in finished.err
        for path in (small / "results").rglob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))  # whole, or not there
        assert not list((small / "results").glob(".arksim-*"))
    finally:
        subprocess.run(["umount", str(small)], check=True)
