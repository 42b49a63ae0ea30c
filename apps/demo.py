"""Try cutmatch on real images: commands of the guide, on sample files that come with cutmatch.

Each command is printed with what it found, and writes its results to the --out folder.  The first run compiles the
kernels, which later runs load from disk.

  cutmatch demo                       run the commands
  cutmatch demo --samples samples     copy the sample files to a new folder, to try commands on them
"""

import contextlib
import io
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from apps.common.clock import elapsed_display
from apps.common.command import check_threads, parsed, parser
from apps.common.errors import InputError, print_error, print_lines

LINES = (
    "segment astronaut.jpg --strokes astronaut-strokes.png --fill-holes",
    "stereo left.png right.png --truth left-disparity.png",
    "segment coffee.jpg --box 74,14,483,392 --fill-holes",
    "flow frame1.png frame2.png --truth frame1-flow.png",
    "superpixels chelsea.jpg",
    "denoise coffee-noisy.png --truth coffee-clean.png",
    "match view1.jpg view2.jpg --truth view1-homography.txt",
)


def samples_folder() -> Path:
    """The folder of the sample files: data/, which a wheel has in apps/samples."""
    folder = Path(__file__).with_name("samples")
    return folder if folder.is_dir() else Path(__file__).parents[1] / "data"


def argv_of(line: str, folder: Path) -> list[str]:
    """Words of a command line, those that are names of files in a folder with their paths."""
    return [str(folder / word) if (folder / word).exists() else word for word in line.split()]


def run(argv) -> int:
    """Run the command and return its exit status; raises an error that ends the run."""
    options = parser("demo", __doc__)
    options.add_argument("--out", default="out/demo", metavar="FOLDER", help="folder for the results")
    options.add_argument("--samples", metavar="FOLDER", help="only write sample files to a new folder: inputs to try")
    options.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one per core)")
    options.add_argument("--overwrite", action="store_true", help="replace existing files")
    options.add_argument("--quiet", action="store_true", help="print errors only")
    chosen = parsed(options, argv)
    threads = check_threads(chosen.threads)
    if chosen.samples is not None:
        return _write_samples(Path(chosen.samples), chosen)
    more = ["--out", chosen.out, "--threads", str(max(1, threads // 2)), *["--overwrite"] * chosen.overwrite]
    worst = 0
    with ProcessPoolExecutor(min(2, threads), get_context("spawn")) as pool:  # a first run compiles most of the time
        for line, found in zip(LINES, pool.map(partial(_found, more=more), LINES), strict=True):
            with elapsed_display(chosen.quiet):
                status, said, errors = found
            if not chosen.quiet:
                print_lines(f"cutmatch {line}", *(f"  {text}" for text in said.splitlines()))
            for text in errors.splitlines():
                print_error(text)
            worst = max(worst, status)
    return worst


def _found(line: str, more: list[str]) -> tuple[int, str, str]:
    """Exit status of a command, and what it printed on both streams."""
    from apps.cli import main

    said, errors, folder = io.StringIO(), io.StringIO(), samples_folder()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
        status = main([*argv_of(line, folder), *more])
    return status, said.getvalue().replace(f"{folder}{os.sep}", ""), errors.getvalue()


def _write_samples(folder: Path, chosen) -> int:
    """Copy the sample files to a new folder."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not chosen.overwrite)):
        raise InputError(f"--samples: {str(folder)!r} is not empty; name a new folder, or add --overwrite")
    shutil.copytree(samples_folder(), folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
    if not chosen.quiet:
        count = sum(path.is_file() for path in folder.rglob("*"))
        print_lines(f"{count} files in {folder}, for the examples of the guide, which have them in data/")
    return 0
