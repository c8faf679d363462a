"""What a report says that is not in the run's files: where things are, and who asked."""

from __future__ import annotations

from dataclasses import dataclass

from arksim_ci.schema.verdict import Places, Verdict

ACTION = "org/arksim-action@v1"
DOCUMENTATION = "https://github.com/org/arksim-action#readme"


@dataclass(frozen=True)
class CommentContext:
    """Where the run's things are. Everything is optional: without GitHub, the same text has no links.

    Addresses are http(s) URLs of ours or of GitHub's API; names and paths may be the user's.
    """

    top_errors: int = 5
    """Most unique errors shown in the comment."""
    gate_changes: tuple[str, ...] = ()
    """Files of the gate itself (config, scenarios, metrics) that the pull request changes."""
    fork: bool = False
    """Whether a fork's run reported the result: said on top, and its HTML isn't linked."""
    marker: str = ""
    """The hidden marker, a whole HTML comment of ours, by which the comment is found again."""
    config_path: str = "config.yaml"
    scenario_path: str = "scenarios.json"
    """The scenario file as the repository knows it: where SARIF places what has no code fix."""
    artifact_name: str = "arksim"
    """Stem of the artifacts: the focus files are in `<artifact_name>-focus`."""
    focus_artifact_name: str | None = None
    """The focus artifact's name where it was taken and got a suffix."""
    focus_folder: str | None = None
    """Where the focus files are on this machine; None where they come from the artifact."""
    run_id: str | None = None
    run_url: str | None = None
    summary_url: str | None = None
    commit_url: str | None = None
    report_url: str | None = None
    evaluation_artifact_url: str | None = None
    focus_artifact_url: str | None = None
    documentation_url: str | None = DOCUMENTATION


def places_of(context: CommentContext) -> Places:
    """What verdict.json keeps of a context, so that reports can be rendered again from the files alone."""
    return Places(
        config_path=context.config_path,
        scenario_path=context.scenario_path,
        artifact_name=context.artifact_name,
        focus_folder=context.focus_folder,
        run_id=context.run_id,
        run_url=context.run_url,
        summary_url=context.summary_url,
        commit_url=context.commit_url,
    )


def file_context(verdict: Verdict) -> CommentContext:
    """What the report files of a run say of where things are: what verdict.json kept, and nothing else."""
    places = verdict.run.places
    return CommentContext(**places.model_dump()) if places else CommentContext()
