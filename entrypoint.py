"""What GitHub runs: the action, and its exit code."""

import sys

from arksim_ci.action import main

if __name__ == "__main__":
    sys.exit(main())
