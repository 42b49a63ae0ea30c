"""Small problems that together call every CPU kernel of the commands and of the three libraries, by name.

A job is a command line, run on the sample files and on what `write_samples` makes from them, or a function of the
libraries' public calls.  A kernel is compiled once for each combination of argument types, so the jobs vary dtypes,
neighbourhoods, formats of inputs and options, and sizes where a method depends on them.
"""

import contextlib
import io
import shutil
from pathlib import Path

import numpy as np

COMMANDS = {
    "segment": (
        "astronaut.jpg --strokes astronaut-strokes.png",
        "coffee.jpg --box 74,14,483,392 --fill-holes --min-area 9",
        "astronaut.jpg --trimap astronaut-trimap.png --keep largest --truth astronaut-trimap.png",
        "astronaut.jpg --strokes astronaut-strokes.png --keep all",
        "grey.png --strokes astronaut-strokes.png",
        "huge.png --box 260,15,1130,1440",
        "astronaut.jpg --start astronaut-rough.png --box 90,5,400,511 --write mask,coco,geojson,labelme",
        "photos --trimap trimaps",
        "astronaut.jpg coffee.jpg --boxes boxes.json",
        "astronaut.jpg --label-strokes astronaut-label-strokes.png",
        "astronaut.jpg --label-strokes astronaut-strokes.png",
        "volume.npy --label-strokes volume-strokes.npy",
        "volume.npy --label-strokes volume-strokes.npy --spacing 2,1,1",
        "volume.npy --strokes volume-strokes.npy",
        "volume.npy --start volume-strokes.npy --strokes volume-strokes.npy",
        "clip --clip --strokes astronaut-strokes.png",
    ),
    "refine": (
        "chelsea.jpg chelsea-soft.png",
        "astronaut.jpg astronaut-trimap.png --kind labels",
        "huge.png astronaut-rough.png",
    ),
    "superpixels": ("astronaut.jpg --regions 40,90", "grey.png --regions 50"),
    "denoise": (
        "coffee-noisy.png --truth coffee-clean.png",
        "coffee.jpg",
        "grey.png",
        "chelsea-scratched.png --mask chelsea-scratches.png",
        "silhouette.png --binary",
        "grey.png --data linear",
    ),
    "stereo": (
        "left.png right.png",
        "left.png right.png --max-disparity 30 --cost absolute --subpixel --no-consistency-check",
    ),
    "flow": (
        "frame1.png frame2.png",
        "clip/0.png clip/1.png",
        "frame1.png frame2.png --linker windows",
        "frame1.png frame2.png --fast",
    ),
    "match": ("view1.jpg view2.jpg", "view1.jpg view2.jpg --model fundamental"),
    "track": (
        "particles --detect bright --size 7",
        "particles --detect corners --predict image --memory 2",
        "particles --detect bright --size 7 --predict velocity --memory 3",
    ),
    "matching": ("jacobian.mtx", "jacobian.mtx --dulmage-mendelsohn", "mesh.mtx --method hopcroft_karp"),
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
    if not isinstance(call, str):
        try:
            call()
        except Exception as error:  # reported with the other failures, when all jobs have run
            return f"{name} {number + 1}: {type(error).__name__}: {error}"
        return ""
    from apps import cli
    from apps.demo import argv_of

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        status = cli.main([name, *argv_of(call, samples), "--out", str(out / f"{name}-{number}"), "--quiet"])
    return f"cutmatch {name} {call}: {errors.getvalue().strip()}" if status else ""


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


def _capacities(random, dtype, shape):
    values = random.integers(-50, 50, shape)
    return np.maximum(values, 0).astype(dtype), np.maximum(-values, 0).astype(dtype)


def _cuts_of(dtype):
    def job():
        import gridcut

        random = np.random.default_rng(3)
        for shape, offsets in (
            *(((70, 90), neighbours) for neighbours in NEIGHBOURHOODS),
            *(((300, 400), neighbours) for neighbours in NEIGHBOURHOODS),
            ((20, 80, 80), ((0, 0, 1), (0, 1, 0), (1, 0, 0))),  # large enough for two strips
            ((500,), ((1,),)),
        ):
            source, sink = _capacities(random, dtype, shape)
            gridcut.max_flow(source, sink, {offset: dtype(7) for offset in offsets}).check()
            arrays = {offset: np.full(shape, 7, dtype) for offset in offsets}
            solver = gridcut.Solver(source, sink, arrays)
            solver.solve()
            solver.update(source=source + dtype(1), sink=sink)
            solver.solve().check()

    return job


def _labels():
    import gridcut

    random = np.random.default_rng(4)
    dtypes: tuple[type, ...] = (np.int32, np.float64)
    for dtype in dtypes:
        for neighbours in NEIGHBOURHOODS:
            costs: np.ndarray = random.integers(0, 90, (5, 40, 50)).astype(dtype)
            weights = {offset: dtype(9) for offset in neighbours}
            potts = dtype(1) - np.eye(5, dtype=dtype)
            gridcut.alpha_expansion(costs, weights, potts).check()
            gridcut.alpha_beta_swap(costs, weights, potts).check()


def _energies():
    import gridcut

    random = np.random.default_rng(5)
    for dtype in (np.int32, np.float64):
        source, sink = _capacities(random, dtype, (4, 30, 30))
        gridcut.max_flow_batch(source, sink, {(0, 1): dtype(5), (1, 0): dtype(5)}).check()
    image = random.uniform(0, 255, (40, 50)).astype(np.float32)
    for pixels in (image, np.uint8(image), np.dstack([image] * 3), np.dstack([np.uint8(image)] * 3)):
        gridcut.contrast_edges(pixels)


def _dense_costs():
    import assign

    random = np.random.default_rng(6)
    for rows, columns in ((12, 12), (40, 60), (60, 40), (400, 400), (1200, 1200)):
        for dtype in (np.int64, np.float64, np.int32, np.float32):
            costs = random.uniform(0, 1000, (rows, columns)).astype(dtype)
            assign.solve(costs).check()
        assign.linear_sum_assignment(costs)
        assign.solve(costs, max_cost=400).check()
    for dtype in (np.int64, np.float64, np.int32):
        assign.solve(np.multiply.outer(np.arange(150), np.arange(150)).astype(dtype)).check()


def _sparse_costs():
    import scipy.sparse

    import assign

    random = np.random.default_rng(7)
    for dtype in (np.int64, np.float64):
        matrix = scipy.sparse.random(200, 220, 0.1, format="csr", random_state=8)
        matrix.data = random.uniform(1, 100, matrix.nnz).astype(dtype)
        assign.solve(matrix, max_cost=60).check()
    square = matrix[:, :200] + scipy.sparse.eye(200, format="csr")
    assign.solve(square.tocsr()).check()
    points = random.uniform(0, 100, (1100, 2))  # too many for a matrix
    assign.solve_points(points, points + 0.5, max_cost=9.0).check()


def _batches():
    import assign

    random = np.random.default_rng(9)
    for dtype in (np.int64, np.float64, np.float32):
        costs = random.uniform(0, 1000, (5, 20, 25)).astype(dtype)
        assign.solve_batch(costs).check()
        assign.solve_batch(costs, max_cost=300).check()
        assign.k_best(costs[0], 3).check()


def _cost_flow():
    import assign

    random = np.random.default_rng(10)
    tail, head = random.integers(0, 60, (2, 900))
    flow = random.integers(0, 9, 900)
    supply = np.bincount(tail, flow, 60) - np.bincount(head, flow, 60)
    assign.min_cost_flow(tail, head, np.inf, random.integers(0, 99, 900), supply.astype(int)).check()


def _bipartite():
    import scipy.sparse

    import matching

    for shape in ((100, 100), (90, 140), (140, 90), (3000, 3000)):
        graph = scipy.sparse.random(*shape, 3.0 / shape[1], format="csr", random_state=10)
        matching.maximum(graph).check()
        matching.maximum_bipartite_matching(graph)
        matching.structural_rank(graph)
        matching.dulmage_mendelsohn(graph).check()
    matching.maximum((graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.shape)).check()


def _general():
    import scipy.sparse

    import matching

    for size in (80, 2000):
        graph = scipy.sparse.random(size, size, 4.0 / size, format="csr", random_state=11)
        graph = (graph + graph.T).tocsr()
        matching.greedy(graph).check()
        matching.hierarchy(graph)


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
CUTS = tuple(_cuts_of(dtype) for dtype in (np.int32, np.int64, np.float32, np.float64))
JOBS: dict[str, tuple] = {  # by the name of their group: command lines, or functions
    **COMMANDS,
    "gridcut-library": (*CUTS, _labels, _energies),
    "assign-library": (_dense_costs, _sparse_costs, _batches, _cost_flow),
    "matching-library": (_bipartite, _general),
    "apps-library": (*FIRST_STROKES, _session_of((130, 200), 6), _session_of((1100, 1200, 3), 20)),
}
