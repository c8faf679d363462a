"""Servers on the machine itself, found from inside of the action's container."""

from __future__ import annotations

from dataclasses import replace

from arksim_ci.action.job import Job
from arksim_ci.action.set_up import failed
from arksim_ci.agents.reach import OutOfReach, reach
from arksim_ci.pipeline.conclusion import Ending
from arksim_ci.pipeline.preparation import Plan


async def within_reach(job: Job, plan: Plan) -> tuple[Plan, Ending | None]:
    """The plan with addresses that are right inside of the container; and how the run ends where there are none."""
    world = job.world

    async def find(url: str, what: str, key: str) -> str:
        found = await reach(
            url,
            what=what,
            key=key,
            in_container=world.in_container,
            routes=world.routes,
            accepts=world.accepts,
            sleep=world.sleep,
        )
        if found.note:
            job.workflow.log(found.note)
        return found.url

    try:
        agent = plan.agent
        if agent and agent.api_config and agent.agent_type != "custom":
            endpoint = await find(agent.api_config.endpoint, "the agent", "agent_config.api_config.endpoint")
            api = agent.api_config.model_copy(update={"endpoint": endpoint})
            plan = replace(plan, agent=agent.model_copy(update={"api_config": api}))
        if plan.provider.base_url:
            base_url = await find(plan.provider.base_url, "the model's server", "base_url")
            plan = replace(plan, inputs=replace(plan.inputs, provider=replace(plan.provider, base_url=base_url)))
    except OutOfReach as error:
        return plan, failed(job, str(error), "arksim: out of reach")
    return plan, None
