"""The walk from a public call to its main loop is short, and docs/architecture.md states its length.

A walk is measured when the call first enters the file with the main loop: a kernel that searches or discharges, or the
loop over slabs.  It counts the frames and the files of the product, including that file, but without
`launch`, which only starts a kernel.

An edit of the page is queued: its walk leads from the socket to the queue, and from there on.

To add a row: the name, a function that prepares the call and returns it, and the file; then the row of that name in the
table of docs/architecture.md.
"""

import asyncio
import contextlib
import importlib
import json
import re
import sys
import tempfile
import traceback
from argparse import Namespace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from PIL import Image

ROOT = Path(__file__).parents[2]
PACKAGES = ("gridcut", "assign", "matching", "apps")
MAX_FILES = {"gridcut": 6}  # by package; one of them refuses a second call of a solver
TABLE = (ROOT / "docs/architecture.md").read_text("utf-8")


def max_flow(side=4, **options):
    import gridcut

    ones = np.ones((side, side + 1), np.int32)
    return partial(gridcut.max_flow, ones, 2 * ones, {(0, 1): 3, (1, 0): 3}, **options)


def max_flow_cuda():
    """The walk of the first solve of its form: a later one reuses the launches of the first."""
    from gridcut.device.arrays import kept_objects

    kept_objects()[0].clear()
    return max_flow(device="cuda")


def solver():
    """The solve after a solve and an update."""
    import gridcut

    ones = np.ones((300, 301), np.int32)
    solver = gridcut.Solver(ones, 2 * ones, {(0, 1): 3, (1, 0): 3}, device="cpu")
    solver.solve()
    solver.update(source=np.array([3], np.int32), where=(np.array([1]), np.array([1])))
    return solver.solve


def graph_max_flow(**options):
    import gridcut

    graph = scipy.sparse.csr_array(np.ones((4, 4), np.int32))
    return partial(gridcut.graph_max_flow, graph, np.arange(4), 2, **options)


def graph_solver():
    import gridcut

    return gridcut.GraphSolver(scipy.sparse.csr_array(np.ones((4, 4), np.int32)), np.arange(4), 2).solve


def assignment(n):
    import assign

    return partial(assign.solve, np.random.default_rng(0).integers(0, 1000, (n, n)), device="cpu")


def maximum_matching():
    import matching

    graph = scipy.sparse.random_array((20_000, 20_000), density=1e-4, rng=np.random.default_rng(0))
    return partial(matching.maximum, graph, device="cpu")


def image_and_strokes():
    image, strokes = np.zeros((8, 9, 3), np.uint8), np.zeros((8, 9), np.uint8)
    image[:, 4:], strokes[2:4, 5:7], strokes[2:4, 1:3] = 200, 1, 2
    return image, strokes


def segment():
    import apps

    image, strokes = image_and_strokes()
    return partial(apps.segment, image, strokes=strokes, device="cpu")


def segment_command():
    from apps import cli

    image, strokes = image_and_strokes()

    def call():
        with tempfile.TemporaryDirectory() as folder:
            for name, pixels in (("image.png", image), ("strokes.png", strokes)):
                Image.fromarray(pixels).save(Path(folder) / name)
            files = [f"{folder}/image.png", "--strokes", f"{folder}/strokes.png"]
            cli.main(["segment", *files, "--out", folder, "--device", "cpu", "--quiet"])

    return call


def stroke_of_the_page():
    """From a message of the socket to `Session.stroke`; the walk up to the queue is added to the exception."""
    pytest.importorskip("starlette", reason="needs the extra 'app'")
    from apps.app.image_sources import Source
    from apps.app.server import PageServer
    from apps.session import Session
    from tests.apps.app.page_messages import stroke_of

    message = {"type": "websocket.receive", "text": json.dumps(stroke_of([(2, 3), (4, 3)]))}

    def raise_stop(*arguments, **keywords):
        raise Stop

    async def walk(folder):
        pixels = folder / "image.png"
        Image.fromarray(np.zeros((8, 9, 3), np.uint8)).save(pixels)
        chosen = Namespace(out=str(folder), overwrite=False, device="cpu", classes={})
        server = PageServer([Source("image", pixels)], chosen, 80)
        image = await server.live.open(0)
        await image.ready
        opening = {"type": "websocket.receive", "text": '{"do": "open", "item": 0}'}
        messages, queued = asyncio.Queue(), []
        for one in ({"type": "websocket.connect"}, opening):
            messages.put_nowait(one)

        async def send(answer):
            if "document" in answer.get("text", ""):
                messages.put_nowait(message)

        def put(edit):
            if edit.action.get("do") == "stroke":
                queued.extend(frame.f_code for frame, _ in traceback.walk_stack(sys._getframe(1)))
            really_put(edit)

        really_put, image._edits.put_nowait = image._edits.put_nowait, put
        headers = [(b"host", b"localhost"), (b"origin", b"http://localhost")]
        path = f"/{server.token}/socket"
        scope = {"type": "websocket", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers}
        serving = asyncio.create_task(server(scope, messages.get, send))
        try:
            await image._tasks[0]
        except Stop as stop:
            stop.queued = queued[::-1]
            raise
        finally:
            serving.cancel()
            image.session.close()
            server.live.stop_edits()

    def call():
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr(Session, "stroke", raise_stop)
            asyncio.run(walk(Path(folder)))

    return call


