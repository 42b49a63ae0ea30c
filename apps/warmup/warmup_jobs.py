"""Small problems that together call the CPU kernels of the commands and of the three libraries.

A job is a command line, run on the sample files and on what `write_samples` makes from them, or a function: the
examples in the docstrings of a library, and calls of its solvers with dtypes and sizes on which kernels depend.
"""

import contextlib
import doctest
import io
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np

COMMANDS = {
    "segment": (
        "astronaut.jpg --strokes astronaut-strokes.png",
        "coffee.jpg --box 74,14,483,392 --fill-holes",
        "astronaut.jpg --trimap astronaut-trimap.png --truth astronaut-trimap.png",
        "huge.png --box 260,15,1130,1440",
        "astronaut.jpg --start astronaut-rough.png --box 90,5,400,511 --write mask,coco",
        "astronaut.jpg --label-strokes astronaut-label-strokes.png",
        "volume.npy --label-strokes volume-strokes.npy",
        "clip --clip --strokes astronaut-strokes.png",
    ),
    "refine": ("astronaut.jpg astronaut-trimap.png --kind labels", "huge.png astronaut-rough.png"),
    "superpixels": ("astronaut.jpg --regions 40,90",),
    "denoise": ("coffee-noisy.png", "chelsea-scratched.png --mask chelsea-scratches.png", "silhouette.png --binary"),
    "stereo": ("left.png right.png",),
    "flow": ("frame1.png frame2.png", "frame1.png frame2.png --linker windows", "frame1.png frame2.png --fast"),
    "match": ("view1.jpg view2.jpg",),
    "track": ("particles --detect bright --size 7", "particles --detect corners --predict image"),
    "matching": ("jacobian.mtx --dulmage-mendelsohn", "mesh.mtx --method hopcroft_karp"),
}
HUGE = 1450, 1450  # width and height; more pixels than WORKING_PIXELS of apps.segmentation.fit
NEIGHBOURHOODS = (((0, 1), (1, 0)), ((0, 1), (1, 0), (1, 1), (1, -1)))


def jobs(chosen) -> list[tuple[str, int]]:
    """The jobs of the groups named in `chosen`, each as (name, number within it); the first of all groups first."""
    found = [(name, number) for name in chosen for number in range(len(JOBS[name]))]
    return sorted(found, key=lambda job: job[1])


def run(job: tuple[str, int], samples: Path, out: Path) -> str:
    """Run a job; return an error message, empty if there was none."""
    name, number = job
    call = JOBS[name][number]
    from apps import cli
    from apps.common.errors import ending
    from apps.demo import argv_of

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), ending(f"cutmatch {name} {number + 1}") as end:
        if isinstance(call, str):
            end.status = cli.main([name, *argv_of(call, samples), "--out", str(out / f"{name}-{number}"), "--quiet"])
        else:
            call()
    return errors.getvalue().strip() if end.status else ""


def write_samples(folder: Path) -> None:
    """Write the input files of all command lines: the sample files, and images and volumes made from them."""
    import cv2

    from apps.demo import samples_folder

    shutil.copytree(samples_folder(), folder, dirs_exist_ok=True)
    photo: np.ndarray = cv2.imread(str(folder / "astronaut.jpg"))
    images = {"grey": cv2.cvtColor(photo, cv2.COLOR_BGR2GRAY), "huge": cv2.resize(photo, HUGE)}
    images |= {f"clip/{number}": np.roll(photo, (number, 2 * number), (0, 1)) for number in range(3)}
    (folder / "clip").mkdir()
    for name, pixels in images.items():
        cv2.imwrite(str(folder / f"{name}.png"), pixels)
    volume = np.random.default_rng(1).normal(60, 10, (12, 40, 40)).clip(0, 255)
    volume[3:9, 10:30, 10:30] += 90
    strokes = np.zeros(volume.shape, np.uint8)
    strokes[6, 18:22, 18:22], strokes[:, 1, :] = 1, 2
    np.save(folder / "volume.npy", np.uint8(volume))
    np.save(folder / "volume-strokes.npy", strokes)


