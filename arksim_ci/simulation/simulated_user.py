"""The simulated user: what it says next, or that it is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from arksim_ci.llm.client import LLM
from arksim_ci.llm.questions.simulated_user import SimulatedUserFacts, ask_simulated_user
from arksim_ci.simulation.proposal import (
    CAUSES,
    COMPLAINTS,
    Fault,
    Proposal,
    before_the_agent,
    fault_of,
    is_short,
    read_proposal,
)


@dataclass(frozen=True, slots=True)
class Says:
    """The next message. `is_last` when the user has nothing to add after the agent's answer to it."""

    text: str
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class IsDone:
    """The user ends the conversation, after it read the agent's last answer."""


@dataclass(frozen=True, slots=True)
class BrokeOff:
    """The LLM does not play the user. Nothing can be concluded about the agent from here on."""

    cause: str


Step = Says | IsDone | BrokeOff


async def next_step(llm: LLM, facts: SimulatedUserFacts) -> Step:
    """Ask the LLM for the user's next message; once more, with a complaint, where it can't be sent.

    Raises:
        LLMError: no usable answer came.
    """
    proposal = await _propose(llm, facts)
    fault = fault_of(proposal, facts.history)
    if fault:
        again = replace(facts, complaint=COMPLAINTS[fault], rejected=proposal.text)
        proposal = await _propose(llm, again)
        fault = fault_of(proposal, facts.history)
    return _step(proposal, fault, facts)


async def _propose(llm: LLM, facts: SimulatedUserFacts) -> Proposal:
    return read_proposal((await llm.ask(ask_simulated_user(facts))).value)


def _step(proposal: Proposal, fault: Fault | None, facts: SimulatedUserFacts) -> Step:
    """What becomes of the last proposal.

    A second repetition: a short one (`Yes.`) is a fair answer to two questions and is said; a user who repeats itself
    has nothing more to say and is done. A second proposal that goes on to play the agent is cut before that.
    A stop signal after the very first message does not count: nobody is done before the agent has said anything.
    """
    if fault in ("repeated_itself", "repeated_agent") and is_short(proposal.text):
        fault = None
    if fault == "repeated_itself":
        return IsDone()
    if fault == "played_agent":
        text = before_the_agent(proposal.text)
        return Says(text) if text else BrokeOff(CAUSES[fault])
    if fault:
        return BrokeOff(CAUSES[fault])
    if not proposal.text:
        return IsDone()
    return Says(proposal.text, is_last=proposal.stops and bool(facts.history))
