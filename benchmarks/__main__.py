"""`python -m benchmarks NAME [options]`: run benchmarks/NAME.py."""

import importlib
import sys
from pathlib import Path

HELPERS = {
    "__init__",
    "__main__",
    "assign_cuda",
    "assign_instances",
    "assign_rivals",
    "gridcut_cuda",
    "instances",
    "matching_instances",
    "probe",
    "rivals",
    "table",
    "timing",
}


def main(argv):
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in HELPERS)
    if not argv or argv[0] not in names:
        print(f"usage: python -m benchmarks NAME [options]\nNAME is one of: {', '.join(names)}")
        return 0 if argv in (["-h"], ["--help"]) else 2
    return importlib.import_module(f"benchmarks.{argv[0]}").main(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
