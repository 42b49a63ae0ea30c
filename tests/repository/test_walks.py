"""The walk from a public call to its first kernel is short, and docs/architecture.md names the functions on it.

To add a row: the call, the kernel as `module:name` in the module that calls or launches it, and the two maxima; then
the row of that name in the table of docs/architecture.md.
"""

import importlib
import re
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from PIL import Image

ROOT = Path(__file__).parents[2]
PACKAGES = ("gridcut", "assign", "matching", "apps")


def max_flow(device, side=4):
    import gridcut

    ones = np.ones((side, side + 1), np.int32)
    gridcut.max_flow(ones, 2 * ones, {(0, 1): 3, (1, 0): 3}, device=device)


def assignment(device, n):
    import assign

    assign.solve(np.arange(n * n).reshape(n, n) % 5, device=device)


def maximum_matching(device, from_gpu=False):
    import matching

    graph = scipy.sparse.csr_array(np.eye(4))
    if from_gpu:
        from numba import cuda

        graph = cuda.to_device(graph.indptr), cuda.to_device(graph.indices), graph.shape
    matching.maximum(graph, device=device)


def segment_command():
    from apps import cli

    image, strokes = np.zeros((8, 9, 3), np.uint8), np.zeros((8, 9), np.uint8)
    image[:, 4:], strokes[2:4, 5:7], strokes[2:4, 1:3] = 200, 1, 2
    with tempfile.TemporaryDirectory() as folder:
        for name, pixels in (("image.png", image), ("strokes.png", strokes)):
            Image.fromarray(pixels).save(Path(folder) / name)
        files = [f"{folder}/image.png", "--scribbles", f"{folder}/strokes.png"]
        cli.main(["segment", *files, "--out", folder, "--device", "cpu", "--quiet"])


sim = pytest.mark.sim
WALKS = [  # row of the table, call, first kernel, most frames, most files
    ("`gridcut.max_flow`, small grid", lambda: max_flow("cpu"), "gridcut.small:check_and_solve_planes", 2, 2),
    ("`gridcut.max_flow`, CPU", lambda: max_flow("cpu", 130), "gridcut.ibfs.ibfs:push_one_hop", 9, 4),
    pytest.param(
        *("`gridcut.max_flow`, CUDA", lambda: max_flow("cuda"), "gridcut.cuda.device_load:bounds_kernel", 8, 4),
        marks=sim,
    ),
    pytest.param(
        *("`gridcut.max_flow`, CUDA, to `tiles`", lambda: max_flow("cuda"), "gridcut.tiles.tiles:bits_kernel", 9, 5),
        marks=sim,
    ),
    ("`assign.solve`, small matrix", lambda: assignment("cpu", 4), "assign.small:solve_matrix", 3, 2),
    ("`assign.solve`, CPU", lambda: assignment("cpu", 700), "assign.dense.dense:column_minima", 4, 3),
    ("`matching.maximum`, CPU", lambda: maximum_matching("cpu"), "matching.portfolio.portfolio:solve_small", 3, 3),
    pytest.param(
        "`matching.maximum`, CUDA",
        lambda: maximum_matching("cuda"),
        *("matching.core.transpose_cuda:transpose_kernel", 6, 5),
        marks=sim,
    ),
    pytest.param(
        "`matching.maximum`, arrays on a GPU",
        lambda: maximum_matching("auto", from_gpu=True),
        *("matching.core.device_graph_cuda:read_kernel", 6, 4),
        marks=sim,
    ),
    (
        "`cutmatch segment IMAGE --scribbles STROKES`",
        segment_command,
        *("apps.segment.colour_models:palette_kernel", 12, 7),
    ),
]


class Stop(BaseException):  # not an Exception, which a command would report as a defect
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
