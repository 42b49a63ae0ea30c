"""Batches on a dask.distributed cluster of two processes, and the plain functions under dask (extra `dask`)."""

import re
import shutil
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from apps.denoising import denoise_command as denoise
from apps.many import cluster
from apps.many.task import DONE, FAILED, Task
from tests.apps import worker_jobs


@pytest.fixture(scope="module")
def workers():
    """A cluster of two processes."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed (extra 'dask')")
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as there:
        yield there


@pytest.fixture
def photos(tmp_path):
    """Three noisy images and a broken one."""
    rng = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for name in "abc":
        image = np.repeat(np.arange(40, 240, 5, dtype=np.uint8)[:, None], 50, axis=1) + rng.integers(0, 15, (40, 50))
        Image.fromarray(image.astype(np.uint8)).save(tmp_path / "photos" / f"{name}.png")
    (tmp_path / "photos" / "d.png").write_text("no image")
    return tmp_path


def results(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.png")}


def test_a_folder_on_a_cluster(workers, photos, monkeypatch, capsys):
    monkeypatch.chdir(photos)
    arguments = ["photos", "--device", "cpu"]
    assert denoise.main([*arguments, "--out", "serial", "--threads", "1"]) == 1
    on_cluster = [*arguments, "--out", "there", "--scheduler", workers.scheduler_address]
    capsys.readouterr()
    assert denoise.main(on_cluster) == 1
    captured = capsys.readouterr()
    assert "3 done, 1 failed" in captured.out
    assert "d.png: image: cannot read" in captured.err
    assert "tried" not in captured.err, "a rejected input would be rejected again"
    assert results(photos / "there") == results(photos / "serial")
    assert len(results(photos / "there")) == 3
    assert denoise.main([*on_cluster, "--resume"]) == 1
    assert "0 done, 3 skipped, 1 failed" in capsys.readouterr().out


@pytest.fixture
def outcomes(workers, tmp_path):
    """Run worker jobs, {name: text}, on the cluster."""

    def run(texts):
        (tmp_path / "out").mkdir(exist_ok=True)
        chosen = Namespace(out=str(tmp_path / "out"), resume=False, record=False)
        tasks = []
        for number, (name, text) in enumerate(texts.items()):
            path = tmp_path / f"{name}.txt"
            path.write_text(text)
            tasks.append(Task(number, name, name, "copy", worker_jobs.copy, path, chosen, ()))
        return sorted(cluster.run(tasks, workers.scheduler_address, 1), key=lambda outcome: outcome.number)

    return run


def test_failures_on_a_cluster_are_retried_and_reported(outcomes, tmp_path):
    good, broken, once = outcomes({"a": "text", "b": "broken", "c": "once"})
    assert (good.status, broken.status, once.status) == (DONE, FAILED, DONE)
    assert broken.reason == "KeyError: 'a mistake'"
    assert len((tmp_path / "b.log").read_text("utf-8").splitlines()) == broken.attempts == 3


def test_items_that_kill_cluster_workers_are_reported(outcomes):
    """Items of a killed worker are computed again, so their number of attempts is not checked."""
    killed, good = outcomes({"a": "killed", "b": "text"})
    assert (killed.status, good.status) == (FAILED, DONE)
    assert killed.reason == "every worker that ran it died; they may be short of memory"


def test_unreachable_cluster(photos, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.chdir(photos)
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT", 0.2)
    assert denoise.main(["photos", "--scheduler", "tcp://127.0.0.1:9", "--out", "out"]) == 2
    assert "--scheduler: no cluster at 'tcp://127.0.0.1:9'" in capsys.readouterr().err
    assert not (photos / "out").exists()


def test_without_dask(photos, monkeypatch, capsys):
    monkeypatch.chdir(photos)
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert denoise.main(["photos", "--scheduler", "tcp://there:8786", "--out", "out"]) == 2
    assert "--scheduler requires dask.distributed; pip install 'dask[distributed]', or" in capsys.readouterr().err


def test_examples_of_the_guide(tmp_path, monkeypatch):
    """The Python of docs/guide/pipelines.md runs: delayed, map_blocks, a cluster."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("distributed", reason="dask.distributed is not installed (extra 'dask')")
    import gridcut
    from apps import flow, segment

    root = Path(__file__).resolve().parents[2]
    shutil.copytree(root / "data/photos", tmp_path / "data/photos")
    guide = (root / "docs/guide/pipelines.md").read_text("utf-8")
    names = {"__name__": "__main__"}
    for example in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(example, names)
    for photo, mask in zip(names["photos"], names["masks"], strict=True):
        np.testing.assert_array_equal(mask, segment(photo, box=(20, 20, 190, 130), device="cpu").mask)
    weights = names["weights"]
    for found, costs in zip(names["found"], names["unary"], strict=True):
        energy = gridcut.alpha_expansion(costs, weights, device="cpu").energy
        assert gridcut.energy_of(found, costs, weights) == energy
    first, second, third = names["frames"]
    np.testing.assert_array_equal(
        names["motion"], [flow(*pair, device="cpu").flow for pair in ((first, second), (second, third))]
    )


def test_results_come_back_from_other_processes(workers):
    """All results can be pickled, including those of the solvers."""
    import distributed

    import gridcut
    from apps import denoise as restore
    from apps import flow
    from apps.segmentation.segmentation import segment_marked
    from apps.segmentation.strokes import marks_of_box

    rng = np.random.default_rng(0)
    photo = rng.random((32, 40, 3), dtype=np.float32) / 4
    photo[8:24, 10:30] += 0.6
    frames = [np.ascontiguousarray(np.kron(rng.random((20, 24)), np.ones((4, 4)))[n:][:64, :90]) for n in range(2)]
    unary = rng.integers(0, 100, (3, 20, 30), dtype=np.int32)
    calls = {
        "mask": (segment_marked, (photo, marks_of_box((6, 4, 34, 28), (32, 40)))),
        "image": (restore, (photo,)),
        "flow": (flow, frames),
        "labels": (gridcut.alpha_expansion, (unary, dict.fromkeys(gridcut.neighbourhood(4), 20))),
        "value": (gridcut.max_flow, (unary[0], unary[1], {(0, 1): 9, (1, 0): 9})),
    }
    with distributed.Client(workers, set_as_default=False) as client:
        sent = {name: client.submit(function, *inputs, device="cpu") for name, (function, inputs) in calls.items()}
        for name, (function, inputs) in calls.items():
            found, wanted = sent[name].result(), function(*inputs, device="cpu")
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
