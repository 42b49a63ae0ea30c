"""`python -m benchmarks papers [NAME ...]`: the experiments of the five papers, on instances of the same families.

NAME is lupinska, azad, deveci_icpp, deveci_europar or fagginger_auer; all of them by default.

Operations (pushes, relabels, rounds, edges traversed, phases, lengths of paths) are counted, so these tables are the
same on every machine and under any load, except where several threads run.  Times are ratios of medians of interleaved
runs.  Every matching, assignment and cut is certified before its row appears.

  python -m benchmarks papers azad --quick               tiny graphs, in seconds
  python -m benchmarks papers --save                     also write benchmarks/results/papers-NAME.md;
                                                         not with --quick
  python -m benchmarks papers lupinska --device cuda     the experiments that need a GPU
  python -m benchmarks papers azad --threads 1,2,4,8     the experiments with several threads

benchmarks/notes/papers.md lists every figure and table of the papers and most claims, with the command and the verdict.
"""

import argparse
import importlib
import shlex
from collections.abc import Iterable
from itertools import chain

import numba

from benchmarks import command
from benchmarks.command import Stop
from benchmarks.papers import threads
from benchmarks.papers.sections import Section, text_of

NAMES = ("lupinska", "azad", "deveci_icpp", "deveci_europar", "fagginger_auer")
DISTRIBUTIONS = ["numba", "numpy", "scipy"]


def main(argv) -> int:
    options = parser().parse_args(argv)
    command.known_instances(options.names, NAMES)
    if options.quick and options.save:
        raise Stop(2, "benchmarks papers: --save keeps full tables; omit --quick, or redirect its output to a file")
    without = [name for name in options.names if name not in threads.EXPERIMENTS]
    if options.threads and without:
        listed = ", ".join(threads.EXPERIMENTS)
        raise Stop(2, f"benchmarks papers: {without[0]} has no experiments with several threads; there are {listed}")
    names = options.names or list(NAMES)
    if options.device == "cuda":
        for name in names:
            run_on_gpu(name, options.quick, options.save)
        return max(map(run_others_on_gpu, names))
    if options.threads:
        return run_with_threads(names, options)
    for name in names:
        run(name, options.quick, options.save)
    return 0


def measure(keep: str | None, name: str, report: str, sections: Iterable[Section], end="") -> None:
    """Print each section as soon as it is measured; with `keep`, as of --save, save all as the table of a paper."""
    found = []
    for section in sections:
        found.append(section)
        print(text_of(section), end="\n\n", flush=True)
    if keep and found:
        table = keep.format(paper=name.replace("_", "-"))
        command.finish(report, "\n\n".join(map(text_of, found)) + end, table, shown=False)


def run(name: str, quick: bool, keep: str | None) -> None:
    """The experiments of one paper, on one thread."""
    paper = importlib.import_module(f"benchmarks.papers.{name}")
    report = command.begin(paper.TITLE, DISTRIBUTIONS)
    sections = chain.from_iterable(experiment(quick) for experiment in paper.EXPERIMENTS)
    listed = "\n".join(f"- {what}: `python -m benchmarks {line}`" for what, line in paper.ON_GPU)
    end = f"\n\n## Not run: these need a GPU\n\n{listed}"
    measure(keep, name, report, sections, end)


def run_with_threads(names: list[str], options: argparse.Namespace) -> int:
    """The experiments with several threads of the papers that have some."""
    most, counts = numba.config.NUMBA_NUM_THREADS, sorted(set(options.threads))
    if counts[0] > 1 or not 1 < counts[-1] <= most:
        raise Stop(2, f"benchmarks papers: --threads: give 1 and a number from 2 to {most}, the processors here")
    for name in [name for name in names if name in threads.EXPERIMENTS]:
        title = importlib.import_module(f"benchmarks.papers.{name}").TITLE
        report = command.begin(f"{title} with several threads", DISTRIBUTIONS)
        sections = threads.EXPERIMENTS[name](options.quick, counts)
        measure(options.save, f"{name}-threads", report, sections)
    return 0


def run_on_gpu(name: str, quick: bool, keep: str | None) -> None:
    """The experiments of a paper that need a GPU."""
    paper = importlib.import_module(f"benchmarks.papers.{name}")
    report = command.gpu_header(
        f"papers {name} --device cuda", f"{paper.TITLE} on a GPU", ["numba-cuda", *DISTRIBUTIONS]
    )
    sections = chain.from_iterable(experiment(quick) for experiment in getattr(paper, "EXPERIMENTS_ON_GPU", ()))
    measure(keep, f"{name}-cuda", report, sections)


def run_others_on_gpu(name: str) -> int:
    """Run the other benchmarks that measure experiments of a paper on a GPU; the highest status."""
    from benchmarks.__main__ import main as benchmark

    status = 0
    for what, line in importlib.import_module(f"benchmarks.papers.{name}").ON_GPU:
        if not line.startswith("papers "):
            print(f"== {what}: python -m benchmarks {line}", flush=True)
            status = max(status, benchmark(shlex.split(line)))
    return status


def parser() -> argparse.ArgumentParser:
    options = command.parser("papers", __doc__, "papers-{paper}", devices=True)
    options.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)} (default: all)")
    options.add_argument("--quick", action="store_true", help="tiny instances")
    options.add_argument(
        "--threads",
        type=command.threads_of,
        metavar="1,N,...",
        help=f"the experiments with several threads: {', '.join(threads.EXPERIMENTS)}",
    )
    return options