# Library calls


def _examples_of(package: str):
    """A job: the examples of a library's public functions."""

    def job():
        library, runner, said = import_module(package), doctest.DocTestRunner(), io.StringIO()
        for name in library.__all__:
            for example in doctest.DocTestFinder().find(getattr(library, name), name):
                runner.run(example, out=said.write)
        if runner.failures:
            raise RuntimeError(said.getvalue())

    return job


def _cuts_of(dtype):
    """A job: cuts of grids of one dtype, small ones and those that are cut in strips."""

    def job():
        import gridcut

        random = np.random.default_rng(3)
        for shape, offsets in (
            *((shape, neighbours) for shape in ((70, 90), (300, 400)) for neighbours in NEIGHBOURHOODS),
            ((20, 80, 80), ((0, 0, 1), (0, 1, 0), (1, 0, 0))),
        ):
            values = random.integers(-50, 50, shape).astype(dtype)
            source, sink = np.maximum(values, dtype(0)), np.maximum(-values, dtype(0))
            gridcut.max_flow(source, sink, {offset: dtype(7) for offset in offsets}).check()
            arrays = {offset: np.full(shape, 7, dtype) for offset in offsets}
            solver = gridcut.Solver(source, sink, arrays)
            solver.solve()
            solver.update(source=source + dtype(1), sink=sink)
            solver.solve().check()

    return job


def _assignments():
    import assign

    random = np.random.default_rng(6)
    for shape in ((12, 12), (40, 60), (60, 40), (400, 400), (1200, 1200)):
        for dtype in (np.int64, np.float64, np.int32, np.float32):
            costs = random.uniform(0, 1000, shape).astype(dtype)
            assign.solve(costs).check()
        assign.solve(costs, max_cost=400).check()
    points = random.uniform(0, 100, (1100, 2))  # too many for a matrix
    assign.solve_points(points, points + 0.5, max_cost=9.0).check()


def _matchings():
    import scipy.sparse

    import matching

    for shape in ((100, 100), (90, 140), (3000, 3000)):
        graph = scipy.sparse.random(*shape, 3.0 / shape[1], format="csr", random_state=10)
        matching.maximum(graph).check()
    matching.greedy(graph + graph.T).check()


def _session_of(shape, radius):
    def job(device="auto"):
        from apps import Session

        image = np.full(shape, 60, np.uint8)
        image[tuple(slice(side // 4, side // 2) for side in shape[: 2 if shape[-1] == 3 else 3])] = 200
        middle, edge = [(3 * shape[-2 if shape[-1] == 3 else -1] // 8, 3 * shape[0] // 8)], [(2, 2), (60, 2)]
        inside = {} if len(shape) == 2 or shape[-1] == 3 else {"axis": 0, "slice": shape[0] // 3}
        with Session(image, device=device) as session:
            session.stroke(middle, radius, **inside)
            session.stroke(edge, radius, label=0, **inside)
            session.wait()
            session.stroke([(2, shape[0] - 3)], radius, label=2, **inside)
            session.undo()
            session.redo()
            session.result()
            if not inside:
                session.push(middle, 2 * radius)
                session.wider(1, final=False)

    return job


# What the first strokes on an image and on a volume need; the image is large enough for two strips.
FIRST_STROKES = (_session_of((260, 260, 3), 6), _session_of((12, 40, 40), 3))
JOBS: dict[str, tuple] = {  # by the name of their group: command lines, or functions
    **COMMANDS,
    "gridcut-library": (*map(_cuts_of, (np.int32, np.int64, np.float32, np.float64)), _examples_of("gridcut")),
    "assign-library": (_assignments, _examples_of("assign")),
    "matching-library": (_matchings, _examples_of("matching")),
    "apps-library": (*FIRST_STROKES, _session_of((1100, 1200, 3), 20)),
}
