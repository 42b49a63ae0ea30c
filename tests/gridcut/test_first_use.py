"""Kernels that other processes compile on first use: the list fits the sources, and no failure of a worker matters."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gridcut.device import first_use
from gridcut.device.kernel_types import decoded, encoded

ROWS = json.loads(first_use.LIST.read_text("utf-8"))
ONE_MATCHING = """
import matching, numpy, scipy.sparse
from gridcut.device import first_use, kernel_cache
graph = scipy.sparse.csr_array(numpy.array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]]))
matching.greedy(graph).check()
"""  # a job of few kernels, since each process compiles them again


def test_every_listed_kernel_exists():
    """After an edit of a kernel or its arguments: python -m benchmarks first_use --list."""
    for row in ROWS:
        module, name = row["kernel"].split(":")
        kernel = getattr(import_module(module), name)
        kernel = getattr(kernel, "dispatcher", kernel)
        kinds = tuple(map(decoded, row["types"]))
        assert list(map(encoded, kinds)) == row["types"]
        assert len(kinds) == kernel.py_func.__code__.co_argcount, row["kernel"]


def test_a_type_that_cannot_be_found_by_its_name_has_no_text():
    from numba import types

    with pytest.raises(ValueError, match="no text for the type"):
        encoded(types.Optional(types.int64))


def solved(tmp_path, code, **environment):
    """The last line that a process prints, whose cache of kernels is empty at first."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        **environment,
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split("\n")[-2]


def test_another_process_compiles_some_kernels(tmp_path):
    code = ONE_MATCHING + "print(sorted(set(kernel_cache.origins.values())), first_use.progress()[1])"
    assert solved(tmp_path, code, CUTMATCH_COMPILERS="0") == "['compiled'] 0"
    (tmp_path / "new").mkdir()
    origins, count = solved(tmp_path / "new", code, CUTMATCH_COMPILERS="1").rsplit(" ", 1)
    assert origins == "['cached', 'compiled']"
    assert int(count) > 3


@pytest.mark.slow
@pytest.mark.parametrize("program", ["/no/python", "/bin/true"])
def test_a_worker_that_ends_costs_time_only(tmp_path, program):
    code = f"import sys; sys.executable = {program!r}; import gridcut.device.first_use as f\n"
    code += "f._worker_count = lambda: 1\n" + ONE_MATCHING + "print(set(kernel_cache.origins.values()))"
    assert solved(tmp_path, code) == "{'compiled'}"


@pytest.mark.parametrize("count", ["\u00b2", "9" * 5000, "-1", " 2", "two"])
def test_an_odd_number_of_workers_counts_as_none_given(monkeypatch, count):
    monkeypatch.delenv("CUTMATCH_COMPILERS", raising=False)
    expected = first_use._worker_count()
    monkeypatch.setenv("CUTMATCH_COMPILERS", count)
    assert first_use._worker_count() == expected


def test_what_a_worker_must_not_import(tmp_path):
    """Entries of the path that are no text, and old copies of the standard library beside the packages."""
    for name in ("json", "argparse"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('an old copy')\n")
    code = f"""
import pathlib, sys
from gridcut.device import first_use
sys.path.append(pathlib.Path("/"))
first_use._worker_count, first_use.ROOT = lambda: 1, {str(tmp_path)!r}
"""
    code += ONE_MATCHING + "print(sorted(set(kernel_cache.origins.values())))"
    assert solved(tmp_path, code) == "['cached', 'compiled']"


@pytest.mark.slow  # as if the worker could not be started
def test_without_another_thread_this_process_compiles(tmp_path):
    code = """
import threading
from gridcut.device import first_use
first_use._worker_count = lambda: 1
threading.Thread.start = lambda thread: exec("raise RuntimeError('no thread')")
"""
    code += ONE_MATCHING + "print(set(kernel_cache.origins.values()))"
    assert solved(tmp_path, code) == "{'compiled'}"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_waits_for_no_worker(tmp_path):
    code = """
import os, sys, threading
from gridcut.device import first_use
first_use._tasks["a"] = first_use._Task("a", 1.0, frozenset(), threading.Event())
child = os.fork()
if not child:
    os._exit(len(first_use._tasks))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(first_use.progress())
"""
    assert solved(tmp_path, code) == "(0, 1)"
