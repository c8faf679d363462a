"""What the mock server counts: calls and tokens by role, concurrency, and what bounds a run's time from below."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field

CHARACTERS_PER_TOKEN = 4
BLOCK = 64
"""Characters of a block of the prefix cache: 16 tokens. Only whole blocks from the beginning are served from it."""


class PrefixCache:
    """Which beginnings of prompts were seen before. Cost and memory grow with the text, not with the number of prompts."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def cached(self, prompt: str) -> int:
        """Characters that are the beginning of an earlier prompt; this one counts as earlier from now on."""
        known, chain, still = 0, 0, True
        for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
            chain = hash((chain, prompt[start : start + BLOCK]))
            if still and chain in self._seen:
                known += BLOCK
            else:
                still = False
                self._seen.add(chain)
        return known


@dataclass(slots=True)
class RoleCounts:
    """One role's calls, and its tokens at four characters each."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Counts:
    """Counts of one run."""

    roles: dict[str, RoleCounts] = field(
        default_factory=lambda: {role: RoleCounts() for role in ("judge", "simulated_user", "analysis")}
    )
    agent_calls: int = 0
    unknown_requests: int = 0
    llm_seconds: float = 0.0
    """Sum of all LLM latencies."""
    most_llm_in_flight: int = 0
    most_agent_in_flight: int = 0
    first_request_at: float | None = None
    """Seconds since the epoch."""
    chains: dict[int, float] = field(default_factory=dict)
    """By ticket: the latencies of its simulated user and its agent, one after the other."""
    llm_in_flight: int = 0
    agent_in_flight: int = 0
    cache: PrefixCache = field(default_factory=PrefixCache)

    def llm(self, role: str, prompt: str) -> tuple[int, int]:
        """Count an LLM request that came in. Returns its tokens and how many of them an earlier request began with."""
        counts = self.roles[role]
        tokens, cached = len(prompt) // CHARACTERS_PER_TOKEN, self.cache.cached(prompt) // CHARACTERS_PER_TOKEN
        counts.calls += 1
        counts.prompt_tokens += tokens
        counts.cached_tokens += cached
        self.llm_in_flight += 1
        self.most_llm_in_flight = max(self.most_llm_in_flight, self.llm_in_flight)
        self._came()
        return tokens, cached

    def agent(self) -> None:
        """Count a request to the agent that came in."""
        self.agent_calls += 1
        self.agent_in_flight += 1
        self.most_agent_in_flight = max(self.most_agent_in_flight, self.agent_in_flight)
        self._came()

    def takes(self, seconds: float, ticket: int | None) -> None:
        """Note how long an answer in a ticket's conversation takes."""
        if ticket is not None:
            self.chains[ticket] = self.chains.get(ticket, 0.0) + seconds

    def _came(self) -> None:
        if self.first_request_at is None:
            self.first_request_at = time.time()

    def as_json(self) -> dict[str, object]:
        """All of it, for `GET /stats`."""
        return {
            "roles": {role: asdict(counts) for role, counts in self.roles.items()},
            "agent_calls": self.agent_calls,
            "unknown_requests": self.unknown_requests,
            "llm_seconds": self.llm_seconds,
            "most_llm_in_flight": self.most_llm_in_flight,
            "most_agent_in_flight": self.most_agent_in_flight,
            "first_request_at": self.first_request_at,
            "longest_chain_seconds": max(self.chains.values(), default=0.0),
            "conversations": len(self.chains),
        }
