"""What benchmarks/matching_cuda_runs.py measured, in files: written where the GPU is, drawn and tabled elsewhere."""

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.matching_cuda_runs import Measured, Ran


def write(path, report: str, measured: list[Measured]) -> Path:
    """Write JSON, complete or not at all: the header of the report, and each graph's Measured."""
    graphs = [asdict(m) | {"ran": {who: ran._asdict() for who, ran in m.ran.items()}} for m in measured]
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps({"report": report, "graphs": graphs}, indent=1, default=_plain), encoding="utf-8")
    unfinished.replace(path)
    return path


def read(paths) -> tuple[str, list[Measured]]:
    """The headers of some files, each once, and their graphs; programs of one graph in several files together.

    Raises OSError, or ValueError for a file that `write` has not written.
    """
    reports, graphs = {}, {}
    for path in paths:
        try:
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            reports[kept["report"]] = None
            for fields in kept["graphs"]:
                fields["ran"] = {who: Ran(**ran) for who, ran in fields["ran"].items()}
                one = Measured(**fields | {"shape": tuple(fields["shape"])})
                known = graphs.setdefault(one.name, one)
                if (known.shape, known.entries, known.size) != (one.shape, one.entries, one.size):
                    raise ValueError(f"{path}: another graph {one.name!r} than that of the files before")
                for name in ("state", "ran", "least", "runs", "seconds"):
                    setattr(known, name, getattr(known, name) | getattr(one, name))
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"{path} does not hold what --rows writes ({error!r})") from None
    return "\n".join(reports), list(graphs.values())


def _plain(number):
    """Of NumPy's numbers, those of Python."""
    return number.item()
