"""Protection of files: a run overwrites none of its inputs, and existing files only with `--overwrite`.

The names of all results are checked before the work starts; those of a stream, before each item:

- An input of the run is never overwritten.  Files are compared by `os.path.samefile`'s rule, so that links and other
  spellings of a path count.
- Two results of a run have different names.
- A result is a new file, or one that an earlier run of the same command on the same input wrote and that is unchanged
  since, as the record beside it says; `--overwrite` permits others.  With `--resume`, the run continues an earlier one
  and may replace its results, if --out contains a record of this command.  `--save-session` may name the session that
  `--resume-session` continues.
- A link, a device or a pipe is never replaced.

Each file is written under a temporary name and then renamed (`apps.common.writing`).
"""

import os
import re
import stat
from argparse import Namespace
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from apps.common.errors import InputError
from apps.common.writing import is_special

NAMED = ("json", "table", "video", "report", "save_session")  # options that name an output file
CONTINUED = {"--save-session": "resume_session"}  # outputs that may replace the input which they continue


class Outputs:
    """The output files of one run of a command, and its inputs.

    chosen      its options
    inputs      names of the options that name inputs: files, folders or lists of them
    continues   whether the run continues an earlier one, and may replace its results
    own_files   (item, its job or None) -> real paths of files that earlier runs on this item wrote, and may be replaced
    """

    def __init__(
        self,
        chosen: Namespace,
        inputs: tuple[str, ...] = (),
        continues: bool = False,
        own_files: Callable[[Any, Any], set[str]] = lambda item, job: set(),
    ):
        options = vars(chosen)
        self.out = Path(options.get("out", "."))
        self.named = {  # by the option, as it is spelled
            f"--{option.replace('_', '-')}": Path(value)
            for option in NAMED
            if (value := options.get(option)) and value != "-"
        }
        self._may_replace = chosen.overwrite or continues
        self._own_files = own_files
        self._own: dict[str, set[str]] = {}  # by name of an item
        self._given = [path for name in inputs for path in _paths(options.get(name))]
        self._continued = {option: options.get(name) for option, name in CONTINUED.items()}
        self._planned: dict[tuple[str, str], str] = {}  # (folder, name): input or option that the file results from
        self._folders: dict[Path, str] = {}  # without links in their paths

    def check(self, items: Sequence, first: Sequence = ()) -> None:
        """Raise InputError unless this run may write the files named by its options and the results of the items.

        `first` is the first item if the items are not known: files that options name are recorded beside its results.
        """
        for option, path in self.named.items():
            self._check_target(path, option, option, (*items, *first))
        for item in items:
            self.check_item(item)

    def check_item(self, item, job=None) -> None:
        """Raise InputError unless this run may write the results of an item: its `files` and its `families`.

        `job` is that of the item, whose files are inputs, too.
        """
        read = {identity_of(path) for path in paths_in(job)} - {None}
        numbered = (path for family in item.families for path in self._numbers.get(family, ()))
        for path in (*item.files, *numbered):
            self._check_target(path, "--out", item.shown, [item], job, read)

    def _check_target(self, path: Path, option: str, shown: str, items, job=None, read: Container = ()) -> None:
        if path.parent not in self._folders:
            _check_folder(path.parent, option)
            self._folders[path.parent] = os.path.realpath(path.parent)
        if (other := self._planned.setdefault((self._folders[path.parent], path.name), shown)) != shown:
            raise InputError(
                f"{option}: {str(path)!r} would be written for both {other!r} and {shown!r}; "
                "rename one, or run them separately"
            )
        try:
            mode = os.lstat(path).st_mode
        except OSError:  # there is none, or writing it will report why not
            return
        place = "name" if option.removeprefix("--").replace("-", "_") in NAMED else "folder"
        if stat.S_ISDIR(mode):
            raise InputError(f"{option}: cannot write {str(path)!r} (it is a folder); choose another name")
        if (identity := identity_of(path)) is not None and (identity in self._identities or identity in read):
            continued = self._continued.get(option)
            if continued and identity == identity_of(Path(continued)):
                return
            why = "is an input of this run and would be overwritten"
            raise InputError(f"{option}: {str(path)!r} {why}; choose another {place}")
        if not stat.S_ISREG(mode):
            raise InputError(f"{option}: {str(path)!r} is a link, a device or a pipe; choose another {place}")
        if not self._may_replace and not any(os.path.realpath(path) in self._own_of(item, job) for item in items):
            raise InputError(
                f"{option}: {str(path)!r} already exists; choose another {place}, or pass --overwrite to replace it"
            )

    def _own_of(self, item, job) -> set[str]:
        if item.name not in self._own:
            self._own[item.name] = self._own_files(item, job)
        return self._own[item.name]

    @cached_property
    def _identities(self) -> set:
        """Identities of the files that the options name, and of those in the folders that they name."""
        every = (inside for path in self._given for inside in (files_in(path) if path.is_dir() else [path]))
        return {identity_of(path) for path in every}

    @cached_property
    def _numbers(self) -> dict[str, list[Path]]:
        """The existing files FAMILY1.png, FAMILY2.png ... in --out, by family."""
        found: dict[str, list[Path]] = {}
        for path in files_in(self.out) if self.out.is_dir() else ():
            if name := re.fullmatch(r"(.*?)\d+\.png", path.name):
                found.setdefault(name[1], []).append(path)
        return found


def _check_folder(folder: Path, option: str) -> None:
    """Raise InputError unless a folder exists or can be created, and is writable."""
    above = folder
    while not os.path.lexists(above) and above != above.parent:
        above = above.parent
    if not os.path.isdir(above) or not os.access(above, os.W_OK | os.X_OK):
        reason = "Permission denied" if os.path.isdir(above) else "Not a directory"
        raise InputError(f"{option}: cannot write to {str(above)!r} ({reason}); choose a writable folder")


def files_in(folder: Path, argument: str = "--out") -> list[Path]:
    """The entries of a folder in order of name; InputError, naming the argument, for one that cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InputError(
            f"{argument}: cannot read the folder {str(folder)!r} ({error.strerror}); check its permissions"
        ) from None


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths are the same existing file or folder."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def paths_in(value) -> Iterator[Path]:
    """Every path in a job."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from paths_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from paths_in(getattr(value, field.name))


def check_regular_files(job) -> None:
    """Raise InputError for a device, a FIFO or a socket, because reading one may never end."""
    for path in paths_in(job):
        if is_special(path):
            raise InputError(f"{str(path)!r} is not a regular file but a device, a FIFO or a socket; copy it to a file")


def is_plain_name(name) -> bool:
    """Whether `name` is a plain file name without a path."""
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name


def identity_of(path: Path) -> tuple[int, int] | None:
    """What two paths of one file have in common; None without the file."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino


def _paths(value) -> Iterator[Path]:
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, str | Path):
            yield Path(one)
