"""`python -m benchmarks NAME [options]`: run benchmarks/NAME.py."""

import importlib
import sys

NAMES = ("assign", "flow", "greedy", "gridcut", "labels", "matching", "segment", "stereo", "superpixels")


def main(argv):
    if not argv or argv[0] not in NAMES:
        print(f"usage: python -m benchmarks NAME [options]\nNAME is one of: {', '.join(NAMES)}")
        return 0 if argv in (["-h"], ["--help"]) else 2
    return importlib.import_module(f"benchmarks.{argv[0]}").main(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
