"""A scripted server and a project that points at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project import Project, llm
from tests.support.scripted_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(llm()) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: ScriptedServer) -> Project:
    return Project(tmp_path, server)
