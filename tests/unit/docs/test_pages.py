"""The documentation says what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from arksim_ci.config.json_schema import json_schema

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_generated_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for name, text in generate.pages().items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_examples_are_yaml_and_their_config_keys_exist(page: Path) -> None:
    known = json_schema("config")["properties"]
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        document = yaml.safe_load(block)
        if isinstance(document, list):  # steps of a workflow
            assert all("uses" in step or "run" in step for step in document), block
            continue
        assert isinstance(document, dict)
        if "jobs" not in document and "on" not in document and "uses" not in document:
            assert set(document) <= set(known), block
