"""Batches on several processes: killed workers, resumed runs, and equal results."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apps.run import engines, records
from tests.apps.worker_jobs import PROGRAM

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def batch(tmp_path):
    """Run worker jobs, {name: text}, in two processes or with other options; the status and the JSON."""

    def run(texts, *more):
        (tmp_path / "in").mkdir(exist_ok=True)
        for name, text in texts.items():
            (tmp_path / "in" / f"{name}.txt").write_text(text)
        paths = [str(tmp_path / "in" / f"{name}.txt") for name in texts]
        how = ["--out", str(tmp_path / "out"), "--json", str(tmp_path / "r.json"), "--overwrite", "--device", "cpu"]
        status = PROGRAM.run([*paths, *how, *(more or ("--workers", "2"))])
        return status, json.loads((tmp_path / "r.json").read_text("utf-8"))

    run.folder = tmp_path
    return run


def attempts(batch, name):
    """One row per attempt: process, threads, GPU."""
    return [line.split() for line in (batch.folder / "in" / f"{name}.log").read_text("utf-8").splitlines()]


def visible(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}


def test_a_killed_worker_loses_nothing(batch, capsys):
    texts = dict.fromkeys("abcdef", "text") | {"c": "shot"}
    status, report = batch(texts)
    assert status == 0
    assert [entry["item"] for entry in report["items"]] == list("abcdef")
    assert visible(batch.folder / "out") == {f"{name}.out": text.upper().encode() for name, text in texts.items()}
    (first, *_), (second, *_) = attempts(batch, "c")
    assert first != second, "a fresh process"
    assert all(len(attempts(batch, name)) == 1 for name in "abdef")
    captured = capsys.readouterr()
    assert "6 done, 0 failed" in captured.out
    assert captured.err == "", "no bar in a log"


def test_permanent_failures_are_reported_and_stop_nothing(batch, capsys):
    status, report = batch({"a": "text", "b": "broken", "c": "killed", "d": "rejected", "e": "once", "f": "text"})
    assert status == 70, "a KeyError is a defect"
    assert [entry["item"] for entry in report["items"]] == ["a", "f"]
    errors = {failure["item"]: failure["error"] for failure in report["failures"]}
    assert errors["b"] == errors["e"] == "KeyError: 'a mistake'"
    assert errors["c"] == engines.KILLED
    assert errors["d"] == "image: not this one"
    assert [len(attempts(batch, name)) for name in "abcdef"] == [1, 1, 3, 1, 1, 1]
    assert len({process for process, *_ in attempts(batch, "c")}) == 3
    assert set(visible(batch.folder / "out")) == {"a.out", "f.out"}, "nothing half-written"
    captured = capsys.readouterr()
    assert "2 done, 4 failed" in captured.out
    assert "cutmatch copy: d: image: not this one" in captured.err


def test_resume_repeats_only_changed_items(batch, capsys, monkeypatch):
    texts = {"a": "one", "b": "two", "c": "three", "d": "four", "e": "five"}
    assert batch(texts, "--threads", "1")[0] == 0, "records are written without --resume too"
    before = batch(texts, "--resume")[1]
    assert [len(attempts(batch, name)) for name in texts] == [1] * 5
    assert before["skipped"] == list(texts)
    assert [entry["files"]["out"][-5:] for entry in before["items"]] == [f"{name}.out" for name in texts]
    capsys.readouterr()

    out = batch.folder / "out"
    (out / "b.out").unlink()
    (out / "c.out").write_text("altered")
    (out / "d-copy.json").write_text('{"input": ')
    after = batch(texts | {"a": "another"}, "--resume")[1]
    assert [len(attempts(batch, name)) for name in texts] == [2, 2, 2, 2, 1]
    assert after["skipped"] == ["e"]
    assert (out / "c.out").read_text("utf-8") == "THREE"
    assert "4 done, 1 skipped, 0 failed" in capsys.readouterr().out

    stronger = ("--resume", "--strength", "3")
    assert batch(texts, *stronger)[1]["skipped"] == []
    assert batch(texts, *stronger)[1]["skipped"] == list(texts)
    monkeypatch.setattr(records, "_program", lambda: "another version")
    assert batch(texts, *stronger)[1]["skipped"] == []


def test_ctrl_c_leaves_no_partial_files(tmp_path):
    for name, text in {"a": "text", "b": "shot", "c": "slow", "d": "slow", "e": "text"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    code = f"""
import sys
from tests.apps.worker_jobs import PROGRAM

if __name__ == "__main__":
    files = [f"{tmp_path}/{{name}}.txt" for name in "abcde"]
    sys.exit(PROGRAM.main([*files, "--workers", "2", "--device", "cpu", "--out", "{tmp_path}/out"]))
"""
    (tmp_path / "script.py").write_text(code)
    running = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    logs = [tmp_path / f"{name}.log" for name in "cd"]
    deadline = time.monotonic() + 120
    while not all(log.exists() for log in logs) and time.monotonic() < deadline:
        time.sleep(0.05)
    started = [log.name for log in logs if log.exists()]
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to every process
    try:
        _, errors = running.communicate(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):  # no test after this one shall meet what is left
            os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
    assert started == ["c.log", "d.log"]
    assert running.returncode == 130
    assert "cutmatch copy: stopped" in errors
    assert "Traceback" not in errors
    assert visible(tmp_path / "out") == {"a.out": b"TEXT", "b.out": b"SHOT"}
    for log in logs:
        with pytest.raises(ProcessLookupError):
            os.kill(int(log.read_text("utf-8").split()[0]), 0)


def test_each_worker_gets_its_share_of_threads_and_one_gpu(batch, monkeypatch):
    monkeypatch.setattr(engines, "_gpus", lambda device: ["3", "5"])
    shares = engines.environments(3, 6, "auto")
    assert [share["NUMBA_NUM_THREADS"] for share in shares] == ["2", "2", "2"]
    assert [share["CUDA_VISIBLE_DEVICES"] for share in shares] == ["3", "5", "3"]
    assert engines.environments(2, None, "cpu")[0]["OMP_NUM_THREADS"] == "1"
    assert engines.environments(2, 1, "cpu")[0]["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    batch({"a": "text", "b": "text", "c": "text"}, "--workers", "2", "--threads", "6", "--device", "auto")
    assert {tuple(row[1:]) for name in "abc" for row in attempts(batch, name)} <= {("3", "3"), ("3", "5")}
    assert os.environ["NUMBA_NUM_THREADS"] == "2"


def test_visible_gpus(monkeypatch):
    assert engines._gpus("cpu") == []
    monkeypatch.setattr("gridcut.device.choose.gpu_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,GPU-7")
    assert engines._gpus("auto") == ["1", "GPU-7"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert engines._gpus("cuda") == ["0", "1"]
