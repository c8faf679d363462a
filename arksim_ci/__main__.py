"""`python -m arksim_ci` is `arksim-ci`."""

import sys

from arksim_ci.cli import main

if __name__ == "__main__":
    sys.exit(main())
