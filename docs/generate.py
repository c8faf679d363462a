"""Write the pages that follow from the code. `make docs` runs it; a test compares the pages with what it would write."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arksim_ci.config.help import ConfigKey, config_keys_help

HERE = Path(__file__).parent

_CONFIGURATION = """\
# config.yaml

Every key, as `arksim-ci simulate-evaluate --help` lists them too. Unknown keys are refused, with the nearest known name. Any key can be overridden: `--max_turns 3`, `--max-turns=3`,
nested ones with dots (`--numeric_thresholds.faithfulness 3`), lists with commas; in a workflow by the inputs, which beat `overrides`, which beat the file.

Paths in the file are relative to it, paths on the command line to the working directory, paths in the action's inputs to the workspace. `${VAR}` works in the agent's endpoint and in
header values; an unset variable is an error that names it.

For completion and checks in an editor: `arksim-ci schema config > config.schema.json`.

| key | type | default | meaning |
| --- | --- | --- | --- |
"""


def pages() -> dict[str, str]:
    """Each page's text by its name in `docs/`."""
    record, soak = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("reliability.json", "soak.json"))
    return {
        "configuration.md": _CONFIGURATION + "".join(map(_row, config_keys_help())),
        "reliability.md": "\n".join(_reliability(record, soak)) + "\n",
    }


def _row(key: ConfigKey) -> str:
    default = f"`{key.default}`" if key.default else ""
    cells = (f"`{key.key}`", key.type, default, key.description)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


_ROLES = ("judge", "simulated user", "agent", "clustering", "recommendations", "GitHub")
_SHARES = ("sometimes", "some_always", "always")


def _reliability(record: Mapping[str, Any], soak: Mapping[str, Any]) -> Iterator[str]:
    """What `python docs/record_reliability.py` and `python -m bench.soak` saw, as a page."""
    yield "# What happens when things fail"
    yield ""
    yield (
        "A run ends with 0 only if everything that the gates read (everything at all, without gates) was measured. What is not measured is "
        "never counted as passed, and every finished conversation is in the files, however the run ended. The tables are written from runs of "
        "the tests (`python docs/record_reliability.py`, then `make docs`)."
    )
    yield ""
    yield "## Faults"
    yield ""
    yield (
        "One server plays everybody and fails in one way at a time. In each cell, the exit codes of three runs of three conversations: 30 % of the "
        "requests are struck, each drawn anew; 30 % are struck, and a request that is made again meets the same; all are struck. A judge or a "
        "simulated user that never answers well is 3; an agent that falls silent is 1; what only explains failures (clustering, recommendations) "
        "or publishes results (GitHub) decides nothing, and its trouble is a warning. Without gates the judge's and the simulated user's codes "
        "for 100 % are the same."
    )
    yield ""
    yield f"| the answer | {' | '.join(_ROLES)} |"
    yield f"| --- |{' --- |' * len(_ROLES)}"
    for fault, roles in record["matrix"].items():
        cells = (" / ".join(str(roles[role][share]) for share in _SHARES) if role in roles else "" for role in _ROLES)
        yield f"| {fault} | {' | '.join(cells)} |"
    yield ""
    yield "## Situations in which a gate could go green by mistake"
    yield ""
    yield (
        'ArkSim 0.3.8 was run in each of these; "green" is its exit code 0, although nothing good had been measured. The last column holds the '
        "exit codes of our tests of the situation: where there are two, one is that of its counterpart, for example the same run with the fault mended."
    )
    yield ""
    yield "| # | situation | there | here | exit codes |"
    yield "| --- | --- | --- | --- | --- |"
    for row, texts in record["situations"].items():
        codes = ", ".join(map(str, record["codes"][row]))
        situation, there, here = (texts[name].replace("|", "\\|") for name in ("situation", "there", "here"))
        yield f"| {row} | {situation} | {there} | {here} | {codes} |"
    yield ""
    yield from _soaked(soak)


def _soaked(soak: Mapping[str, Any]) -> Iterator[str]:
    coverage, attempts, served = soak["coverage"], soak["attempts"], soak["served"]
    yield "## A long run"
    yield ""
    yield (
        f"`python -m bench.soak`: {soak['conversations']:,} conversations of two turns, {soak['workers']} at once, in {soak['seconds']:,.0f} s on two cores "
        f"that other work shared, while {soak['rate']:.0%} of all requests failed, in {served['kinds']} ways ({served['slow']} of them by hanging or dripping). "
        f"It ended with {soak['exit_code']}: {coverage['expected_conversations'] - coverage['simulated_conversations']:,} conversations could not go on because "
        "the simulated user's model refused or answered with nothing usable, and what is missing is never taken for passed."
    )
    yield ""
    yield "| | |"
    yield "| --- | --- |"
    struck = ", ".join(f"{role} {count:,}" for role, count in sorted(served["struck"].items()))
    requests = served["requests"]
    yield f"| requests | {requests['llm']:,} to the LLM, {requests['agent']:,} to the agent |"
    yield f"| struck | {struck} |"
    retries = ", ".join(f"{role.replace('_', ' ')} {count:,}" for role, count in soak["retries"].items())
    yield f"| retries of LLM requests | {retries} |"
    yield f"| test cases, attempts | {attempts['test_cases']:,}, {attempts['attempts']:,} |"
    yield f"| the agent fell silent in | {soak['agent_silent']:,} |"
    yield f"| conversations that came to their end | {coverage['simulated_conversations']:,} of {coverage['expected_conversations']:,} others |"
    yield f"| turns judged | {coverage['evaluated_turns']:,} of {coverage['expected_turns']:,} |"
    yield f"| values measured | {coverage['evaluated_metric_values']:,} of {coverage['expected_metric_values']:,} |"
    yield ""
    yield "Memory and open file descriptors of the process, as the run went on (everything said and judged is held until the files are written):"
    yield ""
    yield f"| seconds | {' | '.join(f'{value:.0f}' for value in soak['sampled_seconds'][1:])} |"
    yield f"| --- |{' --- |' * 10}"
    yield f"| memory, MB | {' | '.join(f'{value:.0f}' for value in soak['memory_mb'][1:])} |"
    yield f"| descriptors | {' | '.join(f'{value:.0f}' for value in soak['descriptors'][1:])} |"


def main() -> int:
    """Write all pages."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
