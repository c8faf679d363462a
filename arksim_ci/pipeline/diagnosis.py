"""Root causes of what failed, and what to change."""

from __future__ import annotations

from collections.abc import Callable

from arksim_ci.evaluation.build import Evaluated
from arksim_ci.evaluation.failures import collect_failures
from arksim_ci.evaluation.recommendations import recommend
from arksim_ci.evaluation.unique_errors import find_unique_errors, find_unique_errors_plainly
from arksim_ci.llm.client import LLM
from arksim_ci.pipeline.agent_sources import agent_sources
from arksim_ci.pipeline.preparation import Plan
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.simulation import Simulation
from arksim_ci.schema.vocabulary import GOAL_COMPLETION, PARTIAL_FAILURE_FROM


class Diagnosis:
    """The unique errors and recommendations of a run; at any moment, as far as they are known.

    At first the errors are those that can be told apart without an LLM.
    """

    def __init__(self, plan: Plan, simulation: Simulation, evaluated: Evaluated) -> None:
        thresholds = plan.config.numeric_thresholds or {}
        conversations = {each.conversation_id: each for each in simulation.conversations}
        scenarios = {scenario.scenario_id: scenario for scenario in plan.scenarios.scenarios}
        self.failures = collect_failures(
            evaluated.conversations, conversations, thresholds.get(GOAL_COMPLETION, PARTIAL_FAILURE_FROM)
        )
        self.errors = find_unique_errors_plainly(self.failures)
        self.recommendations = Recommendations(recommendations=[])
        self._plan = plan
        self._scenario_of = {name: scenarios[each.scenario_id] for name, each in conversations.items()}

    async def go_on(self, llm: LLM, warn: Callable[[str], None]) -> None:
        """Ask the LLM for root causes, then for fixes. `warn` is told what it could not say."""
        self.errors = await find_unique_errors(self.failures, llm, warn)
        self.recommendations = await recommend(
            self.errors,
            self.failures,
            self._scenario_of,
            self._plan.config.max_recommendations,
            llm,
            warn,
            agent_sources(self._plan),
        )
