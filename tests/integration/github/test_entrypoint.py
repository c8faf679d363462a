"""The process that GitHub starts: `python -I entrypoint.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# `python -I` takes neither PYTHONPATH nor the current folder, so the package of this checkout is put in its way here.
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy; runpy.run_path({str(ROOT / 'entrypoint.py')!r}, run_name='__main__')"


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "en_US.ISO-8859-1", "nowhere"])
def test_the_log_is_utf_8_whatever_the_job_s_locale_is(tmp_path: Path, locale: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "LC_ALL": locale,
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "INPUT_COMMAND": "größer 🚀",
        "INPUT_API-KEY": "sk_live_canary_0123",
    }
    ended = subprocess.run(
        [sys.executable, "-I", "-c", START], env=environment, cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    log = ended.stdout.decode("utf-8")
    assert ended.returncode == 2, log
    assert ended.stderr == b""
    assert 'input command: "gr' in log
    assert log.startswith("::add-mask::sk_live_canary_0123\n")
    assert "exit-code=2" in (tmp_path / "output").read_text(encoding="utf-8")
    assert "⚠️ Not run" in (tmp_path / "summary").read_text(encoding="utf-8")


def test_what_a_left_over_task_raises_does_not_reach_the_runner(tmp_path: Path) -> None:
    """asyncio reports it when the loop is closed, after the run and its log are over."""
    program = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
import asyncio
import arksim_ci.action as action
async def hostile():
    try:
        await asyncio.sleep(60)
    finally:
        raise ValueError("x\\n::error::forged")
async def run(world):
    asyncio.get_running_loop().kept = asyncio.ensure_future(hostile())
    await asyncio.sleep(0)
    return 0
action.run = run
sys.exit(action.main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert "::error" not in ended.stdout + ended.stderr
