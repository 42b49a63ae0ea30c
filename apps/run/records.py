"""The record beside each result: what was computed, from which inputs, how, and in how many seconds.

    OUT/NAME-COMMAND.json    {"command", "started", "versions", "program", "system", "options", "inputs", "device",
                              "method", "energy", "certificate", "seconds", "files", "written", "result"}

    program      digest of the sources of this distribution
    options      all options as they were understood, by name; null where a default depends on the input
    inputs       {role: {"name", "bytes", "sha256"}}; a folder also has the number of its "files", and its digest is
                 that of `sha256sum * | sha256sum`; a frame of a video has "shape" and "dtype" instead of bytes
    certificate  {"checked": true, "value", "bound"} of an optimum that passed check(), else {"checked": false}
    seconds      "total", the wall time of the process up to this file, or of this input of a batch, and "compile",
                 numba's compile time, which the first use of a kernel takes once per machine
    files        {kind: name}, relative to the folder of this file
    written      {name: sha256} of these files, and of those that earlier runs of the command on the same image wrote;
                 another run may replace them while they are unchanged
    result       the other entries of the report that --json writes

A record is written atomically after the files it names, so an interrupted run leaves no record of incomplete results.
`--resume` skips an item whose record has the inputs, the options and the program of the present run, if its files are
unchanged.  Contents are compared, not times or paths, so copied and renamed folders are recognised.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np

from apps.common.clock import Clock
from apps.common.command import finite
from apps.common.outputs import check_regular_files, paths_in
from apps.common.versions import library_versions
from apps.common.writing import together, write_bytes

RECORD = "record"  # kind of the record itself, in a report's "files"
SUBJECTS = ("file", "image", "first", "second")  # roles of the inputs that results are named after
UNCHECKED = {"checked": False}
# Options that affect where, how fast and how verbosely a command runs, but not its results.
NOT_OF_RESULTS = frozenset("json out overwrite quiet record report resume scheduler threads workers".split())
INVALID = (OSError, ValueError, KeyError, TypeError, AttributeError)  # of a record not written by this program


def record_path(out, name: str, command: str) -> Path:
    """File of the record of a result."""
    return Path(out) / f"{name}-{command}.json"


def performed(task, clock: Clock) -> tuple[dict, bool]:
    """The report of a task, with present paths, and whether --resume found that an earlier run finished it.

    Otherwise the task is processed, its files get their names together, and its record is written.
    """
    check_regular_files(task.job)
    chosen, path = task.chosen, record_path(task.chosen.out, task.name, task.command)
    inputs: dict = {}
    if chosen.record:
        inputs = inputs_of(task.job, task.source)
        if chosen.resume and (report := _finished(task, inputs, path)) is not None:
            return report, True
    earlier = earlier_files(path, inputs)
    continues, read = chosen.resume and path.is_file(), [*paths_in(task.job)]

    def check(file: Path, option: str) -> None:
        task.outputs.check(file, option, lambda one: continues or os.path.realpath(one) in earlier, read)

    if chosen.record:
        check(path, "--out")
    with together(check):
        report = task.function(task.job, chosen)
    report["elapsed"] = clock.total()
    if chosen.record:
        report["files"] = {**report["files"], RECORD: str(path)}
        content = _record_of(report, task, inputs, path.parent)
        kept = {_path_below(Path(file), path.parent): digest for file, digest in earlier.items() if digest}
        content["written"] = kept | _digests(output_files(report), path.parent)
        write_bytes(path, (_text(content) + "\n").encode())
    return report, False


def earlier_files(record: Path, inputs: Mapping) -> dict[str, str]:
    """{path without links: digest} of what earlier runs on the same image wrote and what is unchanged, and the record.

    Strokes and other hints may have changed.  Empty without such a record, or without `inputs`.
    """
    content = _read(record)
    try:
        if not content or _subjects(content["inputs"]) != _subjects(inputs):
            return {}
        same = _unchanged(content, record.parent)
    except INVALID:
        return {}
    return {os.path.realpath(record.parent / name): digest for name, digest in (same | {record.name: ""}).items()}


def _finished(task, inputs: Mapping, path: Path) -> dict | None:
    """The report of a task that an earlier run finished, with present paths; None if its record is outdated."""
    content = _read(path)
    try:
        present = json.loads(_text({"inputs": inputs, "options": _options(task), "program": _program()}))
        if _key(content, task.outputs.inputs) != _key(present, task.outputs.inputs):
            return None
        report = content["result"] | {"files": {kind: str(path.parent / one) for kind, one in content["files"].items()}}
        names = set(content["files"].values())
        if not names or not names <= _unchanged(content, path.parent).keys():
            return None
    except INVALID:
        return None
    report["files"][RECORD] = str(path)
    return report | {"elapsed": content["seconds"]}


def _unchanged(content: Mapping, folder: Path) -> dict[str, str]:
    """{name: digest} of the files in a record that are as they were written."""
    now = _digests(map(folder.joinpath, content["written"]), folder)
    return dict(now.items() & content["written"].items())


def output_files(report: Mapping) -> Iterator[Path]:
    """The files of a report but for the record beside them."""
    return (Path(path) for kind, path in report["files"].items() if kind != RECORD)


def inputs_of(job, source=None) -> dict:
    """{role: facts} of the paths, arrays and numbers in a job whose results are named after `source`."""
    parts: dict = {"file": job}
    if is_dataclass(job):
        parts = {}
        for field in fields(job):
            value = getattr(job, field.name)
            parts |= value if isinstance(value, dict) else {field.name: value}
    facts = {role: _facts(value, source) for role, value in parts.items()}
    return {role: fact for role, fact in facts.items() if fact not in (None, [])}


def _facts(value, source):
    if isinstance(value, Path):
        try:
            return _file_facts(value)
        except OSError:  # reading it will report the error
            return {"name": value.name}
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()
        name = None if source is None else Path(source).name
        return {"name": name, "shape": value.shape, "dtype": str(value.dtype), "sha256": digest}
    if isinstance(value, tuple | list):
        return [_facts(part, source) if isinstance(part, Path) else part for part in value]
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _file_facts(path: Path) -> dict:
    if not path.is_dir():
        return {"name": path.name, "bytes": path.stat().st_size, "sha256": _digest_of(path)}
    inside = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
    lines = "".join(f"{_digest_of(one)}  {one.name}\n" for one in inside)
    return {
        "name": path.name,
        "files": len(inside),
        "bytes": sum(one.stat().st_size for one in inside),
        "sha256": hashlib.sha256(os.fsencode(lines)).hexdigest(),
    }


def _record_of(report: Mapping, task, inputs: Mapping, folder: Path) -> dict:
    from gridcut.device import resolve

    rest = {name: value for name, value in report.items() if name not in ("elapsed", "files")}
    energies = rest.get("energies")
    seconds = report["elapsed"]
    return {
        "command": task.command,
        "started": (datetime.now(UTC) - timedelta(seconds=seconds["total"])).isoformat(timespec="seconds"),
        "versions": library_versions(),
        "program": _program(),
        "system": platform.platform(),
        "options": _options(task),
        "inputs": inputs,
        "device": rest.get("device") or resolve(task.chosen.device),
        "method": rest.get("method"),
        "energy": rest.get("energy", energies[-1] if energies else None),
        "certificate": rest.get("certificate", UNCHECKED),
        "seconds": seconds,
        "files": {kind: _path_below(Path(path), folder) for kind, path in report["files"].items() if kind != RECORD},
        "result": rest,
    }


def _options(task) -> dict:
    return dict(vars(task.chosen) if task.options is None else task.options)


def _key(content: Mapping, inputs: Iterable[str]) -> tuple:
    """What a record must have in common with a run to be its own; the inputs stand for the options that name them."""
    ignored = {*NOT_OF_RESULTS, *inputs}
    options = {name: value for name, value in content["options"].items() if name not in ignored}
    return options, _without_names(content["inputs"]), content["program"]


def _without_names(facts):
    if isinstance(facts, dict):
        return {role: _without_names(fact) for role, fact in facts.items() if role != "name"}
    return [_without_names(fact) for fact in facts] if isinstance(facts, list) else facts


def _subjects(inputs: Mapping) -> list[str]:
    return [inputs[role]["sha256"] for role in SUBJECTS if role in inputs]


def _digests(files: Iterable[Path], folder: Path) -> dict[str, str]:
    return {_path_below(file, folder): _digest_of(file) for file in files if file.is_file()}


def _digest_of(path: Path) -> str:
    """SHA-256 of a file's contents in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _program() -> str:
    """Digest of all sources of this distribution; a result of another version is not skipped."""
    root = Path(__file__).resolve().parents[2]
    total = hashlib.sha256()
    for package in ("apps", "assign", "gridcut", "matching"):
        for path in sorted((root / package).rglob("*.py")):
            total.update(path.relative_to(root).as_posix().encode())
            total.update(path.read_bytes())
    return total.hexdigest()


def _read(path: Path) -> dict:
    """The content of a record; empty without a record that can be read."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _text(content: Mapping) -> str:
    return json.dumps(finite(content), indent=1, allow_nan=False, default=str)


def _path_below(path: Path, folder: Path) -> str:
    """Path relative to a folder, after links; absolute if they are on different drives."""
    if path.parent == folder:
        return path.name
    try:
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
    except ValueError:
        return os.path.realpath(path)
