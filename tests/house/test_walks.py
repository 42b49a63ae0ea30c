"""The walk from a public call to its first kernel is short, and docs/architecture.md names the functions on it.

To add a row: the call, the kernel as `module:name` in the module that calls or launches it, and the two maxima; then
the row of that name in the table of docs/architecture.md.
"""

import importlib
import re
import traceback
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("gridcut", "assign", "matching", "apps")


def max_flow(device):
    import gridcut

    ones = np.ones((4, 5), np.int32)
    gridcut.max_flow(ones, 2 * ones, {(0, 1): 3, (1, 0): 3}, device=device)


def assignment(device):
    import assign

    assign.solve(np.arange(16).reshape(4, 4) % 5, device=device)


sim = pytest.mark.sim
WALKS = [  # row of the table, call, first kernel, most frames, most files
    ("`gridcut.max_flow`, CPU", lambda: max_flow("cpu"), "gridcut.ibfs.ibfs:push_one_hop", 9, 4),
    pytest.param(
        *("`gridcut.max_flow`, CUDA", lambda: max_flow("cuda"), "gridcut.cuda.device_load:bounds_kernel", 8, 4),
        marks=sim,
    ),
    pytest.param(
        *("`gridcut.max_flow`, CUDA, to `tiles`", lambda: max_flow("cuda"), "gridcut.tiles.tiles:bits_kernel", 9, 5),
        marks=sim,
    ),
    ("`assign.solve`, CPU", lambda: assignment("cpu"), "assign.dense.dense:column_minima", 4, 3),
]


class Stop(Exception):
    pass


class FirstKernel:
    """Raises when it is called, or launched as kernel[blocks, threads](...)."""

    def __getitem__(self, configuration):
        return self

    def __call__(self, *arguments):
        raise Stop


@pytest.mark.parametrize(("name", "call", "kernel", "most_frames", "most_files"), WALKS)
def test_walk_to_the_first_kernel(name, call, kernel, most_frames, most_files, monkeypatch):
    module, attribute = kernel.split(":")
    monkeypatch.setattr(importlib.import_module(module), attribute, FirstKernel())
    with pytest.raises(Stop) as stopped:
        call()
    frames = [frame for frame, _ in traceback.walk_tb(stopped.value.__traceback__)]
    codes = [frame.f_code for frame in frames if is_ours(frame.f_code.co_filename)]
    files = {code.co_filename for code in codes}
    functions = [f".{Path(code.co_filename).stem}.{code.co_qualname.split('<locals>.')[-1]}" for code in codes]
    assert len(codes) <= most_frames, functions
    assert len(files) <= most_files, files
    table = (ROOT / "docs/architecture.md").read_text("utf-8")
    ((frames, count, named),) = re.findall(rf"^\| {re.escape(name)} \| (\d+) / (\d+) \| (.*) \|$", table, re.M)
    assert (int(frames), int(count)) == (len(codes), len(files))
    for function, documented in zip(functions, named.split(", "), strict=True):
        assert function.endswith("." + documented.strip("`"))


def is_ours(file):
    return Path(file).is_relative_to(ROOT) and Path(file).relative_to(ROOT).parts[0] in PACKAGES
