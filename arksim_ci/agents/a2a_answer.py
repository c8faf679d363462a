"""What an A2A agent has said so far: its events folded into one answer. Pure: the protocol's JSON in, an answer out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from arksim_ci.agents.agent import AgentAnswer, AgentDidNotAnswer
from arksim_ci.agents.response_shapes import read_tool_calls, shorten
from arksim_ci.schema.simulation import ToolCall

TOOL_CALLS_EXTENSION: Final = "https://arksim.arklex.ai/a2a/tool-call-capture/v1"
"""URI of ArkSim's extension by which an agent reports its tool calls."""
TOOL_CALLS_KEY: Final = f"{TOOL_CALLS_EXTENSION}/tool_calls"
"""Key in an artifact's metadata that holds the list of calls."""
TOOL_CALLS_SOURCE: Final = "a2a_protocol"

_ANSWERED = ("TASK_STATE_COMPLETED", "TASK_STATE_INPUT_REQUIRED")
_ENDED_BADLY = {
    "TASK_STATE_FAILED": "the agent's task failed",
    "TASK_STATE_CANCELED": "the agent's task was canceled",
    "TASK_STATE_REJECTED": "the agent rejected the task",
    "TASK_STATE_AUTH_REQUIRED": "the agent wants to be authenticated (set agent_config.api_config.headers)",
}
_EXACT_INTEGERS = 2**53


@dataclass(slots=True)
class _Artifact:
    """An artifact in the chunks in which it came; each chunk is a list of parts."""

    chunks: list[list[Any]]
    metadata: dict[str, Any]

    def text(self) -> str:
        return "".join(_text(chunk) for chunk in self.chunks)

    def parts(self) -> list[Any]:
        return [part for chunk in self.chunks for part in chunk]

    def without(self, earlier: _Artifact | None) -> _Artifact:
        """What has come since an earlier state of the same artifact; all, where it was replaced."""
        if earlier is None or self.parts()[: len(earlier.parts())] != earlier.parts():
            return self
        known = _list(earlier.metadata.get(TOOL_CALLS_KEY))
        calls = [call for call in _list(self.metadata.get(TOOL_CALLS_KEY)) if call not in known]
        return _Artifact([self.parts()[len(earlier.parts()) :]], {**self.metadata, TOOL_CALLS_KEY: calls})


