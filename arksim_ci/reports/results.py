"""What every report is made of: the run's JSON models in one bundle, with the look-ups that reports need."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from arksim_ci.schema.evaluation import ConversationEvaluation, Evaluation, Occurrence, TurnEvaluation, UniqueError
from arksim_ci.schema.recommendation import Recommendation, Recommendations
from arksim_ci.schema.scenario import Scenario, Scenarios
from arksim_ci.schema.simulation import Conversation, Simulation, Turn
from arksim_ci.schema.verdict import Verdict
from arksim_ci.schema.vocabulary import GOAL_NOT_COMPLETED, SEVERITIES


@dataclass(frozen=True)
class NumberedError:
    """A unique error with its place in the list: `number` is the N of `focus/error_N.json`."""

    number: int
    error: UniqueError
    scenario_ids: tuple[str, ...]
    has_focus_file: bool


@dataclass(frozen=True)
class Exchange:
    """One turn of a conversation as evidence."""

    conversation_id: str
    turn: Turn


@dataclass(frozen=True)
class Results:
    """All that a run left behind. Reports are functions of this and of nothing else in the run.

    `evaluation` is None after `simulate`. `scenarios` is only a fall-back for what the simulation file does not repeat
    (files of other tools), so that reports can be rendered again from the output folder alone.
    """

    verdict: Verdict
    simulation: Simulation
    evaluation: Evaluation | None = None
    scenarios: Scenarios | None = None
    recommendations: Recommendations | None = None

    @cached_property
    def conversations(self) -> dict[str, Conversation]:
        """The held conversations by id, in the order of the file."""
        return {conversation.conversation_id: conversation for conversation in self.simulation.conversations}

    @cached_property
    def scored(self) -> dict[str, ConversationEvaluation]:
        """The conversations' results by id; empty after `simulate`."""
        evaluation = self.evaluation
        return {each.conversation_id: each for each in evaluation.conversations} if evaluation else {}

    @cached_property
    def errors(self) -> tuple[NumberedError, ...]:
        """The unique errors, most severe first, numbered as their focus files are."""
        if self.evaluation is None:
            return ()
        mapped = {each.unique_error_id: each for each in self.evaluation.error_scenario_mappings}
        ranks: dict[str, int] = {severity: rank for rank, severity in enumerate(SEVERITIES)}

        def order(error: UniqueError) -> tuple[int, int, int, str]:
            mapping = mapped.get(error.unique_error_id)
            index = mapping.error_index if mapping else len(mapped) + 1
            return index, ranks.get(error.severity, len(ranks)), -len(error.occurrences), error.unique_error_id

        numbered: list[NumberedError] = []
        for position, error in enumerate(sorted(self.evaluation.unique_errors, key=order), start=1):
            mapping = mapped.get(error.unique_error_id)
            found = {self.scenario_of(each.conversation_id) for each in error.occurrences} - {""}
            numbered.append(
                NumberedError(
                    number=mapping.error_index if mapping else position,
                    error=error,
                    scenario_ids=tuple(mapping.scenario_ids if mapping else sorted(found)),
                    has_focus_file=mapping is not None,
                )
            )
        return tuple(numbered)

    @cached_property
    def error_numbers(self) -> dict[str, int]:
        """The number of each unique error by its id."""
        return {each.error.unique_error_id: each.number for each in self.errors}

    @cached_property
    def _recommendations(self) -> dict[str, Recommendation]:
        found = self.recommendations.recommendations if self.recommendations else []
        return {each.unique_error_id: each for each in found}

    @cached_property
    def _scenarios(self) -> dict[str, Scenario]:
        return {each.scenario_id: each for each in self.scenarios.scenarios} if self.scenarios else {}

    @cached_property
    def _turns(self) -> dict[tuple[str, int], Turn]:
        return {
            (conversation.conversation_id, turn.turn_id): turn
            for conversation in self.simulation.conversations
            for turn in conversation.turns()
        }

    @cached_property
    def names(self) -> dict[str, str]:
        """What a person calls each conversation, by id: its scenario, and `#2` for the second one where there are several.

        The same between runs of the same scenarios, as ids are not.
        """
        of_scenario = Counter(each.scenario_id for each in self.conversations.values())
        seen: Counter[str] = Counter()
        names = {}
        for conversation_id, conversation in self.conversations.items():
            scenario = conversation.scenario_id
            seen[scenario] += 1
            names[conversation_id] = f"{scenario} #{seen[scenario]}" if of_scenario[scenario] > 1 else scenario
        return names

    @cached_property
    def _errors_in(self) -> dict[str, set[int]]:
        """The numbers of the unique errors of turns in each conversation: all but missed goals."""
        found: dict[str, set[int]] = {}
        for numbered in self.errors:
            if numbered.error.behavior_failure_category != GOAL_NOT_COMPLETED:
                for occurrence in numbered.error.occurrences:
                    found.setdefault(occurrence.conversation_id, set()).add(numbered.number)
        return found

    def companions(self, numbered: NumberedError) -> tuple[int, ...]:
        """The numbers of the errors that a missed goal comes with.

        Where other errors stand in every one of a missed goal's conversations, they are what to look at first. Empty
        for every other error, and for a goal that was missed in a conversation without another error.
        """
        error = numbered.error
        if error.behavior_failure_category != GOAL_NOT_COMPLETED:
            return ()
        found = [self._errors_in.get(each.conversation_id, set()) for each in error.occurrences]
        return tuple(sorted(set().union(*found))) if found and all(found) else ()

    def recommendation(self, unique_error_id: str) -> Recommendation | None:
        """How to fix a unique error, where it was asked for."""
        return self._recommendations.get(unique_error_id)

    def scenario_of(self, conversation_id: str) -> str:
        """The scenario of a conversation; empty where the conversation is not in the simulation file."""
        conversation = self.conversations.get(conversation_id)
        return conversation.scenario_id if conversation else ""

    def scored_turn(self, conversation_id: str, turn_id: int) -> TurnEvaluation | None:
        """One turn's results."""
        scored = self.scored.get(conversation_id)
        return next((turn for turn in scored.turn_scores if turn.turn_id == turn_id), None) if scored else None

    def exchange(self, occurrence: Occurrence) -> Exchange | None:
        """The user message and the answer at one occurrence; None where the files hold no such turn."""
        turn = self._turns.get((occurrence.conversation_id, occurrence.turn_id))
        return Exchange(occurrence.conversation_id, turn) if turn else None

    def evidence(self, error: UniqueError) -> Exchange | None:
        """The shortest exchange that shows the error."""
        found = [exchange for each in error.occurrences if (exchange := self.exchange(each))]

        def length(exchange: Exchange) -> int:
            turn = exchange.turn
            return len(turn.agent.content) + (len(turn.user.content) if turn.user else 0)

        return min(found, key=length, default=None)

    def goal_of(self, conversation: Conversation) -> str:
        """What the simulated user of a conversation wanted; empty where no file says it."""
        return self._scenario_text(conversation, "goal")

    def profile_of(self, conversation: Conversation) -> str:
        """Who the simulated user of a conversation was; empty where no file says it."""
        return self._scenario_text(conversation, "user_profile")

    def _scenario_text(self, conversation: Conversation, field: str) -> str:
        value = conversation.simulated_user_prompt.variables.get(f"scenario.{field}")
        if isinstance(value, str) and value:
            return value
        scenario = self._scenarios.get(conversation.scenario_id)
        return str(getattr(scenario, field)) if scenario else ""
