"""What the action publishes of a run of the gate."""

from __future__ import annotations

from pathlib import Path

from arksim_ci.action.job import Job
from arksim_ci.action.results import scenario_lines
from arksim_ci.config.model import RunConfig
from arksim_ci.github.gate_changes import repository_path
from arksim_ci.github.publish import Publication
from arksim_ci.pipeline.run import RunResult
from arksim_ci.reports.context import CommentContext


def report_context(job: Job, config: RunConfig) -> CommentContext:
    """What every text says of where things are."""
    context, scenarios = job.context, config.scenario_file_path
    return CommentContext(
        top_errors=job.inputs.top_errors,
        config_path=repository_path(job.inputs.config, context.workspace),
        scenario_path=repository_path(scenarios, context.workspace) if scenarios else "scenarios.json",
        artifact_name=job.inputs.artifact_name,
        run_id=str(context.run_id) if context.run_id else None,
        run_url=context.run_url,
        summary_url=context.summary_url,
        commit_url=context.url_of_commit(job.commit),
    )


def publication_of(job: Job, config: RunConfig, result: RunResult, files: tuple[Path, ...]) -> Publication:
    """Everything that there is to publish."""
    workspace = job.context.workspace
    gate_files = (
        job.inputs.config,
        config.scenario_file_path,
        config.agent_config_file_path,
        *config.custom_metrics_file_paths,
    )
    names = [repository_path(path, workspace) for path in gate_files if path]
    context = report_context(job, config)
    return Publication(
        results=result.results,
        context=context,
        marker=job.marker(),
        exit_code=result.exit_code,
        files=files,
        folder=result.folder,
        workspace=workspace,
        gate_files=tuple(filter(None, [*names, job.context.workflow_file])),
        config_file=context.config_path,
        scenario_file=context.scenario_path,
        scenario_lines=scenario_lines(config.scenario_file_path),
        comment=job.inputs.comment,
        artifact_name=job.inputs.artifact_name,
        retention_days=job.inputs.retention_days,
    )
