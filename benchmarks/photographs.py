"""Large photographs: `python -m benchmarks photographs`, whole commands by the number of megapixels.

The photograph is data/astronaut.jpg enlarged with noise, as a JPEG; `segment` gets its strokes, enlarged.  A run is a
process: start of the interpreter, imports, kernels from the cache, reading, solving, writing.  One untimed run per
program fills the kernel cache.

seconds      of the command, median of --repeats
processor    seconds of all threads
memory       of the process at its peak
phases       the longest ones of the command's JSON record, in seconds

A row appears only if one more run, in which every cut or labelling was certified, wrote the same files; superpixels are
verified to be connected and as many as requested.
"""

import json
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import command
from benchmarks.interactive_latency import photograph
from benchmarks.kept_results import Kept
from benchmarks.probe import resident
from benchmarks.table import ROOT, markdown
from benchmarks.timing import in_process

ASPECT = 1.5  # width / height
QUALITY = 92  # of the JPEG
REGIONS = 500
PROGRAMS = {
    "segment": ["--strokes", "strokes.png", "--write", "mask,overlay,cutout"],
    "superpixels": ["--regions", str(REGIONS)],
    "denoise": [],
    "refine": ["mask.png"],
}
COLUMNS = ["program", "megapixels", "size", "certified", "seconds", "processor s", "memory GiB", "phases"]
PHASES = 4  # that a row lists


def main(argv) -> int:
    options = _parser().parse_args(argv)
    programs = ["numba", "numpy", "opencv-python-headless", "pillow"]
    report = command.begin("Large photographs, whole commands", programs)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_photograph(folder, (480, 640))
        for program in options.programs:
            run(program, folder)  # fills the kernel cache
        for megapixels in options.megapixels:
            height = round((megapixels * 1e6 / ASPECT) ** 0.5)
            shape = height, round(height * ASPECT)
            make_photograph(folder, shape)
            rows += command.shown(row(program, folder, shape, options) for program in options.programs)
    return command.finish(report, markdown(COLUMNS, rows), options.save)


def make_photograph(folder: Path, shape) -> None:
    """photo.jpg and strokes.png of this shape, and a disc of 256 pixels to refine."""
    import cv2

    strokes = cv2.imread(str(ROOT / "data" / "astronaut-strokes.png"))
    cv2.imwrite(str(folder / "photo.jpg"), photograph(shape)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    strokes = cv2.resize(strokes, shape[::-1], interpolation=cv2.INTER_NEAREST)
    cv2.imwrite(str(folder / "strokes.png"), strokes)
    cv2.imwrite(str(folder / "mask.png"), cv2.circle(np.zeros((171, 256), np.uint8), (128, 85), 50, 255, -1))


def row(program: str, folder: Path, shape, options) -> list[str]:
    runs, wanted = [], None
    for _ in range(options.repeats):
        runs.append(run(program, folder))
        wanted = wanted or written(folder, program)
        if written(folder, program) != wanted:
            raise AssertionError(f"{program}: two runs wrote other files")
    certified = run(program, folder, "--certify")
    if written(folder, program) != wanted or not certified["checked"]:
        raise AssertionError(f"{program}: the certified run wrote other files, or certified nothing")
    longest = sorted(runs[-1]["phases"].items(), key=lambda item: -item[1])
    phases = ", ".join(f"{name} {taken:.2f}" for name, taken in longest[:PHASES])
    figures = [median(found[key] for found in runs) for key in ("seconds", "processor", "memory")]
    size = f"{shape[1]}x{shape[0]}"
    numbers = [f"{figures[0]:.2f}", f"{figures[1]:.2f}", f"{figures[2] / 2**30:.2f}"]
    return [program, f"{shape[0] * shape[1] / 1e6:.1f}", size, "✓", *numbers, phases]


def written(folder: Path, program: str) -> dict[str, bytes]:
    """The images that the command wrote."""
    return {path.name: path.read_bytes() for path in (folder / program).glob("*.png")}


def run(program: str, folder: Path, *how: str) -> dict:
    """Run a command in a process of its own: its seconds, and what `main_of_run` prints."""
    found, seconds = in_process(
        "benchmarks.photographs", *how, program, "photo.jpg", *PROGRAMS[program], "--device", "cpu", "--quiet",
        "--out", program, "--overwrite", "--json", "record.json", folder=folder,
    )  # fmt: skip
    record = json.loads((folder / "record.json").read_text("utf-8"))
    phases = {name: taken for name, taken in record["elapsed"].items() if name != "total"}
    return json.loads(found) | {"seconds": seconds, "phases": phases}


def main_of_run(argv) -> int:
    """Run a command of cutmatch in this process, and print its processor time, memory and certified results as JSON."""
    import gridcut
    from apps import cli
    from apps.denoising import restoration
    from gridcut.multilabel.total_variation import check_total_variation

    certify = argv[0] == "--certify"
    arguments = argv[1:] if certify else argv
    checked = 0
    with ExitStack() as stack:
        kept = []
        if certify:

            def check_variation(labels, term, levels, weights, *_):
                check_total_variation(term, weights, labels)

            kept = [Kept(gridcut, "max_flow"), Kept(gridcut.Solver, "solve", at_once=True)]
            kept = [stack.enter_context(one) for one in [*kept, Kept(restoration, "total_variation", check_variation)]]
        status = cli.main(arguments)
        for one in kept:
            one.check()
            checked += one.checked
    if certify and arguments[0] == "superpixels":
        checked += certify_regions()
    print(json.dumps({"processor": time.process_time(), "memory": resident("VmHWM"), "checked": checked}))
    return status


def certify_regions() -> bool:
    import cv2

    from benchmarks.superpixels import certify

    labels = cv2.imread("superpixels/photo-labels.png", cv2.IMREAD_UNCHANGED)
    certify(labels.astype(np.int32) - 1, REGIONS)
    return True


def _parser():
    parser = command.parser("photographs", __doc__, "photographs-cpu")
    parser.add_argument("--megapixels", nargs="+", type=float, default=[12, 24, 50], help="(default: 12 24 50)")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="default: all")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs (default: 3)")
    return parser


if __name__ == "__main__":
    sys.exit(main_of_run(sys.argv[1:]))
