"""The run's record on disk, and what is taken over from that of an interrupted run of the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from arksim_ci import __version__
from arksim_ci.journal.file import Journal, read_journal
from arksim_ci.journal.fingerprint import changed, fingerprint
from arksim_ci.journal.lines import (
    Header,
    Recorded,
    completion_line,
    conversation_line,
    header_line,
    judgement_line,
)
from arksim_ci.llm.render import prompts_hash
from arksim_ci.output import JOURNAL, OutputFolder
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.pipeline.surroundings import Surroundings
from arksim_ci.redaction import redact_json
from arksim_ci.schema.judgement import Judgement
from arksim_ci.schema.simulation import Conversation
from arksim_ci.schema.verdict import IncompleteCoverage, MetricNotEvaluated, RunNotCompleted, Verdict
from arksim_ci.simulation.simulator import TestCase

_GAPS = (RunNotCompleted, IncompleteCoverage, MetricNotEvaluated)


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What need not be done again."""

    conversations: dict[str, Conversation]
    judgements: list[Judgement]


class Record:
    """Writes the journal of a run, and knows what stood in it at the start.

    Args:
        journal: where lines go; None where the file can't be written.
        header: which run this is.
        earlier: the journal of the run that is resumed, if one is.
        redact: replaces secrets in every line.
    """

    def __init__(
        self, journal: Journal | None, header: Header, earlier: Recorded | None, redact: Callable[[str], str]
    ) -> None:
        self.simulation_id = header.simulation_id
        self.evaluation_id = header.evaluation_id
        self._journal = journal
        self._header = header
        self._earlier = earlier
        self._redact = redact

    def take_over(self, cases: Sequence[TestCase]) -> tuple[list[TestCase], TakenOver]:
        """Find the test cases that are finished. They get the ids back under which their conversations were held.

        A conversation that was broken off is held again under a new id, so that neither an agent with a memory nor what was judged
        of its first turns is mixed into it.
        """
        kept: dict[str, Conversation] = {}
        with_ids = list(cases)
        for number, conversation in (self._earlier.conversations if self._earlier else {}).items():
            if number < len(with_ids) and is_finished(conversation) and conversation.conversation_id not in kept:
                case = with_ids[number] = replace(with_ids[number], conversation_id=conversation.conversation_id)
                kept[case.conversation_id] = conversation.model_copy(update={"scenario_id": case.scenario.scenario_id})
        return with_ids, TakenOver(kept, self.judgements_of(kept))

    def judgements_of(self, conversations: Collection[str]) -> list[Judgement]:
        """What was judged of conversations that stand as they were."""
        known = set(conversations)
        judgements = self._earlier.judgements if self._earlier else ()
        return [judgement for judgement in judgements if judgement.conversation_id in known]

    @property
    def goes_on(self) -> bool:
        """Whether this is the journal of an interrupted run of the same inputs, whatever stands in it."""
        return self._earlier is not None

    def resumed(self, conversations: int, judgements: int) -> str:
        """A sentence about what was taken over; "" where nothing was."""
        if not conversations and not judgements:
            return ""
        return (
            f"This run goes on with one of the same inputs that began at {self._header.started_at} and did not measure "
            f"everything: {_counted(conversations, 'finished conversation')} and {_counted(judgements, 'judgement')} were reused; "
            "usage and cost count what was asked since. `--fresh` starts anew."
        )

    def conversation_ended(self, number: int, conversation: Conversation) -> None:
        """Keep a conversation, where it is finished. `number` is its test case's, from 0."""
        if is_finished(conversation):
            self._append(conversation_line(number, conversation))

    def measured(self, judgement: Judgement) -> None:
        """Keep a judgement."""
        self._append(judgement_line(judgement))

    def decided(self, verdict: Verdict) -> None:
        """Every file is written: a run that measured what it had to is never resumed."""
        if is_complete(verdict):
            self._append(completion_line())

    def trouble(self) -> str:
        """A sentence where the disk refused a line; "" where it took all of them."""
        cause = self._journal.trouble if self._journal else ""
        return (
            cause and f"{JOURNAL} could not be written to its end ({cause}), so this run can't be resumed from there."
        )

    def close(self) -> None:
        """Close the file."""
        if self._journal:
            self._journal.close()

    def _append(self, line: dict[str, object]) -> None:
        if self._journal:
            self._journal.append(redact_json(line, self._redact))


def open_record(
    plan: Plan,
    around: Surroundings,
    folder: OutputFolder,
    redact: Callable[[str], str],
    *,
    resume: bool,
    warn: Callable[[str], None],
) -> Record:
    """Begin the run's journal, or go on with that of an interrupted run of the same inputs.

    Args:
        plan: the run.
        around: gives ids and the time.
        folder: the output folder; it is there.
        redact: replaces secrets.
        resume: whether a journal that is there may be read at all.
        warn: told what a reader should know of a journal that can't be used as a whole.
    """
    inputs = redact_json(_inputs(plan, redact), redact)
    path = folder.path / JOURNAL
    earlier = read_journal(path) if resume else None
    if earlier and (earlier.complete or earlier.header.inputs != inputs):
        if not earlier.complete:
            differ = ", ".join(changed(earlier.header.inputs, inputs))
            around.progress.note(f"The journal of an unfinished run is set aside: changed since then: {differ}.")
        earlier = None
    if earlier and earlier.damaged:
        warn(f"{_counted(earlier.damaged, 'line')} of {JOURNAL} can't be read; what stood there is done again.")
    header = earlier.header if earlier else _new_header(inputs, around)
    journal = None
    try:
        journal = Journal.go_on(path) if earlier else Journal.begin(path, header_line(header))
    except OSError as error:
        warn(f"{JOURNAL} can't be written ({error.strerror}), so this run can't be resumed.")
    return Record(journal, header, earlier, redact)


def is_finished(conversation: Conversation) -> bool:
    """Whether a conversation need not be held again.

    One that was broken off, through no fault of the agent, is not finished. Nor is one in which the agent never spoke: it holds
    nothing that was paid for, and the agent may only have been down. One in which the agent stopped answering is: it has turns,
    and they were judged.
    """
    silence = conversation.silence()
    return not conversation.not_finished and not (silence and silence.kind == "never_spoke")


def is_complete(verdict: Verdict) -> bool:
    """Whether nothing is missing that a resumed run could still measure for this verdict.

    Test cases in which the agent fell silent are an outcome, not a gap; and a gap that no gate reads changes nothing.
    """
    return not any(isinstance(failure, _GAPS) for failure in verdict.failures)


def _new_header(inputs: dict[str, str], around: Surroundings) -> Header:
    return Header(
        inputs=inputs,
        simulation_id=around.new_id(),
        evaluation_id=around.new_id(),
        started_at=around.timestamp(),
    )


def _inputs(plan: Plan, redact: Callable[[str], str]) -> dict[str, str]:
    api = plan.agent.api_config if plan.agent else None
    return fingerprint(
        plan.config,
        plan.provider,
        plan.command,
        version=__version__,
        prompts=prompts_hash(),
        endpoint=api.endpoint if api else "",
        redact=redact,
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
