"""One solve of a stored instance, in a separate process for benchmarks/out_of_core.py: JSON lines of events.

    python -m benchmarks.out_of_core_probe INSTANCE STATE METHOD MEMORY CHECK

STATE: folder of the state; METHOD "out_of_core" or one that works in memory; CHECK: 1 to certify the cut at the end.
"""

import hashlib
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np

import gridcut
from benchmarks import stored_instances


def say(**what):
    # Pages of files that are mapped count too; ru_maxrss is in kilobytes, on macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({**what, "peak": peak}), flush=True)


def main(instance, state, method, memory, check):
    source, sink, edges = stored_instances.read(Path(instance))
    say(event="started")
    start = time.perf_counter()
    if method == "out_of_core":
        options = {"memory": int(memory), "folder": state}
        callback = lambda stats: say(event="progress", phase=stats["phase"], done=stats["done"], of=stats["of"])  # noqa: E731
        cut = gridcut.max_flow(source, sink, edges, device="cpu", method=method, callback=callback, **options)
    else:
        cut = gridcut.max_flow(source, sink, edges, device="cpu", method=method)
    seconds = time.perf_counter() - start
    labels = hashlib.sha256()
    for line in cut.labels:
        labels.update(np.ascontiguousarray(line))
    say(event="solved", value=cut.value, seconds=seconds, labels=labels.hexdigest(), stats=cut.stats)
    if check == "1":
        start = time.perf_counter()
        cut.check()
        say(event="certified", seconds=time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
