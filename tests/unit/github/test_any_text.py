"""Whatever stands in an input, an event or a header: a value, or an error that names it, and never a crash."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from arksim_ci.config.errors import ConfigError
from arksim_ci.github.comments import Marker, find_marker
from arksim_ci.github.context import GitHubContext, read_context
from arksim_ci.github.event import read_event
from arksim_ci.github.inputs import NAMES, read_inputs, variable
from arksim_ci.github.patience import limit_seconds

CONTEXT = GitHubContext(workspace=Path("/github/workspace"), repository="org/shop", ref="refs/heads/x")
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200) | st.sampled_from(
    ["1e999", "nan", "http://[::1", "http://a:99999", "a" * 5000, "../", "\x00", "-0", "1_0", "٣", "9" * 400]
)
KEYS = [
    "pull_request",
    "head",
    "repo",
    "number",
    "issue",
    "workflow_run",
    "head_repository",
    "owner",
    "login",
    "merge_group",
    "head_ref",
    "after",
    "sha",
    "full_name",
]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("org/shop"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES), ANY_TEXT))
def test_inputs(given_inputs: dict[str, str]) -> None:
    try:
        inputs = read_inputs({variable(name): value for name, value in given_inputs.items()}, CONTEXT)
    except ConfigError as error:
        assert all(problem.source.startswith("input ") for problem in error.problems)
        return
    marker = Marker(inputs.comment_key, 1, 1)
    assert find_marker(f"text {marker}") == marker
    assert 0 < inputs.agent_startup_timeout_seconds <= 3600


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["pull_request", "push", "workflow_run", "merge_group", "issue_comment", "pull_request_target"]),
    st.dictionaries(st.sampled_from(KEYS), ANY_JSON),
)
def test_events(name: str, payload: dict[str, Any]) -> None:
    event = read_event(name, payload, CONTEXT)
    if event.code_is_untrusted is False and name in ("workflow_run", "pull_request_target", "issue_comment"):
        # Trust needs a reason that can be read in the payload.
        assert "org/shop" in repr(payload) or payload["issue"]["number"] > 0


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([403, 429]),
    st.dictionaries(
        st.sampled_from(["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"]),
        ANY_TEXT | st.sampled_from(["0", "-1", "inf", "Wed, 21 Oct 2015 07:28:00 GMT", "²"]),
    ),
)
def test_limits(status: int, headers: dict[str, str]) -> None:
    wait = limit_seconds(status, headers, "rate limit", 2, 1e9)
    assert wait is not None
    assert wait >= 0
    assert not math.isnan(wait)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["GITHUB_RUN_ID", "GITHUB_WORKSPACE", "GITHUB_EVENT_PATH", "GITHUB_RETENTION_DAYS"]), ANY_TEXT
    )
)
def test_the_runner_s_variables(variables: dict[str, str]) -> None:
    assert read_context(variables).workspace.is_absolute()
