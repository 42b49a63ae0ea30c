"""A process that compiles kernels for another: reads their names and types, a line each, and answers with a line each.

Started by gridcut/device/first_use.py.  It ends when its standard input does, so also when the other process ends.
"""

import json
import signal
import sys
from importlib import import_module

from gridcut.device.kernel_types import decoded


def _answer() -> None:
    sys.stdout.write("\n")
    sys.stdout.flush()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal, and is for the other one
    _answer()  # ready
    for line in sys.stdin:
        place, kinds = json.loads(line)
        try:
            module, name = place.split(":")
            kernel = getattr(import_module(module), name)
            getattr(kernel, "dispatcher", kernel).compile(tuple(map(decoded, kinds)))
        except Exception:  # the other process compiles it itself, and reports what is wrong
            pass
        _answer()


if __name__ == "__main__":
    main()
