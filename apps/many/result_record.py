"""The record beside each result: what was computed, from which inputs, how, and in how many seconds.

    OUT/NAME-COMMAND.json    {"command", "started", "versions", "system", "options", "inputs", "device", "method",
                              "energy", "certificate", "seconds", "files", "written", "result"}

    options      all options as they were understood, by name; null where a default depends on the input
    inputs       {role: {"name", "bytes", "sha256"}}; a folder also has the number of its "files", and its digest is
                 that of `sha256sum * | sha256sum`; a frame of a video has "shape" and "dtype" instead of bytes
    certificate  {"checked": true, "value", "bound"} of an optimum that passed check(), else {"checked": false}
    seconds      by phase; they add up to "total", the wall time of the process up to this file, or of this input of a
                 batch; "compile" is numba's compile time, which the first use of a kernel takes once per machine
    files        {kind: name}, relative to the folder of this file
    written      {name: sha256} of these files, and of those that earlier runs of the command on the same image wrote;
                 another run may replace them while they are unchanged
    result       the other entries of the report that --json writes

Records for --resume are others, in OUT/.cutmatch (see `apps.many.records`).
"""

import hashlib
import json
import os
import platform
from argparse import Namespace
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from apps.common.clock import Clock, phases, timed
from apps.common.command import finite
from apps.common.errors import InputError
from apps.common.versions import library_versions
from apps.common.writing import write_bytes
from apps.many.inputs import Item
from apps.many.records import RECORD, digest_of, output_files

if TYPE_CHECKING:  # it imports numba
    from gridcut.device import DeviceName

SUBJECTS = ("file", "image", "first", "second", "input", "clip")  # roles of the inputs that results are named after
UNCHECKED = {"checked": False}


def record_path(out, name: str, command: str) -> Path:
    """File of the record of a result."""
    return Path(out) / f"{name}-{command}.json"


def with_record(item: Item, command: str, chosen: Namespace) -> Item:
    """The item with its record among the files that it writes, unless --no-record."""
    if not chosen.record:
        return item
    return item._replace(files=(*item.files, record_path(chosen.out, item.name, command)))


@timed("digest")
def given(task) -> dict:
    """Facts of a task's inputs, taken before its work, which reads the same contents; none without a record."""
    return inputs_of(task.job, task.source) if task.chosen.record else {}


def complete(task, report: dict, inputs: Mapping, clock: Clock) -> None:
    """Add "elapsed", the seconds by phase since `clock` began, to the report of a task, and write its record.

    `inputs` are those of `given`.  Raises InputError if the record cannot be written.
    """
    report["elapsed"] = phases(clock)
    if not task.chosen.record:
        return
    path = record_path(task.chosen.out, task.name, task.command)
    report["files"] = {**report.get("files", {}), RECORD: str(path)}
    options = vars(task.chosen) if task.options is None else task.options
    content = record_of(report, task.command, options, inputs, path.parent)
    content["written"] = _unchanged(path, inputs) | _digests(output_files(report), path.parent)
    _save(path, content)


def add_files(reports: Iterable[Mapping], named: Iterable[Path]) -> None:
    """Add to the records of finished items what was written after them: figures on one scale, and in the first `named`.

    `named` are the files named by options, which are of all items.
    """
    for report in reports:
        path = Path(report["files"][RECORD])
        since, content = path.stat().st_mtime_ns, json.loads(path.read_bytes())
        late = {file for file in output_files(report) if file.stat().st_mtime_ns >= since} | set(named)
        if late:
            content["files"] = _relative(report["files"], path.parent)
            content["written"] |= _digests(late, path.parent)
            _save(path, content)
        named = ()


def own_files(command: str, chosen: Namespace, item: Item, job=None) -> set[str]:
    """The files, without links in their paths, that this run may replace, by the record beside the results of an item.

    Earlier runs of the command on the same image wrote them, and they are unchanged; strokes and other hints may have
    changed.  `job` is that of the item; None makes it.
    """
    path = record_path(chosen.out, item.name, command)
    if not chosen.record or not path.is_file():  # without a record of this run, the earlier one would become wrong
        return set()
    try:
        inputs = inputs_of(item.job() if job is None else job)
    except InputError:  # which will be reported
        return set()
    written = _unchanged(path, inputs)
    return {os.path.realpath(path.parent / name) for name in (*written, *([path.name] if written else ()))}


