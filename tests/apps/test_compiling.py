"""What is said and counted while kernels are compiled."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MATCHING = """
import logging, numpy, scipy.sparse, matching
from gridcut.device import kernel_store
kernel_store.NOTICEABLE = 0.1
graph = scipy.sparse.csr_array(numpy.array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]]))
matching.greedy(graph).check()
print(kernel_store.compiled_kernels(), len(list(kernel_store.cache_folder().glob("*.nbc"))))
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


@pytest.mark.slow
def test_a_first_use_says_that_it_compiles_and_how_many(tmp_path):
    out, said = solved(tmp_path)
    count, files = map(int, out.split())
    assert count == files > 3, "one for each file"
    first, last = said.splitlines()
    assert re.search("compiling kernels for a first use, .*`cutmatch warmup` does it in advance", first)
    assert re.match(rf"cutmatch: {count} kernels were compiled and kept in {tmp_path}.*, in \d+ s$", last)
    assert solved(tmp_path) == (f"0 {files}\n", ""), "nothing was compiled"
