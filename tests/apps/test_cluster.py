"""Batches on a dask.distributed cluster of two processes, and the plain functions under dask (extra `dask`)."""

from argparse import Namespace

import numpy as np
import pytest
from PIL import Image

from apps.common.outputs import Outputs
from apps.denoising import denoise_command as denoise
from apps.run import engines
from apps.run.engines import DONE, FAILED, Task
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
        chosen = Namespace(out=str(tmp_path / "out"), resume=False, record=False, overwrite=True)
        tasks = []
        for number, (name, text) in enumerate(texts.items()):
            path = tmp_path / f"{name}.txt"
            path.write_text(text)
            tasks.append(Task(number, name, name, "copy", worker_jobs.copy, path, chosen, Outputs(chosen)))
        return sorted(engines.on_cluster(tasks, workers.scheduler_address, 1), key=lambda outcome: outcome.number)

    return run


def test_failures_on_a_cluster_are_reported(outcomes):
    good, broken = outcomes({"a": "text", "b": "broken"})
    assert (good.status, broken.status) == (DONE, FAILED)
    assert broken.reason == "KeyError: 'a mistake'"


@pytest.mark.slow
def test_unreachable_cluster(photos, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.chdir(photos)
    monkeypatch.setattr(engines, "CONNECT_TIMEOUT", 0.2)
    assert denoise.main(["photos", "--scheduler", "tcp://127.0.0.1:9", "--out", "out"]) == 2
    assert "--scheduler: no cluster at 'tcp://127.0.0.1:9'" in capsys.readouterr().err
    assert not (photos / "out").exists()


@pytest.mark.slow
def test_items_that_kill_cluster_workers_are_reported(outcomes):
    killed, good = outcomes({"a": "killed", "b": "text"})
    assert (killed.status, good.status) == (FAILED, DONE)
    assert killed.reason == engines.KILLED