def _unchanged(record: Path, inputs: Mapping) -> dict[str, str]:
    """{name: digest} of the files in a record of the same image that are as they were; none without such a record."""
    try:
        content = json.loads(record.read_bytes())
        if _subjects(content["inputs"]) != _subjects(inputs):
            return {}
        now = _digests((record.parent / name for name in content["written"]), record.parent)
        return dict(now.items() & content["written"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # missing, or not written by this program
        return {}


def _subjects(inputs: Mapping) -> list[str]:
    return [inputs[role]["sha256"] for role in SUBJECTS if role in inputs]


def _digests(files: Iterable[Path], folder: Path) -> dict[str, str]:
    return {_path_below(file, folder): digest_of(file) for file in files if file.is_file()}


def _save(path: Path, content: Mapping) -> None:
    write_bytes(path, (json.dumps(finite(content), indent=1, allow_nan=False, default=str) + "\n").encode())


def record_of(report: Mapping, command: str, options: Mapping, inputs: Mapping, folder: Path) -> dict:
    """The content of a record; see the module's docstring."""
    rest = {name: value for name, value in report.items() if name not in ("elapsed", "seconds", "files")}
    energies = rest.get("energies")
    seconds = report["elapsed"]
    return {
        "command": command,
        "started": (datetime.now(UTC) - timedelta(seconds=seconds["total"])).isoformat(timespec="seconds"),
        "versions": library_versions(),
        "system": platform.platform(),
        "options": dict(options),
        "inputs": inputs,
        "device": rest.pop("device", None) or _device(options["device"]),
        "method": rest.pop("method", None),
        "energy": rest.get("energy", energies[-1] if energies else None),
        "certificate": rest.pop("certificate", UNCHECKED),
        "seconds": seconds,
        "files": _relative(report["files"], folder),
        "result": _with_relative_files(rest, folder),
    }


def inputs_of(job, source=None) -> dict:
    """{role: facts} of the paths, arrays and numbers in a job whose results are named after `source`."""
    parts: dict = {"file": job}
    if is_dataclass(job):
        parts = {}
        for field in fields(job):
            value = getattr(job, field.name)
            parts |= value if isinstance(value, dict) else {field.name: value}
    inputs: dict = {}
    for role, value in parts.items():
        if isinstance(value, Path):
            try:
                inputs[role] = _file_facts(value)
            except OSError:  # reading it will report the error
                inputs[role] = {"name": value.name}
        elif isinstance(value, np.ndarray):
            digest = hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()
            name = None if source is None else Path(source).name
            inputs[role] = {"name": name, "shape": value.shape, "dtype": str(value.dtype), "sha256": digest}
        elif isinstance(value, tuple | list):
            inputs[role] = value
    return inputs


def _file_facts(path: Path) -> dict:
    if not path.is_dir():
        return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest_of(path)}
    inside = sorted(one for one in path.iterdir() if one.is_file() and not one.name.startswith("."))
    lines = "".join(f"{digest_of(one)}  {one.name}\n" for one in inside)
    return {
        "name": path.name,
        "files": len(inside),
        "bytes": sum(one.stat().st_size for one in inside),
        "sha256": hashlib.sha256(os.fsencode(lines)).hexdigest(),
    }


def _device(device: "DeviceName") -> str:
    """The device that "auto" selects."""
    from gridcut.device import resolve

    return resolve(device)


def _with_relative_files(value, folder: Path):
    """A copy of a report in which the paths of every {kind: path} called "files" are relative to a folder."""
    if isinstance(value, dict):
        return {
            key: _relative(inner, folder)
            if key == "files" and isinstance(inner, dict)
            else _with_relative_files(inner, folder)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_relative_files(inner, folder) for inner in value]
    return value


def _relative(files: Mapping, folder: Path) -> dict:
    """{kind: path relative to the folder}, without the record itself."""
    return {kind: _path_below(Path(path), folder) for kind, path in files.items() if kind != RECORD}


def _path_below(path: Path, folder: Path) -> str:
    """Path relative to a folder, after links; absolute if they are on different drives."""
    if path.parent == folder:
        return path.name
    try:
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))).as_posix()
    except ValueError:
        return os.path.realpath(path)
