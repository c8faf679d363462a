"""Building the LLM."""

from __future__ import annotations

import subprocess
import sys

from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits


def test_building_a_client_imports_no_sdk() -> None:
    code = """
import sys
from arksim_ci.config.providers import ProviderSettings
from arksim_ci.llm.factory import build_llm
from arksim_ci.llm.limits import Limits
settings = ProviderSettings("openai", "m", "http://localhost/v1", "key-0123456789", "OPENAI_API_KEY")
build_llm(settings, Limits(1, model="m"), timeout_seconds=1)
print(sorted({"openai", "httpx2", "aiohttp"} & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_offline_needs_no_network() -> None:
    settings = ProviderSettings("offline", "rules", None, None, None)
    llm = build_llm(settings, Limits(1, model="rules"), timeout_seconds=1)
    assert "Offline" in type(llm).__name__
