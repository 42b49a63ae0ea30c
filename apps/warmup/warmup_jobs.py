"""Small problems that together call every CPU kernel of the commands and of the three libraries, by name.

A job is a command line, run on files that `write_samples` creates, or a function of the libraries' public calls.  A
kernel is compiled once for each combination of argument types, so the jobs vary dtypes, neighbourhoods, formats of
inputs and options, and sizes where a method depends on them.
"""

import contextlib
import io
import json
import shlex
from pathlib import Path

import numpy as np

COMMANDS = {
    "segment": (
        "photo.png --strokes strokes.png",
        "photo.png --box 30,20,170,110 --fill-holes --min-area 9 --truth truth.png",
        "photo.png --trimap trimap.png --keep largest",
        "photo.png --strokes strokes.png --soft-strokes --keep all",
        "grey.png --strokes strokes.png",
        "huge.png --box 310,300,1080,1230",
        "photo.png --start truth.png --box 30,20,170,110 --strokes strokes.png --write mask,coco,geojson,labelme",
        "photos --strokes strokes",
        "photo.png --boxes boxes.json",
        "photo.png --label-strokes labels.png",
        "photo.png --label-strokes strokes.png",
        "volume.tif --label-strokes volume-strokes.tif",
        "volume.tif --label-strokes volume-strokes.tif --connectivity 26 --spacing 2,1,1",
        "volume.tif --strokes volume-strokes.tif",
        "volume.tif --start volume-strokes.tif --strokes volume-strokes.tif",
        "clip --clip --strokes strokes.png",
    ),
    "refine": (
        "photo.png truth.png",
        "photo.png truth.png --kind labels",
        "huge.png low.png",
    ),
    "superpixels": ("photo.png --regions 40,90 --truth truth.png", "grey.png --regions 50 --regularity 5"),
    "denoise": (
        "photo.png",
        "large.png",
        "grey.png --truth grey.png",
        "grey.png --mask hole.png",
        "grey.png --binary",
        "grey.png --data linear",
        "photo.png --smoothness-term linear --truncate 8 --levels 16",
        "grey.png --smoothness-term quadratic --truncate 8 --levels 16 --truncate-data 40",
        "grey.png --smoothness-term potts --levels 16",
    ),
    "stereo": (
        "photo.png moved.png --max-disparity 12",
        "grey.png grey.png --max-disparity 8 --smoothness-term quadratic --cost absolute --subpixel",
        "grey.png grey.png --max-disparity 8 --smoothness-term potts --no-consistency-check",
    ),
    "flow": (
        "photo.png moved.png",
        "large.png large-moved.png",
        "photo.png moved.png --linker windows",
        "photo.png moved.png --fast",
    ),
    "match": (
        "large.png large-moved.png",
        "large.png large-moved.png --model fundamental",
    ),
    "track": (
        "frames --detect bright --size 7",
        "frames --detect corners --predict image --memory 2",
        "frames --detect bright --size 7 --predict velocity --memory 3",
    ),
    "matching": ("matrix.mtx", "matrix.mtx --dulmage-mendelsohn", "wide.mtx --method hopcroft_karp"),
}
WIDTH, HEIGHT = 200, 130  # pixels of the small photograph
HUGE = 1450, 1400  # height and width; more pixels than WORKING_PIXELS of apps.segmentation.fit
NEIGHBOURHOODS = (((0, 1), (1, 0)), ((0, 1), (1, 0), (1, 1), (1, -1)))


def names() -> tuple[str, ...]:
    """Names of all groups of jobs: the commands, and the library calls of each package."""
    return (*COMMANDS, *(f"{package}-library" for package in LIBRARIES))


def jobs(chosen) -> list[tuple[str, int]]:
    """The jobs of the groups named in `chosen`, each as (name, number within the group)."""
    counts = {name: len(lines) for name, lines in COMMANDS.items()}
    counts |= {f"{package}-library": len(functions) for package, functions in LIBRARIES.items()}
    return [(name, number) for name in chosen for number in range(counts[name])]


def is_common(job: tuple[str, int]) -> bool:
    """Whether most users of a command or a library need the kernels of a job."""
    name, number = job
    return number < (2 if name == "segment" else 1)  # with strokes, and with a box


def run(job: tuple[str, int], samples: Path, out: Path) -> str:
    """Run a job; return an error message, empty if there was none."""
    name, number = job
    if name not in COMMANDS:
        try:
            LIBRARIES[name.removesuffix("-library")][number]()
        except Exception as error:  # reported with the other failures, when all jobs have run
            return f"{name} {number + 1}: {type(error).__name__}: {error}"
        return ""
    from apps import cli

    line = shlex.split(COMMANDS[name][number])
    known = {path.name for path in samples.iterdir()}
    line = [str(samples / word) if word in known else word for word in line]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        status = cli.main([name, *line, "--out", str(out / f"{name}-{number}"), "--quiet"])
    return f"cutmatch {name} {COMMANDS[name][number]}: {errors.getvalue().strip()}" if status else ""


