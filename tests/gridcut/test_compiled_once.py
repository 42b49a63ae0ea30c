"""The number of functions that a first call compiles, which must not grow unnoticed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST_OF_FOUR = 45  # functions that a maximum flow with four neighbours and its certificate compile
COMPILED = """
import numba.core.event as event, numpy
compiled = []
class Listener(event.Listener):
    def on_start(self, e):
        function = getattr(e.data.get("dispatcher"), "py_func", None)
        compiled.append(f"{getattr(function, '__module__', '?')}.{getattr(function, '__name__', '?')}")
    def on_end(self, e):
        pass
event.register("numba:compile", Listener())
import gridcut
from gridcut.device import kernel
kernel(lambda n: n)(1)
assert len(compiled) == 1, compiled  # every compilation is seen
def solve(*offsets):
    compiled.clear()
    source, sink = numpy.random.default_rng(0).integers(0, 100, (2, 130, 130))
    gridcut.max_flow(source, sink, dict.fromkeys(offsets, 30), device="cpu").check()
    return len(compiled), sum(name.startswith("gridcut.ibfs") for name in compiled)
counts = solve((0, 1), (1, 0)), solve((0, 1), (1, 0), (1, 1)), solve((0, 1), (1, 0), (1, -1), (1, 1))
print(counts)
"""


@pytest.mark.slow
def test_the_search_is_compiled_once_for_each_of_two_kinds_of_neighbourhoods(tmp_path):
    """One with four neighbours, whose steps are constants, and all others."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], capture_output=True, text=True, env=environment, timeout=500
    )
    assert done.returncode == 0, done.stderr
    counts = eval(done.stdout)
    (four, four_search), (_, six_search), (_, eight_search) = counts
    assert four <= MOST_OF_FOUR, counts
    assert 0 < six_search <= four_search, counts
    assert eight_search == 0, counts
