"""How to run again only what failed: commands for a terminal, steps for a workflow."""

from __future__ import annotations

import shlex

from arksim_ci.reports.context import ACTION, CommentContext
from arksim_ci.reports.markdown import Markdown, fence
from arksim_ci.reports.results import Results
from arksim_ci.reports.safe_text import one_line

_DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1"
_LONGEST = 2000


def rerun_blocks(results: Results, context: CommentContext) -> tuple[Markdown, ...]:
    """Two code blocks, for a terminal and for a workflow; one where the focus files are on this machine only; none where
    there are no focus files."""
    numbers = [each.number for each in results.errors if each.has_focus_file]
    if not numbers:
        return ()
    first = f"error_{numbers[0]}.json"
    terminal = fence("\n".join(_commands(context, first)), "sh", _LONGEST)
    if context.focus_folder is not None and context.run_id is None:
        return (terminal,)
    return terminal, fence("\n".join(_steps(context, first)), "yaml", _LONGEST)


def scenarios_command(context: CommentContext) -> str:
    """The command for a terminal that runs the scenario file again, beside the results that are there."""
    config, scenarios = (shlex.quote(one_line(path)) for path in (context.config_path, context.scenario_path))
    return f"arksim-ci simulate-evaluate {config} --scenario_file_path {scenarios} --output_dir rerun"


def _commands(context: CommentContext, first: str) -> list[str]:
    """The commands for a terminal: fetch the focus files where they aren't on this machine, rerun one error or all."""
    commands = []
    if context.focus_folder is None:
        run = shlex.quote(one_line(context.run_id)) if context.run_id else "RUN_ID"
        commands.append(f"gh run download {run} --name {shlex.quote(_artifact(context))} --dir focus")
    config = shlex.quote(one_line(context.config_path))
    for name in (first, "all_failures.json"):
        path = shlex.quote(f"{one_line(context.focus_folder or 'focus')}/{name}")
        commands.append(f"arksim-ci simulate-evaluate {config} --scenario_file_path {path} --output_dir rerun")
    return commands


def _steps(context: CommentContext, first: str) -> list[str]:
    return [
        f"- uses: {_DOWNLOAD}",
        "  with:",
        f"    name: {_yaml(_artifact(context))}",
        "    path: focus",
        f"    run-id: {_yaml(context.run_id or 'RUN_ID')}",
        "    github-token: ${{ github.token }}",
        f"- uses: {ACTION}",
        "  with:",
        f"    config: {_yaml(context.config_path)}",
        f"    scenarios: focus/{first}",
    ]


def _artifact(context: CommentContext) -> str:
    return one_line(context.focus_artifact_name or f"{context.artifact_name}-focus")


def _yaml(text: str) -> str:
    """A YAML scalar in single quotes."""
    quoted = one_line(text).replace("'", "''")
    return f"'{quoted}'"
