"""`python -m benchmarks scale`: a folder of photographs with one worker and with several, each run a whole command.

The photographs are scikit-image's astronaut, coffee, chelsea and rocket, cropped and mirrored so that no two are the
same; `cutmatch segment --box` and `cutmatch denoise` work on them.  Seconds of the whole command: start of the
interpreter, imports, kernels from the cache, reading, solving and writing.  One untimed run fills the kernel cache.
A row is printed only if every file is byte for byte that of the run with `--threads 1`.

    --threads 1          one image at a time in the command's own process
    --workers 1          the same in one additional process: the cost of a worker
    --workers N          the gain; each worker on one thread
    --resume             everything is done already: the cost of verification
"""

import json
import os
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import command
from benchmarks.table import markdown
from benchmarks.timing import in_process

NAMES = ("astronaut", "coffee", "chelsea", "rocket")
CROP = 8  # pixels by which each further image of a name is narrower
PROGRAMS = {"segment": ["--box", "boxes.json"], "denoise": []}


def main(argv):
    options = _parser().parse_args(argv)
    report = command.begin(f"{options.images} photographs on several workers", ["numba", "numpy"])
    loads = []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_images(folder, options.images)
        rows = command.shown(
            row
            for program in options.programs
            for row in measure(program, folder, options.workers, options.repeats, loads)
        )
    lines = [
        markdown(["program", "how", "same files", "seconds", "times one worker"], rows),
        "",
        f"Medians of {options.repeats}, in turn; load {min(loads):.1f} to {max(loads):.1f} at the starts.",
    ]
    return command.finish(report, "\n".join(lines), options.save)


def make_images(folder: Path, count: int) -> None:
    """photos/00.png ... and boxes.json, the middle of each."""
    import skimage.data
    from PIL import Image

    (folder / "photos").mkdir()
    boxes = {}
    for n in range(count):
        turn, name = divmod(n, len(NAMES))
        pixels = getattr(skimage.data, NAMES[name])()[..., :3]
        pixels = pixels[:, CROP * (turn // 2) :]
        pixels = pixels[:, ::-1] if turn % 2 else pixels
        Image.fromarray(np.ascontiguousarray(pixels)).save(folder / "photos" / f"{n:02d}.png")
        height, width = pixels.shape[:2]
        boxes[f"{n:02d}"] = [width // 8, height // 8, width - width // 8, height - height // 8]
    (folder / "boxes.json").write_text(json.dumps(boxes))


def measure(program: str, folder: Path, workers: int, repeats: int, loads: list):
    """A row for each way, after checking that its files are those of the first."""
    ways = {
        "--threads 1": ["--threads", "1"],
        "--workers 1": ["--workers", "1", "--threads", "1"],
        f"--workers {workers}": ["--workers", str(workers)],
        "--resume": ["--workers", str(workers), "--resume"],
    }
    seconds = {way: [] for way in ways}
    wanted = None
    run(program, folder, folder / f"{program}-0", ways["--threads 1"])  # fills the kernel cache
    for _ in range(repeats):
        for number, (way, how) in enumerate(ways.items()):
            out = folder / f"{program}-{2 if way == '--resume' else number}"
            loads.append(os.getloadavg()[0])
            seconds[way].append(run(program, folder, out, how))
            files = {path.name: path.read_bytes() for path in out.glob("*.png")}
            wanted = wanted or files
            assert files == wanted, f"{program} {way}: other files than with --threads 1"
    one = median(seconds["--workers 1"])
    for way, taken in seconds.items():
        yield [program, way, "✓", f"{median(taken):.2f}", f"{one / median(taken):.2f}"]


def run(program: str, folder: Path, out: Path, how) -> float:
    """Seconds of one command."""
    arguments = ["photos", *PROGRAMS[program], "--device", "cpu", "--quiet", "--overwrite", "--out", str(out), *how]
    return in_process("apps.cli", program, *arguments, folder=folder)[1]


def _parser():
    parser = command.parser("scale", __doc__, "scale-cpu")
    parser.add_argument("--images", type=int, default=40, metavar="N", help="(default: 40)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="to compare with one (default: 2)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="(default: 3)")
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), metavar="NAME")
    return parser
