"""The cells of the fault matrix, and what each may end with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from tests.support.faults import HARMLESS, SLOW, Fault, Role, applies


class Share(Enum):
    """How often a role is struck: the rate, and whether a repeated request meets the same again."""

    SOMETIMES = (0.3, False)
    SOME_ALWAYS = (0.3, True)
    ALWAYS = (1.0, False)

    @property
    def rate(self) -> float:
        return self.value[0]

    @property
    def same(self) -> bool:
        return self.value[1]


@dataclass(frozen=True)
class Cell:
    """One situation. `gated` says whether the configuration has gates."""

    role: Role
    fault: Fault
    share: Share
    gated: bool

    def __str__(self) -> str:
        gates = "gated" if self.gated else "ungated"
        return "-".join((self.role.name, self.fault.name, self.share.name, gates)).lower()

    @property
    def slow(self) -> bool:
        """Whether somebody waits for an answer that does not come."""
        return self.fault in SLOW

    @property
    def codes(self) -> frozenset[int]:
        """The exit codes that are right here; which of them, the files say.

        What only explains failures or publishes the result decides nothing. A role that is struck sometimes may recover.
        """
        if self.role in (Role.CLUSTERING, Role.RECOMMENDATIONS, Role.GITHUB) or self.fault in HARMLESS:
            return frozenset({0})
        lost = 1 if self.role is Role.AGENT else 3
        may_recover = self.share is not Share.ALWAYS or self.fault is Fault.FICKLE
        return frozenset({0, lost}) if may_recover else frozenset({lost})


def cells() -> Iterator[Cell]:
    """Every kind of fault, every role, every share; without gates too where the exit code depends on what is measured."""
    for role in Role:
        for fault in Fault:
            if not applies(fault, role):
                continue
            for share in Share:
                yield Cell(role, fault, share, gated=True)
            if role in (Role.JUDGE, Role.USER):
                yield Cell(role, fault, Share.ALWAYS, gated=False)
