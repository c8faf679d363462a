"""The offline provider: a simulated user and a judge by stated, deterministic rules. See docs/offline.md."""

from arksim_ci.llm.offline.provider import OFFLINE_MODEL, OfflineLLM

__all__ = ["OFFLINE_MODEL", "OfflineLLM"]
