"""Tables of results in Markdown, with the machine they came from."""

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


def markdown(columns, rows):
    """A Markdown table, padded so that it also reads well in a terminal; the first column is text."""
    cells = [list(columns), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]

    def line(row):
        padded = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "-" * (widths[0] + 2) + "|" + "".join("-" * (w + 1) + ":|" for w in widths[1:])
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])


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
        f"{_commit()}{date.today().isoformat()}.\n"
    )


def save(name, text):
    """Write benchmarks/results/NAME.md, complete or not at all."""
    RESULTS.mkdir(exist_ok=True)
    unfinished = RESULTS / f"{name}.md.part"
    unfinished.write_text(text + "\n", encoding="utf-8")
    path = unfinished.with_suffix("")
    unfinished.replace(path)
    return path


def _processor():
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        return found[1] if found else platform.processor()
    except OSError:
        return platform.processor()


def _commit():
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return f"commit {done.stdout.strip()}; " if done.returncode == 0 else ""
