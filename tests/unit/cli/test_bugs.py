"""A bug of ours at the door: its text is shown, the run's secrets in it are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.cli import main
from tests.unit.config.project import write

SECRET = "sk-0123456789"


async def broken(*_: object, **__: object) -> None:
    raise ValueError(f"no price for the model; key {SECRET}\n::error::forged")


def test_a_bug_says_what_happened_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arksim_ci.pipeline.run.run", broken)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert main(["simulate-evaluate", str(write(tmp_path))]) == 3
    told = capsys.readouterr().err
    assert "internal error: ValueError: no price for the model; key ***" in told
    assert "test_bugs.py" in told
    assert SECRET not in told
    assert not any(line.lstrip().startswith("::") for line in told.splitlines())
