"""The server that fails as it is told to, one for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fault_server import FaultServer


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with FaultServer() as running:
        yield running
