"""Records of finished items, which `--resume` uses to skip them.

    OUT/.cutmatch/COMMAND/NAME.json     {"input", "options", "program": digests,
                                         "outputs": {path below OUT: digest}, "out", "report"}

An item is finished if all three digests equal those of the present run and every output exists unchanged.  A record is
written atomically after its outputs, so an interrupted run never leaves a record of incomplete outputs.  Digests cover
contents, not times or paths, so copied and renamed folders are recognised.  The record beside each result
(`apps.many.result_record`) must be there too, unless --no-record; files that are written later are added to it.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np

from apps.common import writing
from apps.common.outputs import FOLDER, is_plain_name
from apps.common.writing import write_bytes

RECORD = "record"  # kind of the record beside a result, in a report's "files"
MAX_KEY_BYTES = 200  # bytes of a record's name; a longer one is replaced by its digest
# Options that affect where, how fast and how verbosely a command runs, but not its results.
NOT_OF_RESULTS = frozenset("json many out overwrite quiet record report resume scheduler threads workers".split())


def fingerprint(task) -> dict:
    """Digests of a task's input, of its options and of this program."""
    inputs = hashlib.sha256()
    _feed(inputs, task.job)
    options = {k: v for k, v in vars(task.chosen).items() if k not in NOT_OF_RESULTS and k not in task.inputs}
    call = json.dumps([task.function.__module__, task.function.__qualname__, options], sort_keys=True, default=str)
    return {
        "input": inputs.hexdigest(),
        "options": hashlib.sha256(call.encode()).hexdigest(),
        "program": _program(),
    }


def verified(task, known: dict) -> dict | None:
    """The report of a finished task, with present paths; None if the task is not finished or its record is outdated."""
    try:
        record = json.loads(_path(task).read_bytes())
        if any(record[what] != digest for what, digest in known.items()):
            return None
        out, outputs = Path(task.chosen.out), record["outputs"]
        # Results are stored in --out itself.  A record with other paths was not written by `write`.
        if not all(map(is_plain_name, outputs)) or any(
            digest_of(out / name) != digest for name, digest in outputs.items()
        ):
            return None
        report = record["report"]
        for files in _files(report):
            names = {kind: str(Path(path).relative_to(record["out"])) for kind, path in files.items()}
            if not outputs.keys() >= {name for kind, name in names.items() if kind != RECORD}:
                return None
            files.update({kind: str(out / name) for kind, name in names.items()})
        if task.chosen.record:
            json.loads(Path(report["files"][RECORD]).read_bytes())["written"]  # KeyError: finished with --no-record
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # missing, or not written by this program
        return None
    return report


def write(task, known: dict, report: dict) -> None:
    """Record that a task is finished, with digests of the outputs in its report."""
    out = Path(task.chosen.out)
    outputs = {path.relative_to(out).as_posix(): digest_of(path) for path in output_files(report)}
    record = {**known, "outputs": outputs, "out": str(out), "report": report}
    write_bytes(_path(task), json.dumps(record, indent=1).encode())


def remove_unfinished(task, process: int) -> None:
    """Remove the temporary files of a killed process."""
    for folder in (Path(task.chosen.out), _path(task).parent):
        writing.remove_unfinished(folder, process)


def key_of(name: str) -> str:
    """Name of the record of an item: the item's name, or its digest if that is too long."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= MAX_KEY_BYTES else hashlib.sha256(encoded).hexdigest()


def _path(task) -> Path:
    return Path(task.chosen.out) / FOLDER / task.command / f"{key_of(task.name)}.json"


def _files(report):
    """Every {kind: path} called "files" in a report, at any depth."""
    for key, value in report.items():
        if key == "files":
            yield value
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and key != "files":
                yield from _files(inner)


def output_files(report: Mapping) -> Iterator[Path]:
    """The files in a report, but for the record beside them."""
    for files in _files(report):
        yield from (Path(path) for kind, path in files.items() if kind != RECORD)


def digest_of(path: Path) -> str:
    """SHA-256 of a file's contents, or of all files of a folder, in hexadecimal digits."""
    if os.path.isdir(path):
        total = hashlib.sha256()
        _feed(total, path)
        return total.hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _program() -> str:
    """Digest of all sources of this distribution, which rejects results of another version."""
    root = Path(__file__).resolve().parents[2]
    total = hashlib.sha256()
    for package in ("apps", "assign", "gridcut", "matching"):
        for path in sorted((root / package).rglob("*.py")):
            total.update(path.relative_to(root).as_posix().encode())
            total.update(path.read_bytes())
    return total.hexdigest()


def _feed(total, value) -> None:
    """Add a value to a digest: files by their contents, each value with its kind and size."""
    if isinstance(value, Path):
        if os.path.isdir(value):
            # Not below other folders, where the results of this run may be.
            inside = sorted(path for path in value.iterdir() if os.path.isfile(path))
            _feed(total, [part for path in inside for part in (path.relative_to(value).as_posix(), path)])
            return
        try:
            total.update(b"file " + digest_of(value).encode())
        except OSError:  # reading it will report the error
            total.update(b"no file ")
    elif is_dataclass(value):
        _feed(total, [part for field in fields(value) for part in (field.name, getattr(value, field.name))])
    elif isinstance(value, dict):
        _feed(total, [part for entry in sorted(value.items()) for part in entry])
    elif isinstance(value, list | tuple):
        total.update(f"list {len(value)} ".encode())
        for part in value:
            _feed(total, part)
    elif isinstance(value, np.ndarray):
        total.update(f"array {value.dtype.str} {value.shape} ".encode())
        total.update(np.ascontiguousarray(value))
    else:
        text = repr(value).encode()
        total.update(b"%s %d %s " % (type(value).__name__.encode(), len(text), text))
