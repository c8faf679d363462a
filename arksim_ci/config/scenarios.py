"""Reading scenario files, strictly, and simulation files, with tolerance for what other tools add."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from arksim_ci.config.document import Document, KeyPath, dotted, shown
from arksim_ci.config.errors import ConfigError, Problem
from arksim_ci.config.files import MAX_DATA_BYTES, read_json
from arksim_ci.config.validation import Mistake, mistakes
from arksim_ci.schema.scenario import Scenarios
from arksim_ci.schema.simulation import Conversation, Simulation

MAX_ID_CHARACTERS = 1_000

_MOVED = "unknown key; user_attributes has moved into origin and shapes no one any more: write what matters as text in user_profile"


def load_scenarios(path: Path) -> Scenarios:
    """Read a scenario file.

    Raises:
        ConfigError: with every problem; each names the scenario and the line.
    """
    document = read_json(path, MAX_DATA_BYTES)
    if not isinstance(document.value, dict):
        raise ConfigError(document.problem("a mapping with schema_version and scenarios is needed"))
    problems: list[Problem] = []
    scenarios = None
    try:
        scenarios = Scenarios.model_validate(document.value)
    except ValidationError as error:
        for mistake in mistakes(error, document.value, Scenarios, _nothing_hidden):
            problems.append(_problem(document, "scenarios", "scenario_id", mistake.path, _scenario_message(mistake)))
    listed = document.value.get("scenarios")
    problems += _id_problems(document, listed if isinstance(listed, list) else [])
    if listed == []:
        problems.append(document.problem("holds no scenario; at least one is needed", ("scenarios",)))
    if problems or scenarios is None:
        raise ConfigError(*sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0))
    return scenarios


def load_simulation(path: Path) -> Simulation:
    """Read a simulation file. Fields that are not known are ignored.

    Raises:
        ConfigError: with every problem: wrong or missing fields, no conversation, an id that two conversations share, turns that
            are out of order or answered twice.
    """
    document = read_json(path, MAX_DATA_BYTES)
    if not isinstance(document.value, dict):
        raise ConfigError(document.problem("a mapping with simulation_id and conversations is needed"))
    try:
        simulation = Simulation.model_validate(document.value)
    except ValidationError as error:
        found = mistakes(error, document.value, Simulation, _nothing_hidden)
        raise ConfigError(
            *(_problem(document, "conversations", "conversation_id", item.path, item.message) for item in found)
        ) from error
    if not simulation.conversations:
        raise ConfigError(
            document.problem("holds no conversation, so there is nothing to evaluate", ("conversations",))
        )
    wrong: list[tuple[KeyPath, str]] = [
        (("conversations", index, "conversation_id"), message)
        for index, message in _repeated(conversation.conversation_id for conversation in simulation.conversations)
    ]
    for index, conversation in enumerate(simulation.conversations):
        for position, message in _turn_mistakes(conversation):
            wrong.append((("conversations", index, "conversation_history", position, "turn_id"), message))
    if wrong:
        raise ConfigError(
            *(_problem(document, "conversations", "conversation_id", path, message) for path, message in wrong)
        )
    return simulation


def _turn_mistakes(conversation: Conversation) -> Iterator[tuple[int, str]]:
    """Messages by position whose turn is before that of the message before, or has an answer already."""
    before, answered = 0, -1
    for position, message in enumerate(conversation.conversation_history):
        turn = message.turn_id
        if turn < before:
            yield position, f"turn {turn} comes after turn {before}; turns count upwards"
        elif message.role == "assistant" and turn == answered:
            yield position, f"turn {turn} has two answers; a turn is a user message and the answer to it"
        before = max(before, turn)
        if message.role == "assistant":
            answered = max(answered, turn)


def match_scenarios(simulation: Simulation, scenarios: Scenarios, simulation_file: Path) -> list[str]:
    """Hold a simulation to the scenarios that it is judged by.

    Returns:
        A warning for each scenario without a conversation.

    Raises:
        ConfigError: conversations name scenarios that the scenario file lacks.
    """
    known = [scenario.scenario_id for scenario in scenarios.scenarios]
    used = dict.fromkeys(conversation.scenario_id for conversation in simulation.conversations)
    unknown = [scenario_id for scenario_id in used if scenario_id not in set(known)]
    if unknown:
        source = shown(simulation_file)
        raise ConfigError(
            *(Problem(f'its scenario "{name[:200]}" is not in the scenario file', source) for name in unknown)
        )
    return [f'scenario "{name}" has no conversation in the simulation file' for name in known if name not in used]


def _scenario_message(mistake: Mistake) -> str:
    if mistake.unknown and mistake.path[-1] == "user_attributes" and len(mistake.path) == 3:
        return _MOVED
    return mistake.message


def _problem(document: Document, listing: str, id_key: str, path: KeyPath, message: str) -> Problem:
    """A problem inside of a list of things with ids: its key names the thing by index and id."""
    if len(path) < 2 or path[0] != listing:
        return document.problem(message, path)
    items = document.value.get(listing) if isinstance(document.value, Mapping) else None
    item = items[path[1]] if isinstance(items, list) and isinstance(path[1], int) else None
    name = item.get(id_key) if isinstance(item, Mapping) else None
    key = dotted(path[:2]) + (f' "{_printable(name)}"' if isinstance(name, str) else "")
    rest = dotted(path[2:])
    return Problem(message, document.source, document.line(path), f"{key} {rest}".strip())


def _id_problems(document: Document, scenarios: list[object]) -> list[Problem]:
    ids = [item.get("scenario_id") if isinstance(item, Mapping) else None for item in scenarios]
    found = list(_repeated(name if isinstance(name, str) else None for name in ids))
    for index, name in enumerate(ids):
        if not isinstance(name, str):
            continue
        if len(name) > MAX_ID_CHARACTERS:
            found.append((index, f"is longer than {MAX_ID_CHARACTERS:,} characters"))
        if any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in name):
            found.append((index, "holds a line break or another control character"))
        if name and not name.strip():
            found.append((index, "is empty"))
    return [
        _problem(document, "scenarios", "scenario_id", ("scenarios", index, "scenario_id"), message)
        for index, message in found
    ]


def _repeated(ids: Iterable[str | None]) -> list[tuple[int, str]]:
    first: dict[str, int] = {}
    found = []
    for index, name in enumerate(ids):
        if name is None:
            continue
        if name in first:
            found.append((index, f"this id stands twice, first at index {first[name]}"))
        first.setdefault(name, index)
    return found


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text[:100])


def _nothing_hidden(_path: KeyPath) -> bool:
    return False
