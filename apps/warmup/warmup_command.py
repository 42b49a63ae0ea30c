"""Compile kernels in advance, so that no later run waits for it.

  cutmatch warmup                   all commands and libraries, on all cores
  cutmatch warmup segment flow      these commands alone
  cutmatch warmup --portable        for wheels and container images: into the installed package

A kernel is compiled when it is first called, and loaded from disk afterwards.  This command calls all of them on small
inputs, first those of the common calls.  `cutmatch info` shows where compiled kernels are kept.

With --portable they are compiled for all x86 processors since about 2015 (x86-64-v3), or for all ARM processors on
Linux, and stored in the folder gridcut/_kernels of the package itself.  They serve every user and processor, and a
wheel that is built afterwards contains them.  They fit the installed versions of Python, numba and NumPy.

Exit status: 0 done, 1 some problems failed, 2 the input cannot be used, 70 a defect in cutmatch.
"""

import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from apps.common.command import parsed, parser
from apps.common.errors import SOME_FAILED, InputError, print_error, print_lines


def run(argv) -> int:
    """Run the command and return its exit status; raises an error that ends the run."""
    from apps.warmup import warmup_jobs
    from gridcut.device.kernel_store import cache_folder

    options = parser("warmup", __doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help=f"what to compile: {', '.join(warmup_jobs.JOBS)}")
    options.add_argument("--workers", type=int, metavar="N", help="number of processes (default: one per core)")
    options.add_argument("--portable", action="store_true", help="store kernels in the installed package")
    options.add_argument("--quiet", action="store_true", help="print errors only")
    chosen = parsed(options, argv)
    if unknown := [name for name in chosen.names if name not in warmup_jobs.JOBS]:
        raise InputError(f"no kernels are named {unknown[0]!r}; the names are {', '.join(warmup_jobs.JOBS)}")
    if chosen.workers is not None and chosen.workers < 1:
        raise InputError(f"--workers must be 1 or more, got {chosen.workers}")
    if os.environ.get("CUTMATCH_CACHE", "1") == "0":
        raise InputError("CUTMATCH_CACHE=0 in the environment disables compiled kernels on disk; unset it")
    if chosen.portable:
        _check_portable()
    jobs = warmup_jobs.jobs(dict.fromkeys(chosen.names) or warmup_jobs.JOBS)
    origins: dict = {}
    errors: list = []
    for error, found in _run_all(jobs, chosen.workers or os.cpu_count() or 1, chosen.quiet):
        origins |= {name: origin for name, origin in found.items() if origins.get(name) != "compiled"}
        errors += [error] if error else []
    for error in errors:
        print_error(f"cutmatch warmup: {error}")
    folder = cache_folder()
    if chosen.portable and folder and not errors:
        folder = _store(set(origins), folder)
    if not chosen.quiet:
        compiled = list(origins.values()).count("compiled")
        ready = len(origins) - compiled
        print_lines(f"{compiled} kernels compiled, {ready} were ready: {folder or 'no folder'}")
    return SOME_FAILED if errors else 0


def _check_portable() -> None:
    """Raise InputError unless this machine can compile for `kernel_store.CPU`; set the environment of workers."""
    import platform

    from gridcut.device import kernel_store

    if not kernel_store.CPU:
        known = ", ".join(kernel_store.PROCESSORS)
        raise InputError(f"--portable compiles for {known}, but this machine is {platform.machine()}")
    if not kernel_store.obstacle():
        raise InputError(f"--portable: {kernel_store.CARRIED} already contains kernels of these sources and versions")
    if missing := kernel_store.missing_features():
        raise InputError(f"--portable: the processor cannot run its kernels, because it lacks {', '.join(missing)}")
    os.environ |= {"NUMBA_CPU_NAME": kernel_store.CPU, "NUMBA_CPU_FEATURES": ""}


def _run_all(jobs, workers: int, quiet: bool) -> list:
    """The results of `_run_one`, in processes, because numba compiles one kernel at a time per process."""
    from tqdm import tqdm

    from apps.warmup.warmup_jobs import write_samples

    outcomes = []
    with tempfile.TemporaryDirectory(prefix="cutmatch-warmup-") as folder:
        samples, out = Path(folder) / "samples", Path(folder) / "out"
        samples.mkdir()
        write_samples(samples)
        with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn")) as pool:
            started = [pool.submit(_run_one, job, samples, out) for job in jobs]
            hidden = quiet or not sys.stderr.isatty()
            with tqdm(total=len(started), unit="problem", desc="compiling kernels", disable=hidden) as bar:
                for done in as_completed(started):
                    outcomes.append(done.result())
                    bar.update()
    return outcomes


def _run_one(job, samples: Path, out: Path) -> tuple[str, dict[str, str]]:
    """Run a job; return an error message or "", and {file name of a kernel: its origin}."""
    from apps.warmup import warmup_jobs
    from gridcut.device.kernel_store import origins

    origins.clear()
    error = warmup_jobs.run(job, samples, out)
    return error, dict(origins)


def _store(names: set[str], folder: Path) -> Path:
    """Copy kernels of a folder into the package, which carries these and no others then; return its folder."""
    import json

    from gridcut.device import kernel_store

    target = kernel_store.CARRIED
    with tempfile.TemporaryDirectory(prefix="_kernels-", dir=target.parent) as new:
        for name in names:
            shutil.copyfile(folder / name, Path(new) / name)
        (Path(new) / kernel_store.ABOUT.name).write_text(json.dumps(kernel_store.about(), indent=1))
        os.chmod(new, 0o755)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(new, target)
    return target
