"""`python -m benchmarks NAME [options]`: run benchmarks/NAME.py, or with --device cuda what ON_CUDA names."""

import argparse
import importlib
import sys

NAMES = (
    "assign",
    "blocks",
    "compare",
    "devices",
    "flow",
    "greedy",
    "gridcut",
    "labels",
    "matching",
    "scale",
    "segment",
    "stereo",
    "superpixels",
    "volume",
)
# Of those that are another program on a GPU; the others take --device themselves, or have no such thing.
ON_CUDA = {"greedy": "matching_cuda_greedy", "labels": "labels_cuda", "matching": "matching_cuda"}


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
    return importlib.import_module(f"benchmarks.{name}").main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
