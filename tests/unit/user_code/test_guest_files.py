"""What runs in the worker process needs nothing but the standard library."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "arksim_ci" / "user_code"
ROOM = "arksim_ci.user_code."
USERS_OWN = {"pydantic", "agents"}
"""Imported where the user's interpreter has them, done without where it has not."""


def imports(name: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "arksim_ci.user_code":
            found |= {ROOM + item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    return found


def guest_files() -> list[str]:
    waiting, seen = ["worker", "serving"], []
    while waiting:
        name = waiting.pop()
        seen.append(name)
        inner = {item.removeprefix(ROOM) for item in imports(name) if item.startswith(ROOM)}
        waiting += sorted(inner - set(seen) - set(waiting))
    return sorted(seen)


@pytest.mark.parametrize("name", guest_files())
def test_a_guest_file_imports_the_standard_library_only(name: str) -> None:
    others = {item.partition(".")[0] for item in imports(name) if not item.startswith(ROOM)}
    assert others - USERS_OWN <= set(sys.stdlib_module_names)


def test_the_host_is_not_among_them() -> None:
    assert {"serving", "loading", "metric_classes"} <= set(guest_files())
    assert not {"host", "calls", "process", "errors"} & set(guest_files())