sim = pytest.mark.sim
WALKS = [  # row of the table, call, file of the main loop
    ("`gridcut.max_flow`, small grid", max_flow, "gridcut/ibfs/small_grid.py"),
    ("`gridcut.max_flow`, CPU", partial(max_flow, 130), "gridcut/ibfs/strip_tasks.py"),
    pytest.param("`gridcut.max_flow`, CUDA", max_flow_cuda, "gridcut/tiles/tiles.py", marks=sim),
    pytest.param(
        *("`gridcut.max_flow`, several GPUs", partial(max_flow, 70, devices=[0, 0]), "gridcut/tiles/slabs/slabs.py"),
        marks=sim,
    ),
    ("`gridcut.Solver.solve`, CPU", solver, "gridcut/ibfs/strip_tasks.py"),
    ("`gridcut.graph_max_flow`, CPU", graph_max_flow, "gridcut/graph/graph_search.py"),
    pytest.param(
        *("`gridcut.graph_max_flow`, CUDA", partial(graph_max_flow, device="cuda")),
        "gridcut/graph/graph_waves_cuda.py",
        marks=sim,
    ),
    ("`gridcut.GraphSolver.solve`", graph_solver, "gridcut/graph/graph_search.py"),
    ("`assign.solve`, small matrix", partial(assignment, 4), "assign/dense/jonker_volgenant.py"),
    ("`assign.solve`, CPU", partial(assignment, 1600), "assign/dense/dense_augment.py"),
    ("`matching.maximum`, CPU", maximum_matching, "matching/forest/bitmap_search.py"),
    ("`apps.segment(image, strokes=strokes)`", segment, "gridcut/ibfs/strip_tasks.py"),
    ("`cutmatch segment IMAGE --strokes STROKES`", segment_command, "gridcut/ibfs/strip_tasks.py"),
    ("a stroke of `cutmatch app`, to `Session.stroke`", stroke_of_the_page, "apps/session/session.py"),
]


class Stop(BaseException):  # not an Exception, which a command would report as a defect
    pass


class Entry:
    """A function of the file of the main loop; raises when called, or launched as kernel[blocks, threads](...)."""

    def __init__(self, function):
        self.function = function

    def __getitem__(self, configuration):
        return self

    def __call__(self, *arguments, **keywords):
        raise Stop

    def __getattr__(self, name):
        return getattr(self.function, name)


@contextlib.contextmanager
def stopping_in(file):
    """Let every function and kernel of a file raise Stop, in all modules that use it; those imported meanwhile, too."""
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    entries = []
    for value in vars(module).values():
        function = getattr(value, "py_func", value)  # of a kernel
        is_function = callable(value) and not isinstance(value, type)
        if is_function and getattr(function, "__module__", None) == module.__name__:
            entries.append((value, Entry(value)))
    assert entries
    replace(entries)
    try:
        yield
    finally:
        replace([(new, old) for old, new in entries])


def replace(pairs):
    new_of = {id(old): new for old, new in pairs}
    for module in [module for name, module in sys.modules.items() if name.split(".")[0] in PACKAGES]:
        for name, value in list(vars(module).items()):
            if id(value) in new_of:
                setattr(module, name, new_of[id(value)])


@pytest.mark.parametrize(("name", "prepare", "file"), WALKS)
def test_walk_to_the_main_loop(name, prepare, file):
    call = prepare()
    stopping = contextlib.nullcontext() if prepare is stroke_of_the_page else stopping_in(file)
    with stopping, pytest.raises(Stop) as stopped:
        call()
    codes = [frame.f_code for frame, _ in traceback.walk_tb(stopped.value.__traceback__)]
    codes = getattr(stopped.value, "queued", []) + codes
    codes = [code for code in codes if not code.co_name.endswith("comp>")]  # comprehensions, frames until Python 3.11
    walked = [code for code in codes if is_ours(code.co_filename) and Path(code.co_filename).name != "launch.py"]
    files = {Path(code.co_filename).relative_to(ROOT).as_posix() for code in walked} | {file}
    functions = [f"{Path(code.co_filename).stem}.{code.co_qualname}" for code in walked]
    ((frames, count, documented),) = re.findall(rf"^\| {re.escape(name)} \| (\d+) / (\d+) \| `(.*)` \|$", TABLE, re.M)
    assert (int(frames), int(count), documented) == (len(walked) + 1, len(files), file), functions
    limit = MAX_FILES.get(name[1:].split(".")[0])
    assert limit is None or len(files) <= limit


def is_ours(file):
    return Path(file).is_relative_to(ROOT) and Path(file).relative_to(ROOT).parts[0] in PACKAGES
