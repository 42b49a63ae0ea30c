"""What the benchmarks' commands share: parsers, folders of data, unknown names, and the end of a report."""

import argparse
import os
from pathlib import Path

from apps.info import gpu_name
from benchmarks.table import header, save


class Stop(Exception):  # noqa: N818
    """Raised when a benchmark ends before it measures: exit status and reason."""


def parser(
    name: str, description: str, table: str, data: str | None = None, devices: bool = False, repeats: int = 0
) -> argparse.ArgumentParser:
    """A parser of `python -m benchmarks NAME`, with the option --save; `table`: the name it has by default.

    data      the environment variable with the folder of data: adds the option --data
    devices   adds the option --device
    repeats   adds the option --repeats with this default
    """
    options = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=description.replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument(
        "--save",
        nargs="?",
        const=table,
        metavar="NAME",
        help=f"write benchmarks/results/NAME.md (default NAME: {table})",
    )
    options.set_defaults(benchmark=name, variable=data)
    if data:
        options.add_argument(
            "--data", metavar="FOLDER", default=os.environ.get(data), help=f"folder of data (default: ${data})"
        )
    if repeats:
        options.add_argument(
            "--repeats", type=int, default=repeats, metavar="N", help="timed runs (default: %(default)s)"
        )
    if devices:
        options.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="what is measured (default: cpu)")
    return options


def begin(title: str, distributions: list[str]) -> str:
    """The header of a report, which is printed."""
    report = header(title, distributions)
    print(report, flush=True)
    return report


def shown(rows) -> list:
    """The rows of a table, lists or dictionaries, as a list; each is printed as soon as it is there."""
    found = []
    for row in rows:
        found.append(row)
        print(" ".join(row.values() if isinstance(row, dict) else row), flush=True)
    return found


def finish(report: str, text: str, name: str | None, shown: bool = True) -> int:
    """Print the tables, and with a name save them with the report's header; the exit status."""
    if shown:
        print(text)
    if name:
        print("saved to", save(name, f"{report}\n{text}"))
    return 0


def threads_of(text: str) -> list[int]:
    """Numbers of threads, separated by commas."""
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def gpu_header(benchmark: str, title: str, distributions: list[str]) -> str:
    """The header and a line on the GPU, which are printed; Stop if there is no GPU."""
    gpu = gpu_name()
    if not gpu:
        raise Stop(2, f"benchmarks {benchmark}: numba finds no CUDA GPU")
    report = header(title, distributions)
    report += f"\n{gpu}.\n"
    print(report, flush=True)
    return report


def report_on(device: str, benchmark: str, title: str, distributions: list[str]) -> str:
    """The header of a report on the CPU or on a GPU, as `begin` and `gpu_header`."""
    if device == "cpu":
        return begin(f"{title} on the CPU", distributions)
    return gpu_header(f"{benchmark} --device cuda", f"{title} on a GPU", ["numba-cuda", *distributions])


def known_instances(names, known) -> None:
    """Stop if a name is not one of the known instances."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Stop(2, f"unknown instance {unknown[0]!r}; there are: {', '.join(known)}")


def data_folder(options: argparse.Namespace) -> Path:
    """The folder of --data; Stop if there is no such folder."""
    if options.data is not None and Path(options.data).is_dir():
        return Path(options.data)
    where = "no folder given" if options.data is None else f"no folder {options.data!r}"
    remedy = f"pass --data FOLDER or set {options.variable} (--help shows its layout)"
    raise Stop(0, f"benchmarks {options.benchmark}: skipped, {where}; {remedy}")
