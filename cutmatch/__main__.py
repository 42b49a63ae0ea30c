"""`python -m cutmatch`: the command."""

import sys

from cutmatch.command import main

if __name__ == "__main__":
    sys.exit(main())
