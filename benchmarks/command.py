"""What the benchmarks' commands share: parsers, folders of data, unknown names, and the end of a report."""

import argparse
import os
from pathlib import Path

from apps.info import gpu_facts
from benchmarks.table import header, save


def parser(name: str, description: str, table: str) -> argparse.ArgumentParser:
    """A parser of `python -m benchmarks NAME`, with the option --save; `table`: the name it has by default."""
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


def gpu_header(benchmark: str, title: str, distributions: list[str]) -> str | None:
    """The header and a line on the GPU, which are printed; None, and a message, if there is no GPU."""
    gpu = gpu_facts()
    if gpu is None:
        print(f"benchmarks {benchmark}: numba finds no CUDA GPU")
        return None
    report = header(title, distributions)
    report += f"\n{gpu['name']}, {gpu['memory'] / 2**30:.0f} GiB, driver {gpu['driver']}.\n"
    print(report, flush=True)
    return report


def report_on(device: str, benchmark: str, title: str, distributions: list[str]) -> str | None:
    """The header of a report on the CPU or on a GPU, as `begin` and `gpu_header`."""
    if device == "cpu":
        return begin(f"{title} on the CPU", distributions)
    return gpu_header(f"{benchmark} --device cuda", f"{title} on a GPU", ["numba-cuda", *distributions])


def add_device_option(options: argparse.ArgumentParser) -> None:
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="what is measured (default: cpu)")


def unknown_instance(names, known) -> bool:
    """Whether a name is not one of the known instances; if so, print it."""
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"unknown instance {unknown[0]!r}; there are: {', '.join(known)}")
    return bool(unknown)


def add_data_option(options: argparse.ArgumentParser, variable: str) -> None:
    default = os.environ.get(variable)
    options.add_argument("--data", metavar="FOLDER", default=default, help=f"folder of data (default: ${variable})")


def data_folder(benchmark: str, folder: str | None, variable: str) -> Path | None:
    """The folder of --data; None, and a message, if there is no such folder."""
    if folder is not None and Path(folder).is_dir():
        return Path(folder)
    where = "no folder given" if folder is None else f"no folder {folder!r}"
    remedy = f"pass --data FOLDER or set {variable} (--help shows its layout)"
    print(f"benchmarks {benchmark}: skipped, {where}; {remedy}")
    return None
