"""What is said and counted while kernels are compiled."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numba
import pytest

from apps.common.clock import Clock, compile_seconds

ROOT = Path(__file__).resolve().parents[2]
MATCHING = """
import logging, numpy, scipy.sparse, matching
from gridcut.device import compiling
compiling.NOTICEABLE = 0.1
graph = scipy.sparse.csr_array(numpy.array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]]))
matching.greedy(graph).check()
print(compiling.compiled_kernels(), len(list(compiling.kept_in().glob("*.nbc"))))
"""  # a call of few kernels


def solved(folder, code=MATCHING, **environment):
    """Output and errors of a process with this cache of kernels."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder),
        "PYTHONPATH": str(ROOT),
        "CUTMATCH_QUIET": "0",
    } | environment
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_first_use_says_that_it_compiles_and_how_many(tmp_path):
    out, said = solved(tmp_path)
    count, files = map(int, out.split())
    assert count == files > 3, "one for each file"
    first, last = said.splitlines()
    assert re.search("compiling kernels for a first use, .*`cutmatch warmup` does it in advance", first)
    assert re.match(rf"cutmatch: {count} kernels were compiled and kept in {tmp_path}.*, in \d+ s$", last)
    assert solved(tmp_path) == (f"0 {files}\n", ""), "nothing was compiled"


@pytest.mark.parametrize("way", ["environment", "level"])
def test_it_can_be_silent(tmp_path, way):
    if way == "environment":
        assert solved(tmp_path, CUTMATCH_QUIET="1")[1] == ""
    else:
        level = "import logging; logging.getLogger('cutmatch').setLevel(logging.ERROR)"
        assert solved(tmp_path, level + MATCHING)[1] == ""


def test_seconds_of_all_threads_are_compile_time_and_counted_once():
    @numba.njit
    def rule(x):
        return x + 1

    @numba.njit
    def use(x):
        return rule(x) * 2

    clock, before, inside = Clock(), compile_seconds(), []
    thread = threading.Thread(target=lambda: inside.append(use(1)))
    thread.start()
    thread.join()
    clock.charge("method")
    assert inside == [4]
    compiled = compile_seconds() - before
    assert clock.seconds["compile"] == pytest.approx(compiled)
    assert 0 <= clock.seconds["method"] < compiled
    assert sum(clock.seconds.values()) <= clock.total()["total"], "callees are inside their caller"
    assert use(2) == 6
    assert compile_seconds() - before == compiled, "nothing was compiled"
