from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from arksim_ci.user_code.host import UserCodeHost


class Bench:
    """A host, the log that it wrote, and the questions that it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log: list[str] = []
        self.questions: list[tuple[list[dict[str, Any]], dict[str, Any] | None, str]] = []
        self.answer: Callable[[], object] = lambda: "an answer"
        self.hosts: list[UserCodeHost] = []

    async def ask(self, messages: list[dict[str, Any]], schema: dict[str, Any] | None, name: str) -> object:
        self.questions.append((messages, schema, name))
        return self.answer()

    async def host(
        self, seconds: float = 20, python: Path | None = None, environment: dict[str, str] | None = None, **more: Any
    ) -> UserCodeHost:
        settings: dict[str, Any] = {"ask_llm": self.ask, "model": "gpt-test", "provider": "offline", **more}
        host = UserCodeHost(
            python or Path(sys.executable),
            dict(os.environ) if environment is None else environment,
            call_timeout_seconds=seconds,
            log=self.log.append,
            **settings,
        )
        await host.start()
        self.hosts.append(host)
        return host

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    @property
    def logged(self) -> str:
        return "\n".join(self.log)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for host in bench.hosts:
        await host.close()


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter that has neither our package nor pydantic."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"
