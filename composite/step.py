"""One step of the composite action, run by the environment that install.py made: `step.py gate` or `step.py publish`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from arksim_ci.action.composite import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
