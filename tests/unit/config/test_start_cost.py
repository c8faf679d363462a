"""A configuration error is reported without paying for what a run needs."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from tests.unit.config.project import write

SCRIPT = """
import json, sys
from pathlib import Path
from arksim_ci.config.errors import ConfigError
from arksim_ci.config.run_inputs import load_run_inputs
try:
    load_run_inputs(Path(sys.argv[1]), environment={}, command="simulate-evaluate")
except ConfigError as error:
    heavy = {"openai", "jinja2", "httpx2", "aiohttp", "rich", "markdown_it"} & set(sys.modules)
    print(json.dumps({"problems": len(error.problems), "heavy": sorted(heavy)}))
"""


def test_a_config_error_is_cheap_and_loads_nothing_heavy(tmp_path: Path) -> None:
    config = write(tmp_path, "max_turn: 3\nnumeric_thresholds: {faithfullness: 3}\n")
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(config)], capture_output=True, text=True, check=True, timeout=60
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert json.loads(done.stdout) == {"problems": 3, "heavy": []}
    assert min(seconds) <= 0.35, seconds
