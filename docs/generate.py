"""Write the pages that follow from the code. `make docs` runs it; a test compares the pages with what it would write."""

from __future__ import annotations

import sys
from pathlib import Path

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
    return {"configuration.md": _CONFIGURATION + "".join(map(_row, config_keys_help()))}


def _row(key: ConfigKey) -> str:
    default = f"`{key.default}`" if key.default else ""
    cells = (f"`{key.key}`", key.type, default, key.description)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def main() -> int:
    """Write all pages."""
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