@dataclass(slots=True)
class Reply:
    """What came of one message to an A2A agent. `add` the events as they come; when it `is_final`, take the `answer`.

    `task_id` and `context_id` are the agent's names for what goes on, empty as long as it gave none.
    """

    task_id: str = ""
    context_id: str = ""
    state: str = ""
    _message: Mapping[str, Any] | None = None
    _status_text: str = ""
    _said_before: str = ""
    _artifacts: dict[str, _Artifact] = field(default_factory=dict)
    _status: Mapping[str, Any] = field(default_factory=dict)
    _earlier: Reply | None = None

    def next(self) -> Reply:
        """An empty reply, to the next message. What an open task still shows of this one is not taken for new."""
        return Reply(context_id=self.context_id, _earlier=self if self.open_task else None)

    def add(self, event: Mapping[str, Any]) -> None:
        """Take an event: a StreamResponse as protocol JSON, with one of `message`, `task`, `statusUpdate`, `artifactUpdate`."""
        if "message" in event:
            self._message = event["message"]
            self.context_id = self._message.get("contextId") or self.context_id
        elif "task" in event:
            self._take_task(event["task"])
        elif "statusUpdate" in event:
            self._take_ids(event["statusUpdate"])
            self._take_status(event["statusUpdate"].get("status", {}))
        elif "artifactUpdate" in event:
            update = event["artifactUpdate"]
            self._take_ids(update)
            self._take_artifact(update.get("artifact", {}), append=bool(update.get("append")))

    @property
    def is_final(self) -> bool:
        """Whether the agent is done with this message."""
        return self._message is not None or self.state in _ANSWERED or self.state in _ENDED_BADLY

    @property
    def open_task(self) -> str:
        """The task that waits for the user's next message, if there is one."""
        return self.task_id if self.state == "TASK_STATE_INPUT_REQUIRED" else ""

    def answer(self) -> AgentAnswer:
        """The answer: the text of the artifacts, else of the agent's message; of both where the agent asks something.

        A task that was rejected with a text is an agent that declines, which is an answer.

        Raises:
            AgentDidNotAnswer: the task failed, was canceled, was rejected without a word, or wants authentication.
        """
        artifacts = self._new_artifacts()
        texts = [text for text in (artifact.text() for artifact in artifacts) if text]
        if self._message is not None:
            texts = texts or [_text(self._message.get("parts", []))]
        elif self.state == "TASK_STATE_INPUT_REQUIRED":
            texts += [self._status_text] if self._status_text not in texts else []
        elif self.state in _ENDED_BADLY and not (self.state == "TASK_STATE_REJECTED" and self._status_text):
            said = f": {shorten(self._status_text)}" if self._status_text else " and says no reason"
            raise AgentDidNotAnswer(f"{_ENDED_BADLY[self.state]}{said}")
        else:
            texts = texts or [self._status_text or self._said_before]
        calls = [call for artifact in artifacts for call in _tool_calls(artifact.metadata)]
        return AgentAnswer("\n".join(filter(None, texts)), tuple(calls))

    def _new_artifacts(self) -> list[_Artifact]:
        """Those of this message. An open task's that say nothing new were made again, where nothing else was said."""
        earlier = self._earlier._artifacts if self._earlier else {}
        new = [artifact.without(earlier.get(name)) for name, artifact in self._artifacts.items()]
        said = self._status_text or any(artifact.parts() for artifact in new)
        return new if said else list(self._artifacts.values())

    def _take_ids(self, holder: Mapping[str, Any]) -> None:
        self.task_id = holder.get("taskId") or self.task_id
        self.context_id = holder.get("contextId") or self.context_id

    def _take_task(self, task: Mapping[str, Any]) -> None:
        """A task's snapshot holds every artifact there is; those of earlier events stand in it, too."""
        self.task_id = task.get("id") or self.task_id
        self.context_id = task.get("contextId") or self.context_id
        before, self._artifacts = self._artifacts, {}
        for artifact in task.get("artifacts", []):
            known = before.get(artifact.get("artifactId", ""))
            self._take_artifact(artifact, append=False)
            if known and known.parts() == artifact.get("parts", []):
                self._artifacts[artifact.get("artifactId", "")].chunks = known.chunks
        for message in task.get("history", []):
            text = _text(message.get("parts", []))
            self._said_before = "" if message.get("role") == "ROLE_USER" else text or self._said_before
        self._take_status(task.get("status", {}))

    def _take_status(self, status: Mapping[str, Any]) -> None:
        if self._earlier and status == self._earlier._status:
            return
        self._status = status
        self._said_before = self._status_text or self._said_before
        self.state = status.get("state", self.state)
        self._status_text = _text(status.get("message", {}).get("parts", []))

    def _take_artifact(self, artifact: Mapping[str, Any], *, append: bool) -> None:
        name, parts = artifact.get("artifactId", ""), list(artifact.get("parts", []))
        metadata = dict(artifact.get("metadata", {}))
        known = self._artifacts.get(name)
        if not append or known is None:
            self._artifacts[name] = _Artifact([parts], metadata)
            return
        known.chunks.append(parts)
        calls = _list(known.metadata.get(TOOL_CALLS_KEY)) + _list(metadata.get(TOOL_CALLS_KEY))
        known.metadata.update(metadata)
        if calls:
            known.metadata[TOOL_CALLS_KEY] = [call for at, call in enumerate(calls) if call not in calls[:at]]


def _text(parts: list[Any]) -> str:
    """The text of parts, one a line: text as it is, data as JSON, a file as a note that it is there."""
    return "\n".join(filter(None, (_part_text(part) for part in parts)))


def _part_text(part: Mapping[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    if "data" in part:
        return json.dumps(_with_integers(part["data"]), ensure_ascii=False)
    if "raw" in part or "url" in part:
        name = part.get("filename") or part.get("url") or "without a name"
        return f"[file {name}{', ' + part['mediaType'] if part.get('mediaType') else ''}]"
    return ""


def _tool_calls(metadata: Mapping[str, Any]) -> list[ToolCall]:
    calls = read_tool_calls(_with_integers(metadata.get(TOOL_CALLS_KEY)))
    return [call.model_copy(update={"source": TOOL_CALLS_SOURCE}) for call in calls]


def _with_integers(value: object) -> Any:
    """The same JSON with whole numbers as integers: on the wire of A2A every number is a float."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_INTEGERS:
        return int(value)
    if isinstance(value, Mapping):
        return {key: _with_integers(item) for key, item in value.items()}
    return [_with_integers(item) for item in value] if isinstance(value, list) else value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
