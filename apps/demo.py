"""Try cutmatch on real images; no files are needed, because the images come with scikit-image.

Objects are cut out of images, from strokes or a box.  The motion between two frames
is computed and compared with the ground truth.  An image is divided into superpixels, another is denoised, and
disparities are computed for pairs of images.  Figures are written to the --out folder, and a table summarises the
results.  The first run compiles the kernels, which later runs load from disk.

  cutmatch demo                       figures of every job, and a table
  cutmatch demo --samples samples     small input files of every command, to try it on
"""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from apps import demo_jobs
from apps.common.clock import command_age, compiled_kernels, elapsed_display, explain_compiling, whole_clock
from apps.common.command import (
    add_shared_options,
    check_device,
    check_threads,
    limited_threads,
    parsed,
    parser,
    write_json,
)
from apps.common.errors import InputError, print_lines
from apps.common.outputs import Outputs
from apps.common.writing import write_bytes
from apps.run.engines import Task
from apps.run.records import add_files, complete, earlier_files, record_path

FILES = (  # all files that the jobs write
    *(f"{name}-{kind}.png" for name in demo_jobs.EXAMPLES for kind in ("segment", "cutout")),
    *(f"{name}-flow.png" for name, _ in demo_jobs.PAIRS),
    "astronaut-superpixels.png",
    "camera-denoised.png",
    "motorcycle-stereo.jpg",
    "coffee-stereo.jpg",
)


def _write_samples(chosen) -> int:
    """Copy the sample files to a new folder."""
    folder, source = Path(chosen.samples), demo_jobs.samples_folder()
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--samples: {chosen.samples!r} is a file; name a folder that does not exist yet")
    if folder.is_dir() and any(folder.iterdir()) and not chosen.overwrite:
        raise InputError(f"--samples: {chosen.samples!r} is not empty; name a new folder, or add --overwrite")
    content = {path.relative_to(source): path.read_bytes() for path in sorted(source.rglob("*")) if path.is_file()}
    files = [write_bytes(folder / name, data, "--samples") for name, data in content.items()]
    if chosen.json:
        write_json(chosen.json, [str(path) for path in files])
    if not chosen.quiet and chosen.json != "-":
        print_lines(f"{len(files)} files in {folder}, for the examples of the guide, which have them in data/")
    return 0


def _rows(folder: Path, chosen) -> Iterator[dict]:
    """Rows of all jobs, in two processes if two threads may be used: a first run compiles most of the time."""
    threads = check_threads(chosen.threads)
    if threads == 1:
        with limited_threads(1):
            for job in (*demo_jobs.JOBS, *demo_jobs.SECOND_JOBS):
                yield from _shown(job(folder, chosen.device), chosen.quiet)
        return
    with limited_threads(threads), ProcessPoolExecutor(1, get_context("spawn")) as pool:
        waiting = [
            pool.submit(_second_rows, index, folder, chosen.device, threads)
            for index in range(len(demo_jobs.SECOND_JOBS))
        ]
        for job in demo_jobs.JOBS:
            for row in _shown(job(folder, chosen.device), chosen.quiet):
                yield row
                while waiting and waiting[0].done():
                    yield from waiting.pop(0).result()
        for future in waiting:
            with elapsed_display(chosen.quiet, explains=False):
                found = future.result()
            yield from found


def _shown(rows: Iterator[dict], quiet: bool) -> Iterator[dict]:
    """Rows with the number of kernels compiled for each, the elapsed time displayed while they are computed."""
    while True:
        before = compiled_kernels()
        with elapsed_display(quiet, explains=False):
            row = next(rows, None)
        if row is None:
            return
        yield row | {"compiled": compiled_kernels() - before}


def _second_rows(index: int, folder: Path, device: str, threads: int) -> list[dict]:
    """In the second process: rows of a job."""
    with limited_threads(threads):
        return list(_shown(demo_jobs.SECOND_JOBS[index](folder, device), True))


def run(argv) -> int:
    """Run the command and return its exit status; raises an error that ends the run."""
    options = parser("demo", __doc__)
    add_shared_options(options, "out/demo")
    options.add_argument("--samples", metavar="FOLDER", help="only write sample files to a new folder: inputs to try")
    chosen = parsed(options, argv)
    chosen.record = True
    check_threads(chosen.threads)
    check_device(chosen.device)
    if chosen.samples is not None:
        return _write_samples(chosen)
    folder = Path(chosen.out)
    files = {name: folder / name for name in FILES}
    outputs = Outputs(chosen)
    task = Task(0, "cutmatch", "the demo", "demo", run, None, chosen, outputs)
    earlier = earlier_files(record_path(folder, task.name, task.command), {})
    outputs.check_named(lambda path: os.path.realpath(path) in earlier)
    for path in files.values():
        outputs.check(path, "--out", lambda one: os.path.realpath(one) in earlier)
    rows: list[dict] = []
    with whole_clock(command_age(argv)) as clock:
        try:
            _show_rows(folder, chosen, rows)
        finally:  # also of an interrupted run, so that another one may replace them
            report = {"files": {name: str(path) for name, path in files.items() if path.is_file()}}
            complete(task, report, {}, earlier, clock)
    if chosen.json:
        write_json(chosen.json, rows)
    add_files([report], outputs.named.values())
    return 0


def _show_rows(folder: Path, chosen, rows: list[dict]) -> None:
    """Compute the rows of all jobs and print them."""
    show = not chosen.quiet and chosen.json != "-"
    layout = "{:8} {:11} {:>9}  {:10} {:30} {:>8} {:>9}  {:20} {}"
    if show:
        print_lines(layout.format("job", "image", "size", "given", "found", "seconds", "compiling", "by", "figure"))
    compiled = 0
    for row in _rows(folder, chosen):
        compiled += row.pop("compiled")
        rows.append(row)
        if show:
            size, times = f"{row['width']}x{row['height']}", (f"{row[key]:.2f}" for key in ("seconds", "compiling"))
            cells = row["job"], row["image"], size, row["given"], row["found"], *times, row["method"]
            print_lines(layout.format(*cells, row["files"][0]))
    if show and compiled:
        explain_compiling(compiled)
