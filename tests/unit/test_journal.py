"""The journal: what a run writes as it goes, and what another one reads of it, whatever happened to the file."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arksim_ci.config.model import AgentConfig, CustomConfig, RunConfig
from arksim_ci.config.providers import ProviderSettings
from arksim_ci.journal.file import Journal, read_journal
from arksim_ci.journal.fingerprint import changed, fingerprint
from arksim_ci.journal.lines import (
    Header,
    completion_line,
    conversation_line,
    encoded,
    header_line,
    judgement_line,
    read_lines,
)
from arksim_ci.redaction import redactor
from arksim_ci.schema.judgement import Judgement, Measured
from arksim_ci.schema.simulation import Conversation, Message, SimulatedUserPrompt, ToolCall

HEADER = Header(inputs={"a": "1"}, simulation_id="s", evaluation_id="e", started_at="2026-01-01T00:00:00Z")


def conversation(conversation_id: str = "c0", text: str = "Hello") -> Conversation:
    call = ToolCall(id="1", name="find", arguments={"a": None, "b": [1.5, {"c": "день"}]})
    return Conversation(
        conversation_id=conversation_id,
        scenario_id="returns",
        conversation_history=[
            Message(turn_id=0, message_id="m1", role="simulated_user", content=text),
            Message(turn_id=0, message_id="m2", role="assistant", content=text, tool_calls=[call]),
        ],
        simulated_user_prompt=SimulatedUserPrompt(simulated_user_prompt_template="t", variables={"k": [None]}),
        attempts=2,
    )


def judgement(conversation_id: str = "c0", value: float | str = 4.5) -> Judgement:
    measured = Measured(metric="clarity", value=value, reason="r", metadata={"x": [None, 1]})
    return Judgement(conversation_id=conversation_id, turn_id=0, measured=(measured,))


LINES = [
    encoded(header_line(HEADER)),
    encoded(judgement_line(judgement())),
    encoded(conversation_line(0, conversation())),
    encoded(judgement_line(judgement("c1", "no failure"))),
    encoded(conversation_line(3, conversation("c1"))),
]


class TestLines:
    def test_what_is_written_is_read_back_as_it_was(self) -> None:
        read = read_lines(LINES)
        assert read is not None
        assert read.header == HEADER
        assert read.conversations == {0: conversation(), 3: conversation("c1")}
        assert read.judgements == (judgement(), judgement("c1", "no failure"))
        assert (read.complete, read.damaged) == (False, 0)

    def test_the_last_line_of_a_complete_run(self) -> None:
        read = read_lines([*LINES, encoded(completion_line())])
        assert read is not None
        assert read.complete

    @pytest.mark.parametrize("cut", range(1, len(LINES[4]) + 1, 7))
    def test_a_torn_last_line_is_left_out_silently(self, cut: int) -> None:
        read = read_lines([*LINES[:4], LINES[4][:-cut]])
        assert read is not None
        assert list(read.conversations) == [0]
        assert read.damaged == 0

    @pytest.mark.parametrize(
        "line",
        [
            b"\n",
            b"{}\n",
            b"\xff\xfe\x00\n",
            b'{"judgement": {"conversation_id": "c"}}\n',
            b'{"judgement":{"conversation_id":"c","turn_id":0,"measured":[{"metric":"m","value":NaN,"reason":"r"}]}}\n',
            b'{"conversation":{"number":-1,"conversation":null}}\n',
            b'{"conversation":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
            b'{"complete":false}\n',
            b'{"judgement":' + b"9" * 5_000 + b"}\n",
        ],
    )
    def test_a_damaged_line_costs_itself_only(self, line: bytes) -> None:
        read = read_lines([*LINES[:3], line, *LINES[3:]])
        assert read is not None
        assert set(read.conversations) == {0, 3}
        assert read.damaged == 1
        assert not read.complete

    @pytest.mark.parametrize("first", [b"", b"hello\n", b'{"run":7}\n', b'{"run":{"format":1}}\n', LINES[0][:-1]])
    def test_without_a_header_there_is_no_journal(self, first: bytes) -> None:
        assert read_lines([first, *LINES[1:]]) is None

    def test_a_journal_of_another_format_is_none(self) -> None:
        other = HEADER.model_copy(update={"format": 2})
        assert read_lines([encoded(header_line(other)), *LINES[1:]]) is None

    @pytest.mark.parametrize("text", ["\ud800 \u2028 \x00 \n\r", "день 😀", '"}]\\'])
    def test_any_text_is_one_line(self, text: str) -> None:
        line = encoded({"conversation": {"text": text}})
        assert line.count(b"\n") == 1
        assert json.loads(line)["conversation"]["text"] == text


class TestFile:
    def test_every_line_is_there_when_append_returns(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        journal = Journal.begin(path, header_line(HEADER))
        journal.append(judgement_line(judgement()))
        assert path.read_bytes() == LINES[0] + LINES[1]
        journal.close()

    @pytest.mark.parametrize("tail", [b"", b'{"judgement":', b'{"judgement":' + b"x" * 200_000])
    def test_a_torn_end_is_cut_off_before_more_is_written(self, tmp_path: Path, tail: bytes) -> None:
        path = tmp_path / "journal.jsonl"
        path.write_bytes(b"".join(LINES) + tail)
        journal = Journal.go_on(path)
        journal.append(completion_line())
        journal.close()
        assert path.read_bytes() == b"".join(LINES) + b'{"complete":true}\n'

    def test_beginning_replaces_what_stands_there(self, tmp_path: Path) -> None:
        path, target = tmp_path / "journal.jsonl", tmp_path / "target"
        target.write_text("precious", encoding="utf-8")
        path.symlink_to(target)
        Journal.begin(path, header_line(HEADER)).close()
        assert not path.is_symlink()
        assert target.read_text(encoding="utf-8") == "precious"

    @pytest.mark.parametrize(
        "make", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo, lambda path: path.mkdir()]
    )
    def test_what_is_no_file_is_not_read(self, tmp_path: Path, make: Callable[[Path], None]) -> None:
        path = tmp_path / "journal.jsonl"
        make(path)
        assert read_journal(path) is None

    def test_a_link_is_not_gone_on_with(self, tmp_path: Path) -> None:
        path, target = tmp_path / "journal.jsonl", tmp_path / "target"
        target.write_bytes(b"".join(LINES))
        path.symlink_to(target)
        with pytest.raises(OSError, match="symbolic"):
            Journal.go_on(path)
        assert target.read_bytes() == b"".join(LINES)

    def test_a_full_disk_costs_the_journal_and_nothing_else(self) -> None:
        journal = Journal(os.open("/dev/full", os.O_WRONLY))
        journal.append(completion_line())
        assert journal.trouble == "No space left on device"
        journal.append(completion_line())
        journal.close()

    def test_its_size_grows_with_what_is_finished_and_no_faster(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        journal = Journal.begin(path, header_line(HEADER))
        sizes = []
        for number in range(400):
            journal.append(conversation_line(number, conversation(f"c{number:03d}")))
            journal.append(judgement_line(judgement(f"c{number:03d}")))
            sizes.append(path.stat().st_size)
        journal.close()
        steps = {after - before for before, after in itertools.pairwise(sizes[200:])}
        assert len(steps) == 1


class Inputs:
    """A project on disk, and the fingerprint of a run of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in (
            "scenarios.json",
            "metric.py",
            "agent.py",
            "simulation.json",
            "src/tools.py",
            "src/.env",
            "one.py",
        ):
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"# {name}\n", encoding="utf-8")
        agent = AgentConfig(
            agent_type="custom", agent_name="a", custom_config=CustomConfig(module_path=folder / "agent.py")
        )
        self.config: dict[str, Any] = {
            "agent_config": agent,
            "scenario_file_path": folder / "scenarios.json",
            "simulation_file_path": folder / "simulation.json",
            "custom_metrics_file_paths": (folder / "metric.py",),
            "code_paths": (folder / "src",),
            "code_file_path": folder / "one.py",
            "output_dir": folder / "src" / "results",
            "output_file_path": folder / "src" / "simulation.json",
        }
        self.run: dict[str, Any] = {
            "version": "1.0",
            "prompts": "p",
            "endpoint": "http://127.0.0.1/agent",
            "redact": redactor(["secret-value"]),
        }
        self.command: Any = "simulate-evaluate"
        self.provider = ProviderSettings("openai", "m", "http://127.0.0.1/v1", "key", "OPENAI_API_KEY")

    def fingerprint(self) -> dict[str, str]:
        return fingerprint(RunConfig(**self.config), self.provider, self.command, **self.run)


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(tmp_path)


