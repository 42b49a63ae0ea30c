"""Stopped or killed runs resume without loss; folders with other content are left unchanged."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gridcut
from gridcut.out_of_core import store

ROOT = Path(__file__).resolve().parents[3]


def test_run_stopped_anywhere_resumes(problem, cut_in, tools, tmp_path, assert_same):
    source, sink, edges = problem
    want = tools.solve(source, sink, edges)
    events = []
    cut_in(8)(source, sink, edges, callback=lambda stats: events.append(stats["phase"]))
    assert {"load", "sweep", "labels"} <= set(events)
    for stop in range(1, len(events) + 1):
        folder = tmp_path / str(stop)

        def stopped(stats, left=[stop]):  # noqa: B006 - one list for each definition
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cut_in(8)(source, sink, edges, folder=folder, callback=stopped)
        cut = cut_in(8)(source, sink, edges, folder=folder)
        assert_same(cut, want)


def test_resuming_repeats_no_finished_work(problem, cut_in, tmp_path):
    source, sink, edges = problem
    cut_in(8)(source, sink, edges, folder=tmp_path / "a")
    events = []
    cut = cut_in(8)(source, sink, edges, folder=tmp_path / "a", callback=events.append)
    assert not events
    assert cut.stats["discharges"] == cut_in(8)(source, sink, edges).stats["discharges"]


KILLED = """
import os, signal, sys
import numpy as np
import gridcut
from gridcut.out_of_core import plan, store
plan.strips = lambda lines, *_: [i * lines // 8 for i in range(9)]
source, sink, right, down = np.load(sys.argv[1])
left = [int(sys.argv[3])]
write = store.Store._write
def killed(self, path, *arrays):
    left[0] -= 1
    if left[0] == 0:                                  # in the middle of a file
        path.write_bytes(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, path, *arrays)
store.Store._write = killed
cut = gridcut.max_flow(source, sink, {(0, 1): right, (1, 0): down}, folder=sys.argv[2])
cut.check()
print(cut.value)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_process_killed_while_writing_loses_nothing(problem, tools, tmp_path):
    source, sink, edges = problem
    np.save(tmp_path / "capacities.npy", np.stack([source, sink, *edges.values()]))
    want = tools.solve(source, sink, edges).value
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "capacities.npy"), str(tmp_path / "state")]
    ends = []
    for after in (5, 30, 60, 10**9):
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run([*arguments, str(after)], capture_output=True, text=True, env=environment)
        ends.append(done.returncode)
    assert ends == [-signal.SIGKILL] * 3 + [0], done.stderr
    assert int(done.stdout) == want


def test_folder_with_other_content_is_rejected(problem, cut_in, tmp_path):
    source, sink, edges = problem
    cut_in(4)(source, sink, edges, folder=tmp_path / "a")
    changed = sink.copy()
    changed[-1, -1] += 1
    with pytest.raises(ValueError, match="state of another problem"):
        gridcut.max_flow(source, changed, edges, folder=tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        gridcut.max_flow(source, sink, edges, folder=tmp_path / "b")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["notes.txt"]
    manifest = tmp_path / "a" / store.MANIFEST
    kept = json.loads(manifest.read_text("utf-8"))
    wrong = [{**kept, "shape": None}, {**kept, "shape": 5}, {**kept, "offsets": [1]}]
    wrong += [{**kept, "bounds": None}, {"format": kept["format"]}, [], None, 7, "text"]
    for text in ["", "{", "[" * 100_000, *map(json.dumps, wrong)]:
        manifest.write_text(text)
        with pytest.raises(ValueError, match="cannot be read"):
            gridcut.max_flow(source, sink, edges, folder=tmp_path / "a")


def test_folder_in_use_is_rejected(problem, cut_in, tmp_path, assert_same):
    pytest.importorskip("fcntl")
    source, sink, edges = problem
    refused = []

    def another(stats):
        with pytest.raises(RuntimeError, match="used by another run"):
            gridcut.max_flow(source, sink, edges, folder=tmp_path / "a")
        refused.append(stats["phase"])

    cut = cut_in(4)(source, sink, edges, folder=tmp_path / "a", callback=another)
    assert {"load", "labels"} <= set(refused)
    assert_same(gridcut.max_flow(source, sink, edges, folder=tmp_path / "a"), cut)


def test_temporary_folder_is_deleted_with_the_cut(problem, cut_in):
    source, sink, edges = problem
    cut = cut_in(4)(source, sink, edges)
    folder, labels = cut.folder, cut.labels
    assert folder.exists()
    kept = np.array(labels)
    del cut
    assert not folder.exists()
    assert np.array_equal(labels, kept)