# Files


def write_samples(folder: Path) -> None:
    """Write the input files of all command lines."""
    import cv2
    import scipy.io
    import scipy.sparse
    import tifffile

    random = np.random.default_rng(1)
    photo, object_ = _photograph(random, HEIGHT, WIDTH)
    large, _ = _photograph(random, 800, 1100)
    huge, _ = _photograph(random, *HUGE)
    grey = cv2.cvtColor(photo, cv2.COLOR_BGR2GRAY)
    strokes = np.full_like(photo, 255)
    cv2.line(strokes, (80, 60), (115, 70), (0, 0, 255), 5)
    cv2.line(strokes, (10, 10), (190, 12), (255, 0, 0), 5)
    labels = strokes.copy()
    cv2.line(labels, (10, 120), (190, 118), (0, 255, 0), 5)
    wide = cv2.dilate(object_, np.ones((9, 9), np.uint8))
    trimap = np.where(cv2.erode(object_, np.ones((9, 9), np.uint8)) > 0, 255, np.where(wide > 0, 128, 0))
    hole = np.zeros_like(grey)
    hole[50:60, 70:95] = 255
    images = {
        "photo": photo,
        "moved": np.roll(photo, (2, -5), (0, 1)),
        "large": large,
        "huge": huge,
        "large-moved": np.roll(large, (3, -7), (0, 1)),
        "grey": grey,
        "strokes": strokes,
        "labels": labels,
        "trimap": np.uint8(trimap),
        "truth": object_ * 255,
        "hole": hole,
        "low": cv2.resize(object_ * 255, (50, 33), interpolation=cv2.INTER_AREA),
    }
    for subfolder in ("photos", "strokes", "frames", "clip"):
        (folder / subfolder).mkdir()
    for number in range(2):
        images |= {f"photos/{number}": photo, f"strokes/{number}": strokes}
    images |= {f"clip/{number}": np.roll(photo, (number, 2 * number), (0, 1)) for number in range(3)}
    spots = random.uniform(12, 100, (20, 2))
    for number in range(5):
        frame = random.normal(20, 2, (HEIGHT, WIDTH))
        for x, y in spots + number:
            cv2.circle(frame, (round(x * 1.6), round(y)), 3, 200.0, -1)
        images[f"frames/{number}"] = cv2.GaussianBlur(frame, (0, 0), 1).astype(np.uint8)
    for name, pixels in images.items():
        cv2.imwrite(str(folder / f"{name}.png"), pixels)
    boxes = [[30, 20, 170, 110], [20, 10, 120, 90], [100, 40, 190, 125], [2, 2, 18, 18]]
    (folder / "boxes.json").write_text(json.dumps({"photo": boxes}))
    volume = random.normal(60, 10, (12, 40, 40)).clip(0, 255)
    volume[3:9, 10:30, 10:30] += 90
    volume_strokes = np.zeros(volume.shape, np.uint8)
    volume_strokes[6, 18:22, 18:22], volume_strokes[:, 1, :] = 1, 2
    tifffile.imwrite(folder / "volume.tif", np.uint8(volume), metadata={"axes": "ZYX"})
    tifffile.imwrite(folder / "volume-strokes.tif", volume_strokes, metadata={"axes": "ZYX"})
    for name, shape in (("matrix", (300, 300)), ("wide", (200, 400))):
        scipy.io.mmwrite(folder / f"{name}.mtx", scipy.sparse.random(*shape, 0.01, random_state=2))


def _photograph(random, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """A textured image (H, W, 3) with an ellipse of another colour, and the mask of the ellipse."""
    import cv2

    texture = cv2.GaussianBlur(random.uniform(0, 255, (height, width, 3)).astype(np.float32), (0, 0), 2)
    mask = np.zeros((height, width), np.uint8)
    cv2.ellipse(mask, (width // 2, height // 2), (width // 4, height // 4), 20, 0, 360, 1, -1)
    base = np.where(mask[..., None] > 0, np.array([40, 90, 200], np.float32), np.array([160, 120, 60], np.float32))
    return (base + 1.5 * (texture - 127)).clip(0, 255).astype(np.uint8), mask


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

    return job


# What the first strokes on an image and on a volume need; the image is large enough for two strips.
FIRST_STROKES = (_session_of((260, 260, 3), 6), _session_of((12, 40, 40), 3))
LIBRARIES = {
    "gridcut": (*(_cuts_of(dtype) for dtype in (np.int32, np.int64, np.float32, np.float64)), _labels, _energies),
    "assign": (_dense_costs, _sparse_costs, _batches, _cost_flow),
    "matching": (_bipartite, _general),
    "apps": (
        *FIRST_STROKES,
        _session_of((130, 200), 6),
        _session_of((1100, 1200, 3), 20),
    ),
}
