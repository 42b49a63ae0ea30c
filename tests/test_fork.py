"""Solves on several threads in processes that were forked from one that has run some: the right answers, no hang."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 900  # for compilation mostly

CODE = """
    import json, multiprocessing, os, sys
    import numpy as np
    import assign, gridcut, matching

    def values(seed):
        rng = np.random.default_rng(seed)
        dense = assign.solve(rng.integers(0, 99, (80, 90)), device="cpu")
        dense.check()
        points = assign.solve_points(*rng.random((2, 1100, 2)))
        points.check()
        many = assign.solve_batch(rng.integers(0, 99, (200, 20, 20)), device="cpu", threads=2)
        many.check()
        source, sink, right, down = rng.integers(0, 60, (4, 30, 20))
        cut = gridcut.max_flow(source, sink, {(0, 1): right, (1, 0): down}, device="cpu")
        cut.check()
        return [float(dense.cost), float(points.cost), int(many.cost.sum()), int(cut.value)]

    def answer_of_a_child(seed, results):
        results.put(values(seed))

    def answer_of_a_grandchild(seed, results):
        process = multiprocessing.get_context("fork").Process(target=answer_of_a_child, args=(seed, results))
        process.start()
        process.join()

    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        want = [values(seed) for seed in range(3)]
        with context.Pool(2) as pool:
            got = pool.map_async(values, range(3)).get(300)
        if sys.argv[1] == "fork":
            results = context.Queue()
            process = context.Process(target=answer_of_a_grandchild, args=(0, results))
            process.start()
            got.append(results.get(timeout=300))
            process.join()
        print(json.dumps([want, got, [values(seed) for seed in range(3)]]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_pool_after_solves_on_several_threads(how, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(CODE))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, script, how], env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    want, got, again = json.loads(done.stdout)
    assert again == want
    assert got == (want + want[:1] if how == "fork" else want)
