"""The inputs of a run, as short hashes: only a run with the very same inputs may be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from arksim_ci.config.model import RunConfig
from arksim_ci.config.providers import ProviderSettings
from arksim_ci.schema.verdict import Command

OUTPUT_KEYS: Final = ("output_dir", "output_file_path")
"""Settings that say where results go; they change nothing in them."""
_ENDPOINT_DIGITS: Final = 4
"""Hex digits of the endpoint's hash: enough to notice another endpoint, too few to find a secret in it by trying."""
_CHUNK: Final = 1 << 20


def fingerprint(
    config: RunConfig,
    provider: ProviderSettings,
    command: Command,
    *,
    version: str,
    prompts: str,
    endpoint: str,
    redact: Callable[[str], str],
) -> dict[str, str]:
    """Every input of a run by name, with what tells it from another: a hash, or the thing itself.

    No secret goes in. Files are hashed byte by byte; of a folder in `code_paths` hidden entries, links, `__pycache__` and what
    this run writes are left out.

    Args:
        config: the settings, with absolute paths.
        provider: how the LLM is reached, once variables were read.
        command: what is run.
        version: ours.
        prompts: the hash of all prompts.
        endpoint: the agent's, with every `${VAR}` filled in; "" where it has none.
        redact: replaces secrets.
    """
    settings = config.model_dump(mode="json", exclude=set(OUTPUT_KEYS))
    reached = [provider.provider, provider.model, provider.base_url, provider.azure_deployment]
    agent = config.agent_config.custom_config if config.agent_config else None
    judged = command == "evaluate"
    code = [*config.code_paths, *([config.code_file_path] if config.code_file_path else [])]
    written = {config.output_dir, config.output_file_path, *([config.cache_dir] if config.cache_dir else [])}
    return {
        "the version of arksim-ci": version,
        "the prompts": prompts,
        "the command": command,
        "the configuration": _hash_json([settings, reached], redact),
        "the agent's endpoint": hashlib.sha256(endpoint.encode("utf-8", "replace")).hexdigest()[:_ENDPOINT_DIGITS],
        "the scenario file": _hash_files([config.scenario_file_path]),
        "the metric files": _hash_files(config.custom_metrics_file_paths),
        "the agent's file": _hash_files([agent.module_path] if agent and not judged else []),
        "the agent's source": _hash_files(_all_files(code, written)),
        "the simulation file": _hash_files([config.simulation_file_path] if judged else []),
    }


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of the inputs that differ."""
    return [name for name in dict.fromkeys([*now, *before]) if before.get(name) != now.get(name)]


def _hash_json(value: Any, redact: Callable[[str], str]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(redact(text).encode()).hexdigest()


def _hash_files(paths: Iterable[Path | None]) -> str:
    """One hash over names and bytes; a file that can't be read counts as such."""
    whole = hashlib.sha256()
    for path in paths:
        if path is not None:
            whole.update(f"{path}\0{_hash_file(path)}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def _hash_file(path: Path) -> str:
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                found.update(chunk)
    except OSError:
        return "not readable"
    return found.hexdigest()


def _all_files(paths: Iterable[Path], left_out: Collection[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            here = Path(folder)
            folders[:] = sorted(name for name in folders if _is_source(here / name) and here / name not in left_out)
            yield from (
                here / name for name in sorted(names) if _is_source(here / name) and here / name not in left_out
            )


def _is_source(path: Path) -> bool:
    if path.name.startswith(".") or path.name == "__pycache__":
        return False
    return not path.is_symlink() and (path.is_file() or path.is_dir())
