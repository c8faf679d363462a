"""Prompts are Jinja2 templates in `llm/prompts/`; what comes from a conversation goes in as JSON, never as loose text."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import jinja2

_FOLDER = Path(__file__).parent / "prompts"


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(  # noqa: S701  (plain text for an LLM, not HTML)
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    environment.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment


def render(template: str, variables: Mapping[str, object]) -> str:
    """Render `llm/prompts/<template>.j2`. The filter `json` turns a value into one JSON text."""
    return _template(template).render(**variables)


@functools.cache
def _template(name: str) -> jinja2.Template:
    return _environment().get_template(f"{name}.j2")


def sources() -> dict[str, str]:
    """Every template by name, as it stands on disk: what `show-prompts` prints and the prompts' hash covers."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.j2"))}


def prompts_hash() -> str:
    """Twelve hex digits that change with any prompt: scores made with other prompts can't be compared."""
    whole = json.dumps(sources(), sort_keys=True)
    return hashlib.sha256(whole.encode("utf-8")).hexdigest()[:12]
