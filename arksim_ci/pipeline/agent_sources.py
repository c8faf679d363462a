"""The agent's source as the configuration names it, with every secret of the run replaced."""

from __future__ import annotations

from pathlib import Path

from arksim_ci.evaluation.sources import Sources, read_sources, source_root
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.redaction import redactor


def agent_sources(plan: Plan) -> Sources:
    """Read `code_file_path` and `code_paths`.

    The run's own files (configuration, scenarios, metrics, results) are left out: a change to them would mend the test, not the agent.
    """
    config = plan.config
    given = [*([config.code_file_path] if config.code_file_path else []), *config.code_paths]
    if not given:
        return Sources()
    config_file = plan.inputs.loaded.path
    own = [
        config_file,
        config.scenario_file_path,
        config.simulation_file_path,
        config.agent_config_file_path,
        config.output_file_path,
        config.output_dir,
        config.cache_dir,
        *config.custom_metrics_file_paths,
    ]
    # a secret of several lines is found by each of them, since source is looked at line by line
    parts = {line.strip() for secret in plan.secrets for line in (secret, *secret.splitlines())}
    return read_sources(
        given,
        root=source_root(config_file, Path.cwd(), given),
        leave_out=[path for path in own if path is not None],
        redact=redactor(parts),
        entry_function=config.entry_function,
    )
