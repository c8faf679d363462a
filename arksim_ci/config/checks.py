"""Metric names, thresholds and labels of the gates, held to the metrics that really run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from arksim_ci.config.describe import unknown_name
from arksim_ci.config.errors import Problem
from arksim_ci.config.loaded import LoadedConfig
from arksim_ci.config.model import RunConfig
from arksim_ci.config.validation import show
from arksim_ci.schema.custom_metric import CustomMetric
from arksim_ci.schema.vocabulary import (
    AGENT_BEHAVIOR_FAILURE,
    BEHAVIOR_FAILURE_LABELS,
    BUILTIN_METRICS,
    DEFAULT_METRICS,
    EVALUATION_RUN_FAILED,
    GOAL_COMPLETION,
    OVERALL_SCORE,
    TOOL_CALL_BEHAVIOR_FAILURE,
    TOOL_FAILURE_LABELS,
    TURN_METRICS,
    TURN_SCALE,
    normalize_label,
)

if TYPE_CHECKING:
    from arksim_ci.schema.expectation import Gates

ASSERTIONS = "assertions"
"""The check that holds the assertions of all scenarios; `min_pass_rate` may map it."""

_SHARE_SCALE = (0.0, 1.0)
_BUILTIN_SCALES = {
    **dict.fromkeys(TURN_METRICS, TURN_SCALE),
    GOAL_COMPLETION: _SHARE_SCALE,
    OVERALL_SCORE: _SHARE_SCALE,
}
_BUILTIN_LABELS = {
    AGENT_BEHAVIOR_FAILURE: BEHAVIOR_FAILURE_LABELS,
    TOOL_CALL_BEHAVIOR_FAILURE: TOOL_FAILURE_LABELS,
}


def metrics_that_run(metrics_to_run: Sequence[str]) -> tuple[str, ...]:
    """What `metrics_to_run` means: nothing named means the defaults, and all defaults bring `tool_call_behavior_failure` along."""
    names = tuple(dict.fromkeys(metrics_to_run)) or DEFAULT_METRICS
    if set(DEFAULT_METRICS) <= set(names) and TOOL_CALL_BEHAVIOR_FAILURE not in names:
        return (*names, TOOL_CALL_BEHAVIOR_FAILURE)
    return names


def gates(config: RunConfig) -> Gates:
    """The gates of a configuration. Labels are normalized by `normalize_label`, so that they can be compared."""
    labels = config.qualitative_failure_labels or {}
    from arksim_ci.schema.expectation import Gates  # noqa: PLC0415  (a configuration error does not pay for it)

    return Gates(
        numeric_thresholds=dict(config.numeric_thresholds or {}),
        qualitative_failure_labels={
            name: tuple(dict.fromkeys(normalize_label(label) for label in listed)) for name, listed in labels.items()
        },
        min_pass_rate=config.min_pass_rate,
        min_coverage=config.min_coverage,
        max_never_spoke_share=config.max_never_spoke_share,
    )


def check_metric_names(loaded: LoadedConfig, definitions: Sequence[CustomMetric] | None) -> list[Problem]:
    """Check every metric name, threshold and label of a configuration.

    Args:
        loaded: the configuration.
        definitions: the custom metrics that really loaded; None where they have not been loaded yet, and then only what the
            built-in metrics decide is checked.

    Returns:
        Every problem, each with its line.
    """
    return _Checks(loaded, definitions).run()


class _Checks:
    def __init__(self, loaded: LoadedConfig, definitions: Sequence[CustomMetric] | None) -> None:
        self.loaded = loaded
        self.config = loaded.config
        self.complete = definitions is not None
        self.custom = {metric.name: metric for metric in definitions or ()}
        self.definitions = definitions or ()
        self.running = set(metrics_that_run(self.config.metrics_to_run))
        self.problems: list[Problem] = []

    def run(self) -> list[Problem]:
        self._definitions()
        self._metrics_to_run()
        for name, threshold in (self.config.numeric_thresholds or {}).items():
            self._threshold(name, threshold)
        for name, labels in (self.config.qualitative_failure_labels or {}).items():
            self._labels(name, labels)
        if isinstance(self.config.min_pass_rate, dict):
            self._pass_rates(self.config.min_pass_rate)
        return self.problems

    def _report(self, message: str, *path: str | int) -> None:
        self.problems.append(self.loaded.problem(message, *path))

    def _definitions(self) -> None:
        seen: dict[str, CustomMetric] = {}
        for metric in self.definitions:
            where = f" (in {metric.file})" if metric.file else ""
            if metric.name in (*BUILTIN_METRICS, OVERALL_SCORE):
                self._report(
                    f'a custom metric is named like the built-in "{metric.name}"{where}; give it a name of its own',
                    "custom_metrics_file_paths",
                )
            elif metric.name in seen:
                first = f" and in {seen[metric.name].file}" if seen[metric.name].file else ""
                self._report(
                    f'two custom metrics are named "{metric.name}"{where}{first}; give each a name of its own',
                    "custom_metrics_file_paths",
                )
            seen.setdefault(metric.name, metric)

    def _metrics_to_run(self) -> None:
        if not self.complete:
            return
        for index, name in enumerate(self.config.metrics_to_run):
            if name not in BUILTIN_METRICS and name not in self.custom:
                hint = (
                    f" {OVERALL_SCORE} is computed from the others and needs no entry." if name == OVERALL_SCORE else ""
                )
                self._report(
                    f"there is no metric {show(name)}{unknown_name(name, BUILTIN_METRICS, 'known')}.{hint}",
                    "metrics_to_run",
                    *self._list_index("metrics_to_run", name, index),
                )

    def _list_index(self, key: str, name: str, index: int) -> tuple[int, ...]:
        """Where a name stands in the list as it was written; `RunConfig` may hold more."""
        written = self.loaded.settings.get((key,))
        if isinstance(written, list) and name in written:
            return (written.index(name),)
        return (index,)

    def _threshold(self, name: str, threshold: float) -> None:
        path: tuple[str, ...] = ("numeric_thresholds", name)
        if name == OVERALL_SCORE and self.loaded.settings.get(path) is None:
            path = ("score_threshold",) if self.loaded.settings.get(("score_threshold",)) is not None else path
        known = [*(n for n in _BUILTIN_SCALES if n in self.running), *self._custom_names("numeric"), OVERALL_SCORE]
        if name == OVERALL_SCORE and AGENT_BEHAVIOR_FAILURE not in self.running:
            self._report(
                f"overall_score is computed from {AGENT_BEHAVIOR_FAILURE}, which does not run; add it to metrics_to_run",
                *path,
            )
        elif self._does_not_run(name, path, "numeric_thresholds", "numeric", known):
            return
        scale = _BUILTIN_SCALES.get(name) or (self.custom[name].scale if name in self.custom else None)
        if scale is not None and not scale[0] <= threshold <= scale[1]:
            self._report(f"found {threshold:g}, but {name} is scored from {scale[0]:g} to {scale[1]:g}", *path)

    def _labels(self, name: str, labels: Sequence[str]) -> None:
        path = ("qualitative_failure_labels", name)
        known = [*(n for n in _BUILTIN_LABELS if n in self.running), *self._custom_names("qualitative")]
        if self._does_not_run(name, path, "qualitative_failure_labels", "qualitative", known):
            return
        if not labels:
            self._report("lists no label, so it can never fail; list the labels that fail the run", *path)
        allowed = _BUILTIN_LABELS.get(name) or (self.custom[name].labels if name in self.custom else ())
        for index, label in enumerate(labels):
            self._label(name, label, allowed, (*path, index))

    def _label(self, name: str, label: str, allowed: Sequence[str], path: tuple[str | int, ...]) -> None:
        wanted = normalize_label(label)
        if not wanted:
            self._report("the label is empty", *path)
        elif wanted == EVALUATION_RUN_FAILED:
            self._report("this marks a turn that was not measured; min_coverage decides about those", *path)
        elif allowed and wanted not in {normalize_label(known) for known in allowed}:
            elsewhere = [
                other
                for other, others in _BUILTIN_LABELS.items()
                if other != name and name in _BUILTIN_LABELS and wanted in others
            ]
            hint = f" It is a label of {elsewhere[0]}." if elsewhere else ""
            self._report(f"{name} has no label {show(label)}{unknown_name(label, allowed, 'its labels')}.{hint}", *path)

    def _pass_rates(self, rates: Iterable[str]) -> None:
        checks = [*(self.config.numeric_thresholds or {}), *(self.config.qualitative_failure_labels or {}), ASSERTIONS]
        for name in rates:
            if name not in checks:
                self._report(
                    f"there is no check of this name; set it in numeric_thresholds or qualitative_failure_labels"
                    f"{unknown_name(name, checks, 'checks')}",
                    "min_pass_rate",
                    name,
                )

    def _custom_names(self, kind: str) -> list[str]:
        return [metric.name for metric in self.definitions if metric.kind == kind]

    def _does_not_run(self, name: str, path: tuple[str, ...], key: str, kind: str, known: list[str]) -> bool:
        """Report a name that no running metric of this kind has; True where there is nothing more to check."""
        if name in known:
            return False
        builtin = name in BUILTIN_METRICS
        numeric = name in _BUILTIN_SCALES or (name in self.custom and self.custom[name].kind == "numeric")
        if (builtin or name in self.custom) and numeric != (kind == "numeric"):
            other = "numeric_thresholds" if numeric else "qualitative_failure_labels"
            what = "a number" if numeric else "a label"
            self._report(f"{name} gives {what}; set it in {other}, not in {key}", *path)
            return True
        if builtin:
            self._report(f"{name} does not run; add it to metrics_to_run", *path)
            return False
        if not self.complete:
            return True
        self._report(f"no metric of this name runs{unknown_name(name, known, 'known')}", *path)
        return True
