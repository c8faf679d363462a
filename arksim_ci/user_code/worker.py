"""The worker process: loads the user's metric and agent classes, and runs them for the host.

Started as `python -I -B worker.py DESCRIPTOR` by any Python from 3.10 on; it needs neither our package nor its dependencies there, only the
files of this folder and the standard library. Messages go over the socket DESCRIPTOR, never over standard output: what the user's code
prints there is the host's log.

Where things run: files are loaded, and async methods run, on the one event loop, in the main thread, as in ArkSim. A sync method of a
metric has a thread of its own; an agent whose `execute` is sync has one thread for all of its conversation, constructor included.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

OLDEST_PYTHON = (3, 10)


def _make_our_folder_importable() -> None:
    """`arksim_ci.user_code` is this folder, whether or not the package is installed for this Python."""
    for name, path in (("arksim_ci", []), ("arksim_ci.user_code", [str(Path(__file__).parent)])):
        made = types.ModuleType(name, "Stands for the package inside the worker process.")
        made.__path__ = path
        sys.modules[name] = made
    sys.modules["arksim_ci"].user_code = sys.modules["arksim_ci.user_code"]  # type: ignore[attr-defined]


def _make_users_folders_importable() -> None:
    """What `-I` left out so that nothing could hide the standard library while we started: PYTHONPATH and the user's packages."""
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    if sys.prefix == sys.base_prefix:
        import site  # noqa: PLC0415 - only outside a virtual environment

        site.addsitedir(site.getusersitepackages())
    sys.path[:0] = folders


def main(descriptor: int) -> None:
    """Serve the host until it hangs up; then end, with everything that the user's code started."""
    _make_our_folder_importable()
    serving: Any = importlib.import_module("arksim_ci.user_code.serving")
    _make_users_folders_importable()
    serving.serve(descriptor)


if __name__ == "__main__":
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(
            f"Python {'.'.join(map(str, OLDEST_PYTHON))} or newer is needed for custom metrics and agents; this is {sys.version.split()[0]}"
        )
    number = int(sys.argv[1])
    sys.argv[1:] = []
    code = 1
    try:
        main(number)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    # Not sys.exit: threads that the user's code left behind would keep the process.
    sys.stderr.flush()
    os._exit(code)
