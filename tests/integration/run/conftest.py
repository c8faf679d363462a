"""A scripted server and a project that points at it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.project import ENDED, Project, llm
from tests.support.scripted_server import ScriptedServer


@pytest.fixture(autouse=True)
def exit_codes(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Notes how the runs of a test ended, for the page on reliability."""
    before = len(ENDED)
    yield
    record_property("exit_codes", sorted(set(ENDED[before:])))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(llm()) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: ScriptedServer) -> Project:
    return Project(tmp_path, server)
