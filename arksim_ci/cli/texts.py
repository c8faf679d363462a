"""`schema` and `show-prompts`: texts on standard output."""

from __future__ import annotations

import argparse
import json
import os
import sys

from arksim_ci.gates.exit_codes import EXIT_OK


def print_schema(options: argparse.Namespace, _: list[str]) -> int:
    """Print the JSON Schema of one kind of file."""
    from arksim_ci.config.json_schema import json_schema  # noqa: PLC0415  (reads every model)

    return _print(json.dumps(json_schema(options.file), indent=2, ensure_ascii=False))


def print_prompts(_: argparse.Namespace, __: list[str]) -> int:
    """Print every prompt template, and the hash that reports show."""
    from arksim_ci.llm.render import prompts_hash, sources  # noqa: PLC0415

    prompts = "".join(f"\n## {name}\n\n{text.rstrip()}\n" for name, text in sources().items())
    return _print(f"# The prompts of this version; their hash is {prompts_hash()}\n{prompts}")


def _print(text: str) -> int:
    """Print a text, or as much of it as whoever reads wants: `| head` is no failure."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more when it ends
    return EXIT_OK