def append(name: str) -> Callable[[Inputs], None]:
    def change(inputs: Inputs) -> None:
        with (inputs.folder / name).open("a", encoding="utf-8") as file:
            file.write(" ")

    return change


def write(name: str) -> Callable[[Inputs], None]:
    def change(inputs: Inputs) -> None:
        path = inputs.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")

    return change


class TestFingerprint:
    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("the version of arksim-ci", lambda inputs: inputs.run.update(version="1.1")),
            ("the prompts", lambda inputs: inputs.run.update(prompts="q")),
            ("the command", lambda inputs: setattr(inputs, "command", "simulate")),
            ("the configuration", lambda inputs: inputs.config.update(max_turns=2)),
            (
                "the configuration",
                lambda inputs: setattr(
                    inputs, "provider", ProviderSettings("openai", "m", "http://other/v1", "key", "OPENAI_API_KEY")
                ),
            ),
            ("the agent's endpoint", lambda inputs: inputs.run.update(endpoint="http://127.0.0.1/other")),
            ("the scenario file", append("scenarios.json")),
            ("the metric files", append("metric.py")),
            ("the agent's file", append("agent.py")),
            ("the agent's source", append("src/tools.py")),
            ("the agent's source", append("one.py")),
            ("the agent's source", write("src/new.py")),
            ("the agent's source", lambda inputs: (inputs.folder / "src/tools.py").unlink()),
            ("the agent's source", lambda inputs: (inputs.folder / "src/tools.py").rename(inputs.folder / "src/t.py")),
        ],
    )
    def test_each_input_makes_it_another_run(
        self, inputs: Inputs, name: str, change: Callable[[Inputs], object]
    ) -> None:
        before = inputs.fingerprint()
        assert inputs.fingerprint() == before
        change(inputs)
        assert changed(before, inputs.fingerprint()) == [name]

    @pytest.mark.parametrize(
        "change",
        [
            lambda inputs: inputs.config.update(output_dir=inputs.folder / "elsewhere"),
            lambda inputs: inputs.config.update(output_file_path=inputs.folder / "elsewhere.json"),
            write("src/results/verdict.json"),
            write("src/simulation.json"),
            write("src/__pycache__/tools.pyc"),
            append("src/.env"),
            lambda inputs: (inputs.folder / "src/link.py").symlink_to("/etc/passwd"),
            append("simulation.json"),
            lambda inputs: setattr(
                inputs, "provider", ProviderSettings("openai", "m", "http://127.0.0.1/v1", "rotated", "OTHER_KEY")
            ),
        ],
    )
    def test_what_changes_nothing_in_the_results_is_no_input(
        self, inputs: Inputs, change: Callable[[Inputs], object]
    ) -> None:
        before = inputs.fingerprint()
        change(inputs)
        assert changed(before, inputs.fingerprint()) == []

    def test_the_simulation_file_is_an_input_of_evaluate_and_the_agents_file_is_not(self, inputs: Inputs) -> None:
        inputs.command = "evaluate"
        before = inputs.fingerprint()
        append("agent.py")(inputs)
        assert changed(before, inputs.fingerprint()) == []
        append("simulation.json")(inputs)
        assert changed(before, inputs.fingerprint()) == ["the simulation file"]

    def test_a_secret_changes_nothing_and_can_not_be_found_by_trying(self, inputs: Inputs) -> None:
        inputs.config["base_url"] = "http://127.0.0.1/v1?key=secret-value"
        before = inputs.fingerprint()
        inputs.config["base_url"] = "http://127.0.0.1/v1?key=other-secret"
        inputs.run["redact"] = redactor(["other-secret"])
        assert changed(before, inputs.fingerprint()) == []
        assert len(before["the agent's endpoint"]) == 4
