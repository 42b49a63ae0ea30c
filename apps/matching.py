"""Find a maximum matching of the rows and columns of a sparse matrix, certified: its structural rank.

  cutmatch matching west0479.mtx                          pairs of rows and columns, as CSV
  cutmatch matching graph.mtx.gz --table pairs.npy        as a NumPy array with two columns
  cutmatch matching jacobian.npz --dulmage-mendelsohn     adds the block triangular form, and a figure of it

The file is MatrixMarket in coordinate format (.mtx, .mtx.gz), or SciPy's (.npz).  Every stored entry is an edge between
its row and its column, whatever its value; both halves of symmetric files count.  Results in the --out folder, with
rows and columns counted from 0: NAME-pairs.csv (row, col); with --dulmage-mendelsohn NAME-blocks.npz (row_perm,
col_perm, row_start, col_start, parts: horizontal, square and vertical blocks) and NAME-blocks.png, the matrix in that
order.
"""

import io
from functools import partial
from pathlib import Path

from apps.common.clock import Clock
from apps.common.images import InputError, write_bytes, write_image
from apps.run.inputs import Item
from apps.run.program import Program, Work

TABLES = (".csv", ".npy")
COUNTS = ("initial", "edges", "phases", "augmentations", "path_length")  # statistics of a solve, for --json
MAX_VERTICES = 2**31 - 2  # rows or columns; indices have 32 bits
MIN_FIGURE_SIDE = 600  # pixels of the figure's longer side for smaller matrices
MAX_FIGURE_SIDE = 1000  # maximum pixels of the figure's longer side, without its frame
DOT_COLOUR, BLOCK_COLOUR, RULE_COLOUR, FRAME = (40, 60, 110), (221, 232, 247), (214, 90, 40), 150


def _add_options(options) -> None:
    options.add_argument("file", help="sparse matrix: .mtx, .mtx.gz or .npz")
    options.add_argument(
        "--method", default="auto", metavar="NAME", help="algorithm (default: auto); an unknown name lists all"
    )
    options.add_argument(
        "--init", default="auto", metavar="NAME", help="initial matching (default: auto); an unknown name lists all"
    )
    options.add_argument("--dulmage-mendelsohn", action="store_true", help="compute the block triangular form")
    options.add_argument(
        "--table", metavar="FILE", help="file for the pairs, .csv or .npy (default: NAME-pairs.csv in --out)"
    )


def _plan(chosen) -> Work:
    if chosen.table and Path(chosen.table).suffix.lower() not in TABLES:
        raise InputError(f"--table: {chosen.table!r} must end in {' or '.join(TABLES)}")
    from matching.methods import INITS, METHODS

    for option, given, names in (("method", chosen.method, METHODS), ("init", chosen.init, INITS)):
        if given not in ("auto", *names):
            raise InputError(f"--{option} must be one of {', '.join(('auto', *names))}; got {given!r}")
    path = Path(chosen.file)
    return Work([Item(_name(path), str(path), partial(Path, path))], False, _match_one, _line)


def _name(path: Path) -> str:
    """Name of the results: the file name without .mtx, .mtx.gz or .npz."""
    return Path(path.stem).stem if path.name.lower().endswith(".mtx.gz") else path.stem


def _files(name: str, chosen) -> dict[str, Path]:
    """Output files of a matrix in --out, by kind."""
    folder = Path(chosen.out)
    files = {} if chosen.table else {"pairs": folder / f"{name}-pairs.csv"}
    if chosen.dulmage_mendelsohn:
        files |= {"blocks": folder / f"{name}-blocks.npz", "figure": folder / f"{name}-blocks.png"}
    return files


def _match_one(file: Path, chosen) -> dict:
    """Read a matrix, match, certify and write the results; return the report."""
    import matching

    clock = Clock()
    graph = _read(file)
    how = {"method": chosen.method, "init": chosen.init, "device": chosen.device, "threads": chosen.threads}
    found = matching.maximum(graph, **how)
    found.check()
    form = None
    if chosen.dulmage_mendelsohn:
        form = matching.dulmage_mendelsohn(graph, start=found, **how)
        form.check()
    files = _write(graph, found, form, file, chosen)
    return _report(chosen.file, graph, found, form, clock.total(), files)


def _read(path):
    import matching
    from apps.common.images import reading

    with reading(path, "file", "pass a complete Matrix Market file, or .npz of SciPy"):
        try:
            graph = matching.read_graph(path)
        except ValueError as error:  # which names the file
            raise InputError(f"file: {error}") from None
    if max(graph.shape) > MAX_VERTICES:
        rows, columns = graph.shape
        raise InputError(
            f"file: {str(path)!r} has {rows} rows and {columns} columns; at most {MAX_VERTICES} of each are supported"
        )
    return graph


