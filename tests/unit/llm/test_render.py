"""The hash of the prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from arksim_ci.llm import render


def test_the_hash_is_short_and_stable() -> None:
    assert render.prompts_hash() == render.prompts_hash()
    assert len(render.prompts_hash()) == 12
    int(render.prompts_hash(), 16)


def test_every_prompt_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "_FOLDER", tmp_path)
    hashes = {render.prompts_hash()}
    for name, text in [("a", "one"), ("a", "two"), ("b", "one"), ("c", "")]:
        (tmp_path / f"{name}.j2").write_text(text)
        hashes.add(render.prompts_hash())
    assert len(hashes) == 5


def test_what_is_sent_to_repair_an_answer_is_among_the_prompts() -> None:
    assert {"answer_repair", "answer_in_json"} <= set(render.sources())
