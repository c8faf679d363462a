"""The action's inputs: read from `INPUT_*` only, all checked at once, frozen."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, cast

from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.github.context import GitHubContext
from arksim_ci.github.input_reader import InputReader, variable
from arksim_ci.redaction import SHORTEST

__all__ = [
    "COMMANDS",
    "COMMENT_MODES",
    "NAMES",
    "OF_THE_COMPOSITE",
    "ON_MISSING_SECRETS",
    "Inputs",
    "given_secrets",
    "read_inputs",
    "variable",
]

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
    reader = InputReader(environment, context)
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
        comment_key=reader.key("comment-key", f"{context.workflow}/{context.job}/0"),
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
        warnings=(*_unknown(environment), *_short(reader.text("api-key"))),
    )
    problems = [*reader.problems, *_contradictions(inputs, reader)]
    if problems:
        raise ConfigError(*problems)
    return inputs


class GivenSecrets(NamedTuple):
    """What a step was given directly and nobody may see; empty where it was not given."""

    api_key: str
    github_token: str
    runtime_token: str


def given_secrets(environment: Mapping[str, str], context: GitHubContext) -> GivenSecrets:
    """The secrets of a step, whether its inputs are right or not."""
    key, token = (environment.get(variable(name), "").strip() for name in ("api-key", "github-token"))
    return GivenSecrets(key, token, context.runtime_token)


def _contradictions(inputs: Inputs, reader: InputReader) -> list[Problem]:
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


def _short(api_key: str) -> list[str]:
    if not 0 < len(api_key) < SHORTEST:
        return []
    return [f"the input api-key is shorter than {SHORTEST} characters, so it is not hidden in what is written"]
