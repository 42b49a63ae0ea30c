"""Tables of results in Markdown: the machine and commit they came from, and a digest that shows edits by hand."""

import hashlib
import os
import platform
import re
import subprocess
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def number(value, digits: int = 2) -> str:
    """A number with a fixed number of decimals; "-" for None."""
    return "-" if value is None else f"{value:.{digits}f}"


def markdown(columns, rows):
    """A Markdown table, padded so that it also reads well in a terminal; the first column is text."""
    cells = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]

    def line(row):
        padded = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "-" * (widths[0] + 2) + "|" + "".join("-" * (w + 1) + ":|" for w in widths[1:])
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


def records(rows: list[dict]) -> str:
    """A Markdown table of rows {column: cell}; the columns of all of them in the order of their first appearance."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return markdown(columns, [[row.get(column, "-") for column in columns] for row in rows]) if rows else ""


def milliseconds(seconds) -> str:
    """Three digits or more; "-" for None, "stopped" for infinity."""
    if seconds is None or seconds == float("inf"):
        return "-" if seconds is None else "stopped"
    return f"{1e3 * seconds:.0f}" if seconds >= 1 else f"{1e3 * seconds:.3g}"


def ratio(above, below) -> float | None:
    """Of two times, if both were measured."""
    return above / below if above and below and float("inf") not in (above, below) else None


def means(ratios: dict[str, list]) -> str:
    """The geometric mean and the least of each list of ratios, without None."""
    found = {name: [value for value in of if value] for name, of in ratios.items()}
    return records(
        [
            {"ratio": name, "of": str(len(of)), "geometric mean": number(geometric_mean(of)), "least": number(min(of))}
            for name, of in found.items()
            if of
        ]
    )


def header(title, distributions):
    """Title, machine, versions, commit and date."""
    versions = [f"Python {platform.python_version()}"]
    for name in distributions:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} missing")
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"# {title}\n\n"
        f"{_processor()}, {os.cpu_count()} logical cores{load}; {platform.system()}; {', '.join(versions)}; "
        f"{commit()}; {date.today().isoformat()}.\n"
    )


def save(name, text):
    """Write benchmarks/results/NAME.md atomically; its last line is a digest of the others."""
    RESULTS.mkdir(exist_ok=True)
    unfinished = RESULTS / f"{name}.md.part"
    unfinished.write_text(sealed(text), encoding="utf-8")
    path = unfinished.with_suffix("")
    unfinished.replace(path)
    return path


def sealed(text: str) -> str:
    """A report as it is saved."""
    text = text.rstrip("\n") + "\n"
    return f"{text}\n<!-- sha256 of the lines above: {hashlib.sha256(text.encode()).hexdigest()} -->\n"


def _processor():
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        return found[1] if found else platform.processor()
    except OSError:
        return platform.processor()


def commit() -> str:
    """The commit that runs, with "-changed" if a file differs from it."""
    describe = ["git", "describe", "--always", "--dirty=-changed"]
    try:
        done = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "no commit"
    return f"commit {done.stdout.rstrip()}"
