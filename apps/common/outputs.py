"""Protection of files: a run overwrites none of its inputs, and existing files only with `--overwrite`.

The names of all results are checked before the work starts; those of a stream, before each item:

- An input of the run is never overwritten.  Files are compared by `os.path.samefile`'s rule, so that links and other
  spellings of a path count.
- Two results of a run have different names.
- A result is a new file, or one that an earlier run of the same command on the same input wrote and that is unchanged
  since, as the record beside it says; `--overwrite` permits others.  With `--resume`, the run continues an earlier one
  and may replace its results, if --out contains records of this command.  `--save-session` may name the session that
  `--resume-session` continues.
- A link, a device or a pipe is never replaced.

Each file is written under a temporary name and then renamed (`apps.common.writing`).
"""

import errno
import os
import re
import stat
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from apps.common.errors import InputError, OutputError
from apps.common.writing import is_special, reported

NAMED = ("json", "table", "video", "report", "save_session")  # options that name an output file
CONTINUED = {"--save-session": "resume_session"}  # outputs that may replace the input which they continue
FOLDER = ".cutmatch"  # in --out: the records of finished items
MAX_NAME_BYTES = 255  # bytes of a file name in all common file systems


class Outputs:
    """The known output files of one run of a command, and its inputs.

    command   name of the program
    chosen    its options
    inputs    names of the options that name inputs: files, folders or lists of them
    own_files  (item, its job or None) -> real paths of files that earlier runs on this item wrote, and may be replaced
    """

    def __init__(
        self,
        command: str,
        chosen: Namespace,
        inputs: tuple[str, ...],
        own_files: Callable[[Any, Any], set[str]] = lambda item, job: set(),
    ):
        options = vars(chosen)
        self.out = Path(options.get("out", "."))
        self.named: dict[str, Path] = {}  # option: path
        self.unwritable: dict[str, Exception] = {}  # name of an item: error
        is_continued = options.get("resume", False) and (self.out / FOLDER / command).is_dir()
        self._may_replace = chosen.overwrite or is_continued
        self._own_files = own_files
        self._own: dict[str, set[str]] = {}  # by name of an item
        self._given = [path for name in inputs for path in _paths(options.get(name))]
        self._continued = {option: options.get(name) for option, name in CONTINUED.items()}
        self._identities: set | None = None  # of the inputs
        self._numbered: dict[str, list[Path]] | None = None  # existing results by the prefix before their number
        self._planned: dict[tuple[str, str], str] = {}  # (folder, name): input or option that the file results from
        self._folders: dict = {}
        for option in NAMED:
            if (value := options.get(option)) and value != "-":
                self.named[f"--{option.replace('_', '-')}"] = Path(value)

    def check(self, items: Sequence, first: Sequence = ()) -> None:
        """Raise InputError unless this run may write the files named by its options and the results of the items.

        `first` is the first item if the items are not known: files that options name are recorded beside its results.
        If only some items have names that cannot be written, their errors are stored in `unwritable`.
        """
        for option, path in self.named.items():
            self._reserve(path, option, option)
            self._check_target(path, option, (*items, *first))
        writable = 0
        for item in items:
            try:
                self.check_item(item)
                writable += 1
            except OutputError as error:
                self.unwritable[item.name] = error
        if self.unwritable and not writable:
            raise next(iter(self.unwritable.values()))

    def check_item(self, item, job=None) -> None:
        """Raise InputError unless this run may write the results of an item: its `files` and its `families`.

        `job` is that of the item, if it may be made only once.
        """
        for path in item.files:
            self._reserve(path, "--out", item.shown)
        for path in (*item.files, *(path for family in item.families for path in self._numbers_of(family))):
            self._check_target(path, "--out", [item], job)

    def check_job(self, item, job) -> None:
        """Raise InputError if a result of an item would overwrite a file that its job reads."""
        read = {identity_of(path) for path in paths_in(job)}
        for path in item.files:
            if (identity := identity_of(path)) is not None and identity in read:
                raise _overwrites_input(path, "--out")

    def _check_target(self, path: Path, option: str, items: Sequence, job=None) -> None:
        info = stat_of(path, option)
        if info is None:
            self._check_folder(path.parent, option)
            return
        if (identity := identity_of(path)) is not None and identity in self._inputs():
            continued = self._continued.get(option)
            if continued and identity == identity_of(Path(continued)):
                return
            raise _overwrites_input(path, option)
        if not stat.S_ISREG(info.st_mode):
            raise InputError(f"{option}: {str(path)!r} is a link, a device or a pipe; choose another {_place(option)}")
        if not self._may_replace and not any(os.path.realpath(path) in self._own_of(item, job) for item in items):
            raise InputError(
                f"{option}: {str(path)!r} already exists; choose another {_place(option)}, or pass --overwrite to "
                "replace it"
            )

    def _own_of(self, item, job) -> set[str]:
        if item.name not in self._own:
            self._own[item.name] = self._own_files(item, job)
        return self._own[item.name]

    def _reserve(self, path: Path, option: str, shown: str) -> None:
        folder = self._real(path.parent)
        if (other := self._planned.setdefault((folder, path.name), shown)) != shown:
            raise InputError(
                f"{option}: {str(path)!r} would be written for both {other!r} and {shown!r}; "
                "rename one, or run them separately"
            )

    def _real(self, folder: Path) -> str:
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        return self._folders[folder]

    def _check_folder(self, folder: Path, option: str) -> None:
        """Raise InputError unless a folder exists or can be created, and is writable."""
        key = (folder, option)
        if key not in self._folders:
            above = folder
            while not os.path.lexists(above) and above != above.parent:
                above = above.parent
            if os.path.isdir(above) and not os.access(above, os.W_OK | os.X_OK):
                reason: str | None = "Permission denied"
            else:
                reason = None if os.path.isdir(above) else "Not a directory"
            if reason:
                raise InputError(f"{option}: cannot write to {str(above)!r} ({reason}); choose a writable folder")
            self._folders[key] = True

    def _inputs(self) -> set:
        """Identities of the files that the options name, and of those in the folders that they name."""
        if self._identities is None:
            every = (inside for path in self._given for inside in (files_in(path) if path.is_dir() else [path]))
            self._identities = {identity_of(path) for path in every}
        return self._identities

    def _numbers_of(self, family: str) -> list[Path]:
        """The existing files FAMILY1.png, FAMILY2.png ... in --out."""
        if self._numbered is None:
            self._numbered = {}
            for path in files_in(self.out) if self.out.is_dir() else ():
                if name := re.fullmatch(r"(.*?)\d+\.png", path.name):
                    self._numbered.setdefault(name[1], []).append(path)
        return self._numbered.get(family, [])


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


def stat_of(path: Path, option: str):
    """Status of a file or of a link itself; None if it does not exist, InputError for a folder."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        if max(len(os.fsencode(part)) for part in path.parts) > MAX_NAME_BYTES:
            with reported(path, option):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)) from None
        return None
    except OSError:
        with reported(path, option):
            raise
    if stat.S_ISDIR(info.st_mode):
        raise InputError(f"{option}: cannot write {str(path)!r} (it is a folder); choose another name")
    return info


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


def _overwrites_input(path: Path, option: str) -> InputError:
    why = "is an input of this run and would be overwritten"
    return InputError(f"{option}: {str(path)!r} {why}; choose another {_place(option)}")


def _place(option: str) -> str:
    """What the option chooses: the name of a file, or the folder of results with given names."""
    return "name" if option.removeprefix("--").replace("-", "_") in NAMED else "folder"
