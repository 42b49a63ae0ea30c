"""Find a maximum matching of the rows and columns of a sparse matrix, certified: its structural rank.

  cutmatch matching west0479.mtx                          pairs of rows and columns, as CSV
  cutmatch matching jacobian.npz --dulmage-mendelsohn     adds the block triangular form

The file is MatrixMarket in coordinate format (.mtx, .mtx.gz), or SciPy's (.npz).  Every stored entry is an edge between
its row and its column, whatever its value; both halves of symmetric files count.  Results in the --out folder, with
rows and columns counted from 0: NAME-pairs.csv (row, col); with --dulmage-mendelsohn NAME-blocks.npz (row_perm,
col_perm, row_start, col_start, parts: horizontal, square and vertical blocks).
"""

import io
from pathlib import Path

from apps.common.clock import Clock
from apps.common.file_kinds import stem_of
from apps.common.images import InputError, write_bytes
from apps.run.inputs import check_unique_names, image_items
from apps.run.program import Program, Work, line_of, report_of

MAX_VERTICES = 2**31 - 2  # rows or columns; indices have 32 bits


def _add_options(options) -> None:
    options.add_argument("file", nargs="+", help="sparse matrices: .mtx, .mtx.gz or .npz")
    options.add_argument("--method", default="auto", metavar="NAME", help="algorithm; an unknown name lists all")
    options.add_argument("--init", default="auto", metavar="NAME", help="initial matching; an unknown name lists all")
    options.add_argument("--dulmage-mendelsohn", action="store_true", help="compute the block triangular form")


def _plan(chosen) -> Work:
    from matching.methods import INITS, METHODS

    for option, given, names in (("method", chosen.method, METHODS), ("init", chosen.init, INITS)):
        if given not in ("auto", *names):
            raise InputError(f"--{option} must be one of {', '.join(('auto', *names))}; got {given!r}")
    paths = list(map(Path, chosen.file))
    check_unique_names(paths, "file")
    return Work(image_items(paths, Path), len(paths) > 1, _match_one, _line)


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
    files = _write(found, form, file, chosen)
    return _report(file, graph, found, form, clock.total(), files)


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
    checked = {"checked": True, "value": found.cardinality, "bound": found.cardinality, "by": "minimum cover"}
    facts = {
        "rows": graph.shape[0],
        "columns": graph.shape[1],
        "entries": graph.nnz,
        "structural_rank": found.cardinality,
        "full_rank": found.cardinality == min(graph.shape),
        "certificate": checked,
        "method": found.method,
        "init": found.init,
    }
    if form is not None:
        parts = zip(("horizontal", "square", "vertical"), form.parts, strict=True)
        facts["blocks"] = {"number": form.blocks, **dict(parts)}
    return report_of({"file": str(file)}, (), seconds, files, **facts)


def _write(found, form, source: Path, chosen) -> dict:
    """Write all files atomically; return their paths."""
    import numpy as np

    start, buffer = f"{chosen.out}/{stem_of(source)}", io.BytesIO()
    np.savetxt(buffer, np.column_stack(found.pairs), fmt="%d", delimiter=",", header="row,col", comments="")
    files = {"pairs": write_bytes(f"{start}-pairs.csv", buffer.getvalue())}
    if form is not None:
        parts = {part: getattr(form, part) for part in ("row_perm", "col_perm", "row_start", "col_start", "parts")}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **parts)
        files["blocks"] = write_bytes(f"{start}-blocks.npz", buffer.getvalue())
    return files


def _line(report) -> str:
    rank = f"structural rank {report['structural_rank']}{' (full)' if report['full_rank'] else ''}"
    size = f"{report['rows']} x {report['columns']}", f"{report['entries']} entries"
    text = line_of(report, *size, rank, "certified")
    if "blocks" in report:
        blocks = report["blocks"]
        text += (
            f"; {blocks['number']} blocks: {blocks['horizontal']} horizontal, {blocks['square']} square, "
            f"{blocks['vertical']} vertical -> {report['files']['blocks']}"
        )
    return text


PROGRAM = Program("matching", __doc__, "file", ("file",), _add_options, _plan)
main, run = PROGRAM.main, PROGRAM.run
