"""Protection of files: a run never overwrites its inputs, nor files that the same command did not create.

All output names are known and checked before the work starts: against the inputs (by inode, so that links and other
spellings of a path count), against each other, and against existing files, which `--overwrite` permits to replace.
The ledgers of `apps.common.ledgers` state which files a command created.  A report of --json is recognised by its
content.  If --out is a folder of inputs, the ledgers distinguish results from inputs.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path

from apps.common.errors import InputError, OutputError
from apps.common.ledgers import (
    add_to_ledger,
    check_own_files,
    identity_of,
    ledger_of,
    locked,
    read_ledger,
    remove_from_ledger,
    results_in,
    stat_of,
)
from apps.common.writing import is_special, reported, target_of

NAMED = ("json", "csv", "table", "video", "report", "save_session")  # options that name an output file
CONTINUED = {"--save-session": "resume_session"}  # outputs that may replace the input which they continue
REPORT_KEYS = frozenset(("seconds", "failures", "versions"))  # every report of a command has at least one of them


class Outputs:
    """The known output files of one run of a command, and its inputs.

    command   name of the program, for messages and ledgers
    chosen    its options
    inputs    names of the options that name inputs: files, folders or lists of them
    """

    def __init__(self, command: str, chosen, inputs: tuple[str, ...]):
        self.command, self.chosen, self.options = command, chosen, inputs
        self.out = Path(getattr(chosen, "out", "."))
        self.named = {}  # option: path
        self.unwritable: dict[str, Exception] = {}  # name of an item: error
        self._planned: dict = {}  # (folder, name): input or option that the file results from
        self._families: dict = {}  # prefix of file names: input that the files result from
        self._folders: dict = {}
        self._inputs: dict | None = None
        for option in NAMED:
            value = getattr(chosen, option, None)
            if value and value != "-":
                self.named[f"--{option.replace('_', '-')}"] = Path(value)

    def check(self, items: Iterable) -> None:
        """Raise InputError unless this run may write the files named by its options and the results of the items.

        If only some items have names that cannot be written, their errors are stored in `unwritable`.
        """
        for option, path in self.named.items():
            self._check_named(option, path)
        writable = 0
        for item in items:
            try:
                self.check_item(item)
                writable += 1
            except OutputError as error:
                self.unwritable[item.name] = error
        if self.unwritable and not writable:
            raise next(iter(self.unwritable.values()))
        self._check_families()

    def check_item(self, item) -> None:
        """Raise InputError unless this run may write the results of an item: its `files` and its `family`."""
        for path in item.files:
            self._reserve(path, "--out", item.shown)
            if stat_of(path, "--out") is None:
                self._check_folder(path.parent, "--out")
            else:
                self._check_not_input(path, "--out", ours=False)
        # With --resume, a finished item is skipped even if its input has moved; `claim` rejects the others.
        source = None if getattr(self.chosen, "resume", False) else item.source
        check_own_files(self.chosen, self.command, item.name, source, item.files)
        if item.family:
            self._families[item.family] = item.shown

    def check_job(self, item, job) -> None:
        """Raise InputError if a result of an item would overwrite a file that its job reads."""
        for path in item.files:
            if (identity := identity_of(path)) is not None:
                for read in paths_in(job):
                    if identity_of(read) == identity:
                        raise _overwrites_input(path, "--out")

    @contextmanager
    def writing_named(self) -> Iterator[None]:
        """Add the files named by options to the ledgers of their folders; at the end remove those that do not exist.

        On a full disk, a ledger could not be written after its file.
        """
        named = {option: target_of(path) for option, path in self.named.items() if option != "--json"}
        ledgers = {
            option: (target, ledger_of(target.parent, self.command))
            for option, target in named.items()
            if not isinstance(target, int) and not is_special(target)
        }
        above = dict.fromkeys(folder for _, ledger in ledgers.values() for folder in ledger.parents)
        new = [folder for folder in above if not folder.exists()]
        try:
            for option, (target, ledger) in ledgers.items():
                with reported(target, option), locked(ledger):
                    add_to_ledger(ledger, [], [target.name])
            yield
        finally:
            for target, ledger in ledgers.values():
                if not target.is_file():
                    with locked(ledger):
                        remove_from_ledger(ledger, target.name)
            for folder in new:
                with suppress(OSError):  # it has other files
                    folder.rmdir()

    def _check_named(self, option: str, path: Path) -> None:
        self._reserve(path, option, option)
        if is_special(path):
            return
        info = stat_of(path, option)
        if info is None or not path.exists():  # no such file, or a dangling link
            self._check_folder(path.parent, option)
            return
        with reported(path, option):
            target = target_of(path)
        if isinstance(target, int):
            return
        if option == "--json":
            ours = _is_report(target)
        else:
            ours = target.name in read_ledger(ledger_of(target.parent, self.command))[1]
        self._check_not_input(path, option, ours)
        if not ours and not getattr(self.chosen, "overwrite", False):
            raise InputError(
                f"{option}: {str(path)!r} already exists and was not written by cutmatch {self.command}; "
                f"choose another {_place(option)}, or pass --overwrite to replace it"
            )

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

    def _check_not_input(self, path: Path, option: str, ours: bool) -> None:
        """Raise InputError if `path` is an input: named by an option, or in a named folder and not `ours`."""
        identity = identity_of(path)
        if (continued := getattr(self.chosen, CONTINUED.get(option, ""), None)) and identity == identity_of(continued):
            return
        if identity is not None and identity in self._given() and not (ours and self._given()[identity][1]):
            raise _overwrites_input(path, option)

    def _given(self) -> dict:
        """{identity: (path, whether it was found in a folder)} of all input files."""
        if self._inputs is None:
            self._inputs = {}  # which `_add` fills
            for name in self.options:
                value = getattr(self.chosen, name, None)
                for one in value if isinstance(value, list | tuple) else [value]:
                    if isinstance(one, str | Path):
                        self._add(Path(one))
        return self._inputs

    def _add(self, path: Path) -> None:
        if os.path.isdir(path):
            for inside in files_in(path, self.out):
                if (identity := identity_of(inside)) is not None:
                    self._given().setdefault(identity, (inside, True))
        elif (identity := identity_of(path)) is not None:
            self._given()[identity] = (path, False)

    def _check_families(self) -> None:
        """Raise InputError if the name of an input matches a family of results, whose number is not known yet."""
        if not self._families:
            return
        for path, _ in self._given().values():
            begins = re.match(r"(.*?)\d+\.png$", path.name)
            if begins and begins[1] in self._families and self._real(path.parent) == self._real(self.out):
                raise _overwrites_input(path, "--out")


def files_in(folder: Path, out: Path | None = None, argument: str = "--out") -> list[Path]:
    """The entries of a folder in order of name, without the results of earlier runs if `out` is the same folder.

    Raises InputError, naming the argument, for a folder that cannot be read.
    """
    try:
        entries = sorted(folder.iterdir())
        ours = results_in(folder) if out is not None and same_folder(folder, out) else ()
    except OSError as error:
        raise InputError(
            f"{argument}: cannot read the folder {str(folder)!r} ({error.strerror}); check its permissions"
        ) from None
    return [path for path in entries if path.name not in ours]


def same_folder(one: Path, other: Path) -> bool:
    """Whether two paths are the same existing folder."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def paths_in(value) -> Iterator[Path]:
    """Every path in a job."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from paths_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from paths_in(getattr(value, field.name))


def check_regular_files(job) -> None:
    """Raise InputError for a device, a FIFO or a socket, because reading one may never end."""
    for path in paths_in(job):
        if is_special(path):
            raise InputError(f"{str(path)!r} is not a regular file but a device, a FIFO or a socket; copy it to a file")


def _overwrites_input(path: Path, option: str) -> InputError:
    why = "is an input of this run and would be overwritten"
    return InputError(f"{option}: {str(path)!r} {why}; choose another {_place(option)}")


def _place(option: str) -> str:
    """What the option chooses: the name of a file, or the folder of results with given names."""
    return "name" if option.removeprefix("--").replace("-", "_") in NAMED else "folder"


def _is_report(path: Path) -> bool:
    """Whether a file contains the JSON report of a command."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    rows = content if isinstance(content, list) else [content]
    return bool(rows) and all(isinstance(row, dict) and not REPORT_KEYS.isdisjoint(row) for row in rows)
