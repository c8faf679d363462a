"""JSON Schemas of the documented files, for editors and validators. They are made from the very models that read the files."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import BaseModel

from arksim_ci.config.model import RunConfig
from arksim_ci.config.providers import PROVIDER_ALIASES
from arksim_ci.config.scenarios import MAX_ID_CHARACTERS
from arksim_ci.schema.evaluation import Evaluation
from arksim_ci.schema.recommendation import Recommendations
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Simulation
from arksim_ci.schema.verdict import Verdict

SchemaKind = Literal["config", "scenarios", "simulation", "evaluation", "verdict", "recommendations"]
SCHEMA_KINDS: tuple[SchemaKind, ...] = get_args(SchemaKind)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODELS: dict[SchemaKind, tuple[type[BaseModel], str]] = {
    "config": (RunConfig, "config.yaml: the settings of a run."),
    "scenarios": (Scenarios, "scenarios.json: who the simulated users are, what they want and what they know."),
    "simulation": (Simulation, "simulation.json: the conversations as they were held."),
    "evaluation": (Evaluation, "evaluation.json, schema v1.1: what the judge made of the conversations."),
    "verdict": (Verdict, "verdict.json: the gate's decision and what it rests on."),
    "recommendations": (Recommendations, "recommendations.json: what to change, per unique error."),
}


def json_schema(kind: SchemaKind) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one kind of file.

    `config` and `scenarios` forbid unknown keys; the files that we write may carry more than the schema names.
    """
    model, description = _MODELS[kind]
    schema = model.model_json_schema(mode="validation")
    schema = {"$schema": _DIALECT, **schema, "title": kind, "description": description}
    if kind == "config":
        _finish_config(schema)
    if kind == "scenarios":
        schema["properties"]["scenarios"]["minItems"] = 1
        schema["$defs"]["Scenario"]["properties"]["scenario_id"]["maxLength"] = MAX_ID_CHARACTERS
    return schema


def _finish_config(schema: dict[str, Any]) -> None:
    """Say what loading accepts beyond the model: older provider names, and `null` for "not set"."""
    properties = schema["properties"]
    properties["provider"]["enum"] += list(PROVIDER_ALIASES)
    properties["score_threshold"]["deprecated"] = True
    for holder in (properties, *(part["properties"] for part in schema["$defs"].values())):
        for name, value in holder.items():
            if "default" in value and value["default"] is not None:
                holder[name] = _nullable(value)


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: schema.pop(key) for key in ("default", "description", "title") if key in schema}
    choices = schema.get("anyOf", [schema])
    return {**kept, "anyOf": [*choices, {"type": "null"}]}
