"""`cutmatch warmup`: what it compiles is not compiled again."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apps import cli
from apps.warmup import warmup_command, warmup_jobs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no kernels are named 'nothing'; the names are segment, refine, superpixels"),
        (["segment", "--workers", "0"], "--workers must be 1 or more, got 0"),
    ],
)
def test_bad_arguments(arguments, message, capsys):
    assert cli.main(["warmup", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("workers", [1, 2, 10**20])
def test_every_job_is_started_once(monkeypatch, workers):
    class Pool(ThreadPoolExecutor):
        def __init__(self, workers, mp_context):
            super().__init__(workers)

    monkeypatch.setattr(warmup_command, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(warmup_command, "_run_one", lambda job, samples, out: job)
    assert sorted(warmup_command._run_all(list("abc"), workers, quiet=True)) == ["a", "b", "c"]


def run(*words, **environment) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_warm_cache_leads_to_no_compilation(tmp_path):
    """As a container image that was built with `RUN cutmatch warmup superpixels`."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first = run("-m", "apps.cli", "warmup", "superpixels", "--workers", "1", **cache)
    assert " kernels compiled, 0 were ready: " in first
    assert (
        run("-m", "apps.cli", "warmup", "superpixels", "--workers", "1", **cache)
        .splitlines()[-1]
        .startswith("0 kernels compiled, ")
    )
    (tmp_path / "samples").mkdir()
    warmup_jobs.write_samples(tmp_path / "samples")
    code = (
        "import json; from apps import cli; from apps.common import clock\n"
        f"assert cli.main(['superpixels', {str(tmp_path / 'samples' / 'chelsea.jpg')!r}, '--quiet', '--out', "
        f"{str(tmp_path / 'out')!r}]) == 0\nprint(json.dumps(clock.compiled_kernels()))"
    )
    assert json.loads(run("-c", code, **cache)) == 0
