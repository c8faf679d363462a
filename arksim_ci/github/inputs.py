"""The action's inputs: read from `INPUT_*` only, all checked at once, frozen."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast
from urllib.parse import urlsplit

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.github.context import GitHubContext

Command = Literal["simulate-evaluate", "evaluate", "comment"]
CommentMode = Literal["always", "on-failure", "off"]
OnMissingSecrets = Literal["fail", "skip"]

COMMANDS: Final = ("simulate-evaluate", "evaluate", "comment")
COMMENT_MODES: Final = ("always", "on-failure", "off")
ON_MISSING_SECRETS: Final = ("fail", "skip")
NAMES: Final = (
    "config",
    "command",
    "scenarios",
    "overrides",
    "provider",
    "model",
    "base-url",
    "api-key",
    "github-token",
    "comment",
    "comment-key",
    "top-errors",
    "upload-artifacts",
    "artifact-name",
    "retention-days",
    "requirements",
    "setup-command",
    "agent-command",
    "agent-health-url",
    "agent-startup-timeout-seconds",
    "fail-on-gate",
    "on-missing-secrets",
    "allow-untrusted-code",
    "run-id",
)
"""Every input, in the order of the documentation."""
OF_THE_COMPOSITE: Final = ("python",)
"""What the composite action has besides; it is read before any of ours runs."""

MOST_TOP_ERRORS: Final = 100
MOST_RETENTION_DAYS: Final = 400
MOST_STARTUP_SECONDS: Final = 3600
_OF_THE_RUNNER = {"ENTRYPOINT", "ARGS"}
_FORBIDDEN_IN_ARTIFACT_NAMES = '":<>|*?\\/'
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Inputs:
    """What the user set. Texts are empty where an input is unset; paths are absolute.

    `provider`, `model`, `base_url` and `overrides` are checked with the configuration that they override. `warnings` are plain
    sentences about inputs that do nothing.
    """

    config: Path
    command: Command
    scenarios: Path | None
    overrides: str
    provider: str
    model: str
    base_url: str
    api_key: str = field(repr=False)
    github_token: str = field(repr=False)
    comment: CommentMode
    comment_key: str
    top_errors: int
    upload_artifacts: bool
    artifact_name: str
    retention_days: int | None
    requirements: Path | None
    setup_command: str
    agent_command: str
    agent_health_url: str
    agent_startup_timeout_seconds: float
    fail_on_gate: bool
    on_missing_secrets: OnMissingSecrets
    allow_untrusted_code: bool
    run_id: int | None
    warnings: tuple[str, ...] = ()


def read_inputs(environment: Mapping[str, str], context: GitHubContext) -> Inputs:
    """Read and check every input.

    Args:
        environment: the process's variables; an empty `INPUT_*` counts as unset.
        context: where the action runs; relative paths start from its workspace.

    Raises:
        ConfigError: with every input that is wrong, and what it allows.
    """
    reader = _Reader(environment, context)
    inputs = Inputs(
        config=reader.path("config", required=True) or context.workspace / "arksim/config.yaml",
        command=cast(Command, reader.choice("command", COMMANDS, "simulate-evaluate")),
        scenarios=reader.path("scenarios"),
        overrides=reader.text("overrides"),
        provider=reader.text("provider"),
        model=reader.text("model"),
        base_url=reader.text("base-url"),
        api_key=reader.header_value("api-key"),
        github_token=reader.header_value("github-token"),
        comment=cast(CommentMode, reader.choice("comment", COMMENT_MODES, "always")),
        comment_key=reader.one_line("comment-key") or f"{context.workflow}/{context.job}/0",
        top_errors=reader.whole("top-errors", 0, MOST_TOP_ERRORS) if reader.text("top-errors") else 5,
        upload_artifacts=reader.flag("upload-artifacts", default=True),
        artifact_name=reader.artifact_name("artifact-name") or "arksim",
        retention_days=(
            reader.whole("retention-days", 1, MOST_RETENTION_DAYS) if reader.text("retention-days") else None
        ),
        requirements=reader.path("requirements"),
        setup_command=reader.text("setup-command"),
        agent_command=reader.text("agent-command"),
        agent_health_url=reader.url("agent-health-url"),
        agent_startup_timeout_seconds=reader.seconds("agent-startup-timeout-seconds", 60.0, MOST_STARTUP_SECONDS),
        fail_on_gate=reader.flag("fail-on-gate", default=True),
        on_missing_secrets=cast(OnMissingSecrets, reader.choice("on-missing-secrets", ON_MISSING_SECRETS, "fail")),
        allow_untrusted_code=reader.flag("allow-untrusted-code", default=False),
        run_id=reader.whole("run-id", 1, 10**18) if reader.text("run-id") else None,
        warnings=tuple(_unknown(environment)),
    )
    problems = [*reader.problems, *_contradictions(inputs, reader)]
    if problems:
        raise ConfigError(*problems)
    return inputs


def variable(name: str) -> str:
    """The variable in which the runner passes an input: hyphens stay, letters are upper-case."""
    return f"INPUT_{name.upper()}"


def _contradictions(inputs: Inputs, reader: _Reader) -> list[Problem]:
    """Inputs that are right alone and wrong together."""
    found = []
    if inputs.command == "comment":
        if not reader.text("run-id"):
            found.append(
                Problem(
                    "is missing: with `command: comment` it names the run whose results to publish, as in "
                    "${{ github.event.workflow_run.id }}",
                    "input run-id",
                )
            )
        if inputs.comment == "off":
            found.append(
                Problem("`off` leaves `command: comment` nothing to do; allowed: always, on-failure", "input comment")
            )
    if inputs.agent_health_url and not inputs.agent_command:
        found.append(
            Problem(
                "is set without agent-command: it tells when the agent that agent-command starts is up",
                "input agent-health-url",
            )
        )
    return found


def _unknown(environment: Mapping[str, str]) -> list[str]:
    """Inputs that nobody reads; GitHub passes them all the same."""
    found = []
    for key in sorted(environment):
        name = key.removeprefix("INPUT_")
        if name == key or name in _OF_THE_RUNNER or name.lower() in NAMES or not environment[key].strip():
            continue
        near = difflib.get_close_matches(name.lower().replace("_", "-"), NAMES, n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        found.append(f'the action has no input "{name.lower()[:80]}"{hint}')
    return found


class _Reader:
    """Reads single inputs, and keeps what is wrong with them."""

    def __init__(self, environment: Mapping[str, str], context: GitHubContext) -> None:
        self._environment = environment
        self._workspace = context.workspace
        self._limits = context.limits
        self.problems: list[Problem] = []

    def text(self, name: str) -> str:
        return self._environment.get(variable(name), "").strip()

    def wrong(self, name: str, message: str) -> None:
        self.problems.append(Problem(message, f"input {name}"))

    def one_line(self, name: str) -> str:
        value = self.text(name)
        if len(value) > _LONGEST_NAME or not value.isprintable():
            self.wrong(name, f"must be one line of at most {_LONGEST_NAME} printable characters")
            return ""
        return value

    def header_value(self, name: str) -> str:
        """A key or token. The value itself is never repeated."""
        value = self.text(name)
        if not (value.isascii() and value.isprintable()) or " " in value:
            self.wrong(
                name, "holds a space, a line break or another character that no key has; check how the secret was saved"
            )
            return ""
        return value

    def choice(self, name: str, allowed: Sequence[str], default: str) -> str:
        value = self.text(name) or default
        if value not in allowed:
            near = difflib.get_close_matches(value.lower().replace("_", "-"), allowed, n=1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            self.wrong(name, f'"{_short(value)}" is not allowed; allowed: {", ".join(allowed)}{hint}')
            return default
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.text(name).lower()
        if value not in ("", "true", "false"):
            self.wrong(name, f'"{_short(value)}" is not allowed; allowed: true, false')
        return {"true": True, "false": False}.get(value, default)

    def whole(self, name: str, lowest: int, highest: int) -> int:
        value = self.text(name)
        number = int(value) if re.fullmatch(r"\d{1,19}", value, re.ASCII) else -1
        if not lowest <= number <= highest:
            shown = f"{highest:,}" if highest < 10**6 else "any size"
            self.wrong(name, f'"{_short(value)}" is not allowed; allowed: a whole number from {lowest} to {shown}')
        return number

    def seconds(self, name: str, default: float, highest: float) -> float:
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError:
            number = math.nan
        if not 0 < number <= highest:
            self.wrong(
                name, f'"{_short(value)}" is not allowed; allowed: a number of seconds above 0, up to {highest:g}'
            )
        return number

    def url(self, name: str) -> str:
        value = self.text(name)
        try:
            parts = urlsplit(value)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            usable = False
        if value and (not usable or re.search(r"\s", value)):
            self.wrong(name, "must be a URL that begins with http:// or https:// and names a host")
            return ""
        return value

    def artifact_name(self, name: str) -> str:
        value = self.one_line(name)
        bad = sorted({character for character in value if character in _FORBIDDEN_IN_ARTIFACT_NAMES})
        if bad:
            self.wrong(
                name, f"holds {' '.join(bad)}; an artifact's name can't hold {' '.join(_FORBIDDEN_IN_ARTIFACT_NAMES)}"
            )
        return value

    def path(self, name: str, *, required: bool = False) -> Path | None:
        """A file inside of the workspace; `required` files are looked for even where the input is unset."""
        value = self.text(name) or ("arksim/config.yaml" if required else "")
        if not value:
            return None
        if "\x00" in value or "\n" in value:
            self.wrong(name, "must be the path of one file, relative to the workspace")
            return None
        path = Path(os.path.normpath(self._workspace / value))
        if not path.is_relative_to(self._workspace):
            self.wrong(
                name,
                f'"{_short(value)}" is outside of the workspace; {self._limits}. Give a path relative to the workspace',
            )
        return path


def _short(text: str) -> str:
    """What was found, for an error: one line, not too long."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown if len(shown) <= 100 else f"{shown[:100]}…"