def _report(file, graph, found, form, seconds, files) -> dict:
    report = {
        "file": str(file),
        "rows": graph.shape[0],
        "columns": graph.shape[1],
        "entries": graph.nnz,
        "structural_rank": found.cardinality,
        "full_rank": found.cardinality == min(graph.shape),
        "certified": True,
        "certificate": {"checked": True, "value": found.cardinality, "bound": found.cardinality, "by": "minimum cover"},
        "method": found.method,
        "init": found.init,
        "counts": {count: int(found.stats[count]) for count in COUNTS if count in found.stats},
        "seconds": seconds,
        "files": {kind: str(path) for kind, path in files.items()},
    }
    if form is not None:
        horizontal, square, vertical = form.parts
        report["blocks"] = {
            "number": form.blocks,
            "horizontal": horizontal,
            "square": square,
            "vertical": vertical,
        }
    return report


def _write(graph, found, form, source: Path, chosen) -> dict:
    """Write all files atomically; return their paths."""
    import numpy as np

    pairs = np.column_stack(found.pairs)
    planned, buffer = _files(_name(source), chosen), io.BytesIO()
    path = Path(chosen.table or planned["pairs"])
    if path.suffix.lower() == ".npy":
        np.save(buffer, pairs)
    else:
        np.savetxt(buffer, pairs, fmt="%d", delimiter=",", header="row,col", comments="")
    files = {"pairs": write_bytes(path, buffer.getvalue(), "--table" if chosen.table else "--out")}
    if form is not None:
        parts = {part: getattr(form, part) for part in ("row_perm", "col_perm", "row_start", "col_start", "parts")}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **parts)
        files["blocks"] = write_bytes(planned["blocks"], buffer.getvalue())
        figure = block_figure(graph, form)
        files["figure"] = write_image(planned["figure"], figure)
    return files


def block_figure(graph, form):
    """Figure of the matrix in block order in a frame, uint8 RGB: entries, tinted blocks, rules between the three parts.

    A pixel that represents several entries is darker, the more entries there are.
    """
    import numpy as np

    from apps.common.figures import enlarged, zoom_of

    scale = min(1.0, MAX_FIGURE_SIDE / max(*graph.shape, 1))
    shape = tuple(max(1, round(scale * size)) for size in graph.shape)
    entries, place = graph.tocoo(), []
    for axis, (perm, at) in enumerate(((form.row_perm, entries.row), (form.col_perm, entries.col))):
        rank = np.empty(graph.shape[axis], np.int64)
        rank[perm] = np.arange(graph.shape[axis])
        place.append(rank[at] * shape[axis] // max(1, graph.shape[axis]))
    count = np.bincount(place[0] * shape[1] + place[1], minlength=shape[0] * shape[1]).reshape(shape)
    ink = np.log1p(count) / np.log1p(max(1, count.max()))
    ink = np.where(count > 0, 0.35 + 0.65 * ink, 0.0)[..., None]
    starts = zip((form.row_start, form.col_start), shape, graph.shape, strict=True)
    top, left = (start * side // max(1, size) for start, side, size in starts)
    paper = np.full((*shape, 3), 255.0)
    for k in np.flatnonzero((np.diff(top) > 0) & (np.diff(left) > 0)):  # others are smaller than a pixel
        paper[top[k] : top[k + 1], left[k] : left[k + 1]] = BLOCK_COLOUR
    figure = np.rint(paper + ink * (np.array(DOT_COLOUR) - paper)).astype(np.uint8)
    zoom = zoom_of(shape, MIN_FIGURE_SIDE)
    figure, half = enlarged(figure, zoom), zoom // 8  # so that rules cover no dot
    for axis, start in enumerate((top, left)):
        for end in start[np.cumsum(form.parts)[:2]]:
            if 0 < end < shape[axis]:
                np.moveaxis(figure, axis, 0)[zoom * end - half : zoom * end + half + 1] = RULE_COLOUR
    return np.pad(figure, ((1, 1), (1, 1), (0, 0)), constant_values=FRAME)


def _line(report) -> str:
    text = (
        f"{report['file']}: {report['rows']} x {report['columns']}, {report['entries']} entries, structural rank "
        f"{report['structural_rank']}{' (full)' if report['full_rank'] else ''}, certified, "
        f"{report['seconds']['total']:.3f} s -> {report['files']['pairs']}"
    )
    if "blocks" in report:
        blocks = report["blocks"]
        text += (
            f"; {blocks['number']} blocks: {blocks['horizontal']} horizontal, {blocks['square']} square, "
            f"{blocks['vertical']} vertical -> {report['files']['blocks']}"
        )
    return text


PROGRAM = Program("matching", __doc__, "matrix", ("file",), _add_options, _plan, has_batches=False)
main, run = PROGRAM.main, PROGRAM.run
