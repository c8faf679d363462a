"""Who may know whom: the rooms of the package, held to their rules by the import graph.

Every import counts, wherever it stands: inside a function or for type checking only, it is knowledge all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "arksim_ci"
ROOT = Path(__file__).resolve().parents[2] / PACKAGE

# Modules of one purpose that know no room: each may be used by whoever carries a run from one end to the other.
LEAVES = {"schema", "retry", "output", "redaction", "progress"}
ROOMS_OF_THE_RUN = {"config", "llm", "agents", "user_code", "simulation", "evaluation", "gates", "reports", "journal"}
USER_CODE_DOOR = {"user_code.host", "user_code.errors"}

MAY_IMPORT: dict[str, set[str]] = {
    "schema": set(),
    "retry": set(),
    "output": set(),
    "redaction": set(),
    "progress": {"schema"},
    "config": {"schema", "retry"},
    "journal": {"schema", "config"},
    "llm": {"schema", "retry", "config"},
    "user_code": {"schema", "retry", "config"},
    "agents": {"schema", "retry", "config", *USER_CODE_DOOR},
    "simulation": {"schema", "retry", "config", "progress", "llm", "agents"},
    "evaluation": {"schema", "retry", "config", "progress", "llm", *USER_CODE_DOOR},
    "gates": {"schema"},
    "reports": {"schema"},
    "github": {"schema", "reports", "retry", "redaction", "output", "config.errors", "config.proxy"},
    "pipeline": LEAVES | ROOMS_OF_THE_RUN,
    "process": LEAVES | ROOMS_OF_THE_RUN | {"pipeline"},
    "api": LEAVES | ROOMS_OF_THE_RUN | {"pipeline", "process"},
    "cli": LEAVES | ROOMS_OF_THE_RUN | {"pipeline", "process"},
    "action": LEAVES | ROOMS_OF_THE_RUN | {"pipeline", "process", "github"},
    "__main__": {"cli"},
}

# These run in a process of their own beside the run: their environment, their output and their end are theirs.
GUESTS = {"user_code/worker.py", "user_code/guest_llm.py", "simulation/template_worker.py"}
READS_ENVIRONMENT = {"config", "github/inputs.py"}
PRINTS = {"cli", "action", "github/workflow.py"}
EXITS = {"cli", "__main__"}


@dataclass(frozen=True)
class Module:
    """A module: its path below the package, its dotted name below it, its source."""

    path: str
    source: str

    @property
    def name(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def room(self) -> str:
        return "" if self.path == "__init__.py" else self.name.split(".")[0]

    def tree(self) -> ast.Module:
        return ast.parse(self.source, self.path)

    def within(self, places: set[str]) -> bool:
        return self.room in places or self.path in places


MODULES = [
    Module(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in sorted(ROOT.rglob("*.py"))
]
NAMES = {module.name for module in MODULES}


def imports(module: Module) -> Iterator[tuple[int, str]]:
    """Each import of ours, with its line: the dotted name below the package, `__init__` for the package itself."""
    for node in ast.walk(module.tree()):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = absolute(module, node)
            found = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "importlib.import_module", "__import__"):
            found = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        for name in found:
            if name == PACKAGE or name.startswith(f"{PACKAGE}."):
                yield getattr(node, "lineno", 0), below(name)


def absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = f"{PACKAGE}.{module.name}".split(".")
    if not module.path.endswith("__init__.py"):
        package = package[:-1]
    parent = package[: len(package) - node.level + 1]
    return ".".join([*parent, *([node.module] if node.module else [])])


def below(name: str) -> str:
    """The module that a dotted name leads to; what is no module is an attribute of the one before."""
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in NAMES:
        parts = parts[:-1]
    return ".".join(parts) or "__init__"


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def may_import(module: Module, target: str) -> bool:
    allowed = MAY_IMPORT[module.room]
    parts = target.split(".")
    return parts[0] == module.room or any(".".join(parts[:depth]) in allowed for depth in range(1, len(parts) + 1))


def forbidden_imports(module: Module) -> list[str]:
    if module.room == "":
        # The package itself is the public door: it may lead everywhere, so no room may go through it.
        return []
    found = []
    for line, target in imports(module):
        if target == "__init__" and only_the_version(module, line):
            continue
        if not may_import(module, target):
            allowed = ", ".join(sorted(MAY_IMPORT[module.room])) or "nothing of ours"
            found.append(f"{module.path}:{line} imports {target}; `{module.room}` may import only: {allowed}")
    return found


def only_the_version(module: Module, line: int) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.lineno == line and [a.name for a in node.names] == ["__version__"]
        for node in ast.walk(module.tree())
    )


def reads_environment(module: Module) -> list[str]:
    names = {"environ", "environb", "getenv", "getenvb", "putenv"}
    return [
        f"{module.path}:{node.lineno} reads the environment; only {', '.join(sorted(READS_ENVIRONMENT))} may"
        for node in ast.walk(module.tree())
        if (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os" and node.attr in names)
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and names & {a.name for a in node.names})
    ]


def calls(module: Module, names: set[str], what: str, allowed: set[str]) -> list[str]:
    return [
        f"{module.path}:{node.lineno} {what}; only {', '.join(sorted(allowed))} may"
        for node in ast.walk(module.tree())
        if isinstance(node, ast.Call) and called(node) in names
    ]


def prints(module: Module) -> list[str]:
    return calls(module, {"print", "sys.stdout.write", "sys.stderr.write"}, "prints", PRINTS)


def exits(module: Module) -> list[str]:
    return calls(module, {"sys.exit", "exit", "quit"}, "ends the process", EXITS)


def test_every_room_has_a_rule() -> None:
    unknown = {module.path for module in MODULES if module.room and module.room not in MAY_IMPORT}
    assert not unknown, f"say in MAY_IMPORT what these may import: {sorted(unknown)}"


def test_rooms_import_only_what_they_may() -> None:
    assert [line for module in MODULES for line in forbidden_imports(module)] == []


def test_only_config_and_the_inputs_read_the_environment() -> None:
    inside = [module for module in MODULES if not module.within(READS_ENVIRONMENT | GUESTS)]
    assert [line for module in inside for line in reads_environment(module)] == []


def test_only_the_doors_print() -> None:
    inside = [module for module in MODULES if not module.within(PRINTS | GUESTS)]
    assert [line for module in inside for line in prints(module)] == []


def test_only_the_command_line_ends_the_process() -> None:
    inside = [module for module in MODULES if not module.within(EXITS | GUESTS)]
    assert [line for module in inside for line in exits(module)] == []


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("gates/x.py", "from arksim_ci.reports import results", 1),
        ("gates/x.py", "import arksim_ci.config.model", 1),
        ("gates/x.py", "def f():\n    from arksim_ci.llm.client import Client", 2),
        ("gates/x.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from arksim_ci.llm import client", 3),
        ("gates/x.py", "from ..llm import client", 1),
        ("gates/__init__.py", "from ..llm import client", 1),
        ("gates/x.py", "from .. import llm", 1),
        ("gates/x.py", "from arksim_ci import run", 1),
        ("gates/x.py", "from arksim_ci import llm", 1),
        ("gates/x.py", "import importlib\nimportlib.import_module('arksim_ci.llm')", 2),
        ("schema/x.py", "from arksim_ci.retry import RetryPolicy", 1),
        ("retry.py", "from arksim_ci.schema.verdict import Verdict", 1),
        ("evaluation/x.py", "from arksim_ci.user_code.serving import serve", 1),
        ("pipeline/x.py", "from arksim_ci.github import client", 1),
        ("cli/x.py", "import arksim_ci.github", 1),
    ],
)
def test_a_forbidden_import_is_found_with_its_line(path: str, source: str, line: int) -> None:
    (found,) = forbidden_imports(Module(path, source))
    assert found.startswith(f"{path}:{line} imports ")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("gates/x.py", "from arksim_ci.schema import verdict\nfrom arksim_ci.gates.rates import at_least"),
        ("gates/x.py", "from . import rates\nfrom ..schema.verdict import Verdict\nimport json"),
        ("evaluation/x.py", "from arksim_ci.user_code.host import Guest\nfrom arksim_ci import __version__"),
        ("llm/x.py", "import arksim_ci_other"),
    ],
)
def test_an_allowed_import_is_not(path: str, source: str) -> None:
    assert forbidden_imports(Module(path, source)) == []


def test_what_reads_prints_and_exits_is_found() -> None:
    environment = ["import os\nos.environ['A']", "import os\nos.getenv('A')", "from os import environ"]
    assert all(len(reads_environment(Module("gates/x.py", source))) == 1 for source in environment)
    assert len(prints(Module("gates/x.py", "import sys\nprint(1)\nsys.stdout.write('')"))) == 2
    assert exits(Module("gates/x.py", "import sys\nsys.exit(1)"))[0].startswith("gates/x.py:2 ends the process")
