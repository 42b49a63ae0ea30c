"""`python -m benchmarks NAME [options]`: run benchmarks/NAME.py, or with --device cuda the module in ON_CUDA."""

import argparse
import importlib
import sys

from benchmarks.command import Stop

NAMES = (
    "assign",
    "assign_everyday",
    "compare",
    "cost_flow",
    "devices",
    "faces",
    "first_use",
    "flow",
    "follow",
    "graphs",
    "greedy",
    "gridcut",
    "interactive",
    "labels",
    "matching",
    "papers",
    "points",
    "refine",
    "segment",
    "small",
    "stereo",
    "superpixels",
    "track",
)
# The benchmarks that have a separate module for a GPU.
ON_CUDA = {"gridcut": "gridcut_cuda"}


def main(argv):
    if not argv or argv[0] not in NAMES:
        print(f"usage: python -m benchmarks NAME [options]\nNAME is one of: {', '.join(NAMES)}")
        return 0 if argv in (["-h"], ["--help"]) else 2
    name, rest = argv[0], argv[1:]
    if name in ON_CUDA:
        device = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        device.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        chosen, rest = device.parse_known_args(rest)
        name = ON_CUDA[name] if chosen.device == "cuda" else name
    try:
        return importlib.import_module(f"benchmarks.{name}").main(rest)
    except Stop as stop:
        status, reason = stop.args
        print(reason)
        return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
