"""`schema` and `show-prompts`: texts on standard output."""

from __future__ import annotations

import argparse
import json

from arksim_ci.gates.exit_codes import EXIT_OK


def print_schema(options: argparse.Namespace, _: list[str]) -> int:
    """Print the JSON Schema of one kind of file."""
    from arksim_ci.config.json_schema import json_schema  # noqa: PLC0415  (reads every model)

    print(json.dumps(json_schema(options.file), indent=2, ensure_ascii=False))
    return EXIT_OK


def print_prompts(_: argparse.Namespace, __: list[str]) -> int:
    """Print every prompt template, and the hash that reports show."""
    from arksim_ci.llm.render import prompts_hash, sources  # noqa: PLC0415

    print(f"# The prompts of this version; their hash is {prompts_hash()}\n")
    for name, text in sources().items():
        print(f"## {name}\n\n{text.rstrip()}\n")
    return EXIT_OK
