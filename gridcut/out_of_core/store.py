"""The state of a solve on disk, updated one block at a time, so that a killed run loses the work of one block only.

The lines of the grid are divided at the boundaries of the strips and `halo_width` lines before and after them.  A block
and the lines that its neighbours read then consist of whole pieces:

      strip 0            strip 1            strip 2
  ├────────────┬──┼──┬────────────┬──┼──┬────────────┤      pieces: the lines between two marks
                r  r                                        r: halo_width

A piece is two files, NUMBER-VERSION.state (excess, then residuals: the arrays of gridcut/core/grid.py for these lines,
padding included) and NUMBER-VERSION.bits (region_distance.py).  Changed pieces are written as new versions.  Then the
list of versions, `manifest.json`, is replaced atomically; only this step changes the state.  Then the old versions are
deleted."""

import json
import os
import weakref
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import numpy as np

from gridcut.core.grid import Grid, Layout, make_layout
from gridcut.out_of_core.region_distance import bits_type

try:
    import fcntl
except ImportError:  # this system has no such locks
    fcntl = None

MANIFEST, UNFINISHED, LOCK = "manifest.json", "manifest.json.new", "lock"
FORMAT = 2


class Store:
    """A folder with the state of one problem.

    bounds     lines at which strips start, and the end of the last
    progress   entries that the solver stored with its last commit
    unlock     lets other runs use the folder; to be called when the state is final
    owned      the folder is temporary, and is deleted with the store
    """

    def __init__(self, folder: Path, manifest: dict, owned: bool):
        self.folder = folder
        self._manifest = manifest
        self.shape = tuple(manifest["shape"])
        self.offsets = [tuple(offset) for offset in manifest["offsets"]]
        self.bounds = manifest["bounds"]
        self.layout = make_layout(self.shape, self.offsets)
        self.halo_width = max(offset[0] for offset in self.layout.offsets)
        self.dtype = np.dtype(manifest["dtype"])
        self.unit = float.fromhex(manifest["unit"]) if isinstance(manifest["unit"], str) else manifest["unit"]
        self.bound = None if manifest["bound"] is None else float.fromhex(manifest["bound"])
        self.bits_type = bits_type(self.layout.arcs)
        marks = {line + i * self.halo_width for line in self.bounds[1:-1] for i in (-1, 0, 1)}
        self.marks = sorted({0, self.shape[0], *marks})
        self._versions = manifest["versions"] or [None] * (len(self.marks) - 1)
        self._uncommitted = {}
        self._owned = owned
        self._lock = _lock(folder)
        self.unlock = weakref.finalize(self, self._lock.close) if self._lock else lambda: None
        # A temporary folder is deleted with the last cut that needs it.
        self._remove = weakref.finalize(self, rmtree, folder, ignore_errors=True) if owned else lambda: None

    def __reduce__(self):
        """Pickled with its files if the folder is temporary, else as the path of the folder."""
        if not self._owned:
            return _restored, (self.folder, self._manifest, None)
        names = [self._path(piece, kind) for piece in range(len(self._versions)) for kind in ("state", "bits")]
        return _restored, (None, self._manifest, {path.name: path.read_bytes() for path in names})

    def abandon(self) -> None:
        """Unlock the folder, and delete it if it is temporary."""
        self.unlock()
        self._remove()

    @property
    def progress(self) -> dict:
        return self._manifest["progress"]

    def layout_of(self, first: int, last: int) -> Layout:
        """The layout of lines first..last: that of the grid, except for its length."""
        return make_layout((last - first, *self.shape[1:]), self.layout.offsets)

    def with_halo(self, first: int, last: int) -> tuple[int, int]:
        """The range of lines first..last with their halo."""
        return max(0, first - self.halo_width), min(self.shape[0], last + self.halo_width)

    def read(self, first: int, last: int) -> Grid:
        """The state of lines first..last, which are whole pieces."""
        layout = self.layout_of(first, last)
        excess = np.zeros(layout.size, self.dtype)
        residual = np.zeros(layout.size * layout.arcs, self.dtype)
        for piece, cells in self._pieces(layout, first, last):
            arcs = slice(cells.start * layout.arcs, cells.stop * layout.arcs)
            with open(self._path(piece, "state"), "rb") as file:
                _read_into(file, excess[cells])
                _read_into(file, residual[arcs])
        return Grid(layout, excess, residual, self.unit)

    def read_bits(self, first: int, last: int) -> np.ndarray:
        """The bits of lines first..last, padded like their state."""
        layout = self.layout_of(first, last)
        bits = np.zeros(layout.size, self.bits_type)
        for piece, cells in self._pieces(layout, first, last):
            with open(self._path(piece, "bits"), "rb") as file:
                _read_into(file, bits[cells])
        return bits

    def write(self, first: int, last: int, grid: Grid, bits: np.ndarray, start_line: int) -> None:
        """Write lines first..last, whole pieces, of a state that starts at `start_line`; valid after `commit`."""
        stride = self.layout.stride[0]
        for piece, _ in self._pieces(self.layout, first, last):
            begin, end = (grid.layout.head + (line - start_line) * stride for line in self.marks[piece : piece + 2])
            version = (self._versions[piece] or 0) + 1
            residual = grid.residual[begin * grid.layout.arcs : end * grid.layout.arcs]
            self._write(self._path(piece, "state", version), grid.excess[begin:end], residual)
            self._write(self._path(piece, "bits", version), bits[begin:end])
            self._uncommitted[piece] = version

    def commit(self, **progress) -> None:
        """Atomically make everything written since the last commit the state, and store entries of `progress`."""
        versions = list(self._versions)
        old = []
        for piece, version in self._uncommitted.items():
            if versions[piece] is not None:
                old += [self._path(piece, kind) for kind in ("state", "bits")]
            versions[piece] = version
        self._manifest = {**self._manifest, "versions": versions, "progress": {**self.progress, **progress}}
        unfinished = self.folder / UNFINISHED
        self._write(unfinished, np.frombuffer(json.dumps(self._manifest).encode(), np.uint8))
        os.replace(unfinished, self.folder / MANIFEST)
        self._versions = versions
        self._uncommitted = {}
        for path in old:
            path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete files that are not part of the committed state."""
        known = {
            self._path(piece, kind).name for piece, v in enumerate(self._versions) if v for kind in ("state", "bits")
        }
        for path in self.folder.iterdir():
            if path.suffix in (".state", ".bits", ".new") and path.name not in known:
                path.unlink(missing_ok=True)

    def _write(self, path: Path, *arrays: np.ndarray) -> None:
        """Write arrays to a new file, flushed to disk unless the folder is temporary, to survive a power failure."""
        with open(path, "wb") as file:
            for array in arrays:
                file.write(memoryview(array).cast("B"))
            if not self._owned:
                file.flush()
                os.fsync(file.fileno())

    def _pieces(self, layout: Layout, first: int, last: int):
        """Indices of the pieces of lines first..last, and their cells in a layout that starts with `first`."""
        stride = layout.stride[0]
        for piece in range(self.marks.index(first), self.marks.index(last)):
            begin, end = (layout.head + (line - first) * stride for line in self.marks[piece : piece + 2])
            yield piece, slice(begin, end)

    def _path(self, piece: int, kind: str, version: int | None = None) -> Path:
        return self.folder / f"{piece:06d}-{self._versions[piece] if version is None else version}.{kind}"


def create(folder, identity: str | None, shape, offsets, bounds, dtype, unit, bound=None) -> Store:
    """Create a store; folder: None for a temporary one, which is deleted with the store."""
    owned = folder is None
    folder = Path(mkdtemp(prefix="cutmatch-out-of-core-")) if owned else Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "format": FORMAT,
        "identity": identity,
        "shape": list(shape),
        "offsets": [list(offset) for offset in offsets],
        "bounds": list(bounds),
        "dtype": np.dtype(dtype).name,
        "unit": unit.hex() if isinstance(unit, float) else unit,
        "bound": None if bound is None else bound.hex(),
        "versions": None,
        "progress": {},
    }
    store = Store(folder, manifest, owned)
    store.commit()
    store.discard()
    return store


def reopen(folder, identity: str) -> Store | None:
    """Open the store of an earlier run; None if the folder holds none, or does not exist.

    Raises ValueError for other files, and for the store of another problem or of another version of this program.
    """
    path = Path(folder) / MANIFEST
    if not path.exists():
        # A run may have ended before its first commit.
        if Path(folder).is_dir() and any(path.name not in (UNFINISHED, LOCK) for path in Path(folder).iterdir()):
            raise ValueError(f"folder {folder} holds other files; pass an empty or a new folder")
        return None
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if manifest["format"] != FORMAT:
            raise ValueError(
                f"folder {folder} was written by another version of cutmatch; pass an empty or a new folder"
            )
        if manifest["identity"] != identity:
            raise ValueError(f"folder {folder} holds the state of another problem; pass an empty or a new folder")
        store = Store(Path(folder), manifest, owned=False)
    # Keys are missing or of the wrong type, or it is not JSON; nested too deeply, it is a RecursionError.
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"folder {folder}: its {MANIFEST} cannot be read; pass an empty or a new folder") from error
    store.discard()
    return store


def _restored(folder: Path | None, manifest: dict, files: dict | None) -> Store:
    """Restore a pickled store, whose state is final."""
    if files is not None:
        folder = Path(mkdtemp(prefix="cutmatch-out-of-core-"))
        for name, content in files.items():
            (folder / name).write_bytes(content)
    store = Store(folder, manifest, owned=files is not None)
    store.unlock()
    return store


def _lock(folder: Path):
    """An open file with an exclusive lock; RuntimeError if another process holds the lock."""
    if fcntl is None:
        return None
    file = open(folder / LOCK, "w", encoding="utf-8")  # noqa: SIM115 - held as long as the store
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise RuntimeError(
            f"folder {folder} is used by another run; wait for it to finish, or pass another folder"
        ) from None
    return file


def _read_into(file, array: np.ndarray) -> None:
    if file.readinto(memoryview(array).cast("B")) != array.nbytes:
        raise RuntimeError(f"{file.name} is truncated; delete its folder and solve again")
