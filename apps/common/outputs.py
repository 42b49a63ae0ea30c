"""Protection of files: a run overwrites none of its inputs, and only existing files of its own without `--overwrite`.

Files are checked where they get their names, when all results of an item are complete (`apps.common.writing`):

- An input of the run is never overwritten.  Files are compared by `os.path.samefile`'s rule, so that links and other
  spellings of a path count.
- A result is a new file, or one that an earlier run of the same command on the same input wrote and that is unchanged
  since, as the record beside it says; `--overwrite` permits others, and files that options name.  With `--resume`, the
  run continues an earlier one and may replace the results that have a record, and files that options name.
- A link, a device or a pipe is never replaced.

What can be known is refused before the work: files that options name, the record of another item of the same name, and
folders that cannot be written.
"""

import os
import stat
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path

from apps.common.errors import InputError
from apps.common.writing import is_special

NAMED = ("json", "video", "report")  # options that name an output file


class Outputs:
    """What a run of a command may write.

    chosen   its options
    inputs   names of the options that name inputs: files, folders or lists of them
    """

    def __init__(self, chosen: Namespace, inputs: tuple[str, ...] = ()):
        options = vars(chosen)
        self.named = {  # by the option, as it is spelled
            f"--{option.replace('_', '-')}": Path(value)
            for option in NAMED
            if (value := options.get(option)) and value != "-"
        }
        self.inputs, self.out = inputs, Path(options.get("out", "."))
        self._may_replace = chosen.overwrite
        given = (options.get(name) for name in inputs)
        self._given = [
            Path(one)
            for value in given
            for one in (value if isinstance(value, list) else [value])
            if isinstance(one, str)
        ]

    def check_named(self, has_records: bool = False, continues: bool = False) -> None:
        """Raise InputError unless the files that options name, and files in --out, may be written.

        has_records   whether --out has results of the command, which may replace such files there
        continues     whether the run continues that of these results, and may replace such files anywhere
        """

        def may_replace(path: Path) -> bool:
            return has_records and (continues or identity_of(path.parent) == identity_of(self.out))

        for option, path in self.named.items():
            _check_folder(path.parent, option)
            self.check(path, option, may_replace)
        _check_folder(self.out, "--out")

    def check(self, path: Path, option: str, may_replace: Callable[[Path], bool], read: Collection[Path] = ()) -> None:
        """Raise InputError unless the run may write a file.

        may_replace   whether it may replace an existing one that is no input
        read          further files that the run reads
        """
        try:
            mode = os.lstat(path).st_mode
        except OSError:  # there is none, or writing it will report why not
            return
        place = "name" if option.removeprefix("--").replace("-", "_") in NAMED else "folder"
        if stat.S_ISDIR(mode):
            raise InputError(f"{option}: cannot write {str(path)!r} (it is a folder); choose another name")
        identity = identity_of(path)
        if identity is not None and (identity in self._identities or identity in map(identity_of, read)):
            why = "is an input of this run and would be overwritten"
            raise InputError(f"{option}: {str(path)!r} {why}; choose another {place}")
        if not stat.S_ISREG(mode):
            raise InputError(f"{option}: {str(path)!r} is a link, a device or a pipe; choose another {place}")
        if not self._may_replace and not may_replace(path):
            raise InputError(
                f"{option}: {str(path)!r} already exists; choose another {place}, or pass --overwrite to replace it"
            )

    @cached_property
    def _identities(self) -> set:
        """Identities of the files that the options name, and of those in the folders that they name."""
        every = (inside for path in self._given for inside in (files_in(path) if path.is_dir() else [path]))
        return {identity_of(path) for path in every}

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name != "_identities"}  # of this machine


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
    return (identity := identity_of(one)) is not None and identity == identity_of(other)


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
