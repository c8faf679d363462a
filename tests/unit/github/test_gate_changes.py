"""Where a gate's file stands in its repository."""

from __future__ import annotations

from pathlib import Path

from arksim_ci.github.gate_changes import repository_path


def test_paths_are_relative_to_the_checkout_that_holds_them(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "app" / ".git").mkdir(parents=True)
    (workspace / "app" / "arksim").mkdir()
    assert repository_path(workspace / "arksim" / "config.yaml", workspace) == "arksim/config.yaml"
    assert repository_path(workspace / "app" / "arksim" / "config.yaml", workspace) == "arksim/config.yaml"
    assert repository_path(Path("/elsewhere/config.yaml"), workspace) == "/elsewhere/config.yaml"
