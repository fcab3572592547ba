"""`python -m experiments`; see `command`. Processes that do runs import this file again, and nothing with it."""

import sys

if __name__ == "__main__":
    from experiments.command import main

    sys.exit(main())
