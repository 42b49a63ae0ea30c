"""Every class of results: one line of text, copies, pickles, comparison, and what notebooks show."""

import ast
import copy
import dataclasses
import io
import pickle
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import apps
import assign
import gridcut
import matching
from gridcut.device import figures
from gridcut.device.result import GridResult, Result
from tests.gridcut.corruption import RESULTS

MAX_LENGTH = 700  # characters of a repr
CUTS = ("cut", "batch", "graph", "binary", "convex", "expansion", "roof, decided")


def path_graph():
    import scipy.sparse

    return scipy.sparse.csr_array(np.array([[0, 5, 0, 0], [5, 0, 6, 0], [0, 6, 0, 5], [0, 0, 5, 0]]))


def matches(n=50):
    from apps.motion.matches import Matches

    first = np.random.default_rng(0).random((n, 2)) * 90
    return Matches(first, first + 1, np.zeros(n), np.ones(n), np.full(n, 0.5))


@cache
def made() -> dict[str, Result]:
    """A result of every class, by name of the class."""
    from apps.motion.linking import Links, link
    from apps.motion.points import Points
    from apps.motion.windows import WindowMatches
    from apps.point_matching.geometry import Geometry
    from apps.point_matching.wide_baseline import WideMatches
    from apps.segmentation.volume_object import segment_object
    from apps.session import Session

    rng = np.random.default_rng(0)
    photo = rng.random((24, 32, 3), dtype=np.float32) / 4
    photo[6:18, 8:24] += 0.6
    seeds = np.zeros((24, 32), np.uint8)
    seeds[12, 10:20], seeds[1] = 1, 2
    far = np.kron(rng.random((12, 16)), np.ones((4, 4)))
    pairs = matches()
    batch = assign.solve_batch(rng.random((3, 4, 5)))
    tracks = apps.track([pairs.first, pairs.second], search_range=3.0)
    session = Session(photo, device="cpu")
    session.start_from(photo[..., 0] > 0.5)
    results = [RESULTS[name](1, "cpu")[0] for name in CUTS]
    results += [
        assign.solve(rng.random((50, 60))),
        assign.min_cost_flow(range(50), range(1, 51), 3, 1, [2] + [0] * 49 + [-2]),
        batch,
        assign.k_best(rng.random((50, 60)), 2),
        matching.maximum(path_graph()),
        matching.greedy(path_graph()),
        matching.dulmage_mendelsohn(path_graph()),
        matching.coarsen(path_graph()),
        matching.hierarchy(path_graph()),
        apps.segment(photo, box=(6, 4, 26, 20), device="cpu"),
        apps.segment_labels(photo, seeds, device="cpu"),
        apps.segment_boxes(photo, [(6, 4, 26, 20), (0, 0, 8, 8)], device="cpu"),
        segment_object(np.stack([photo[..., 0]] * 2), np.array([-1, 1, 0])[[seeds] * 2], device="cpu"),
        apps.refine(photo, photo[..., 0] > 0.5, device="cpu"),
        apps.denoise(photo, device="cpu"),
        apps.stereo(far, far, max_disparity=4, device="cpu"),
        apps.superpixels(photo, regions=5),
        apps.flow(far[:, :-2], far[:, 2:], fast=True, device="cpu"),
        tracks,
        tracks.detections,
        pairs,
        WideMatches(pairs, np.zeros(50), "homography", np.eye(3), {"matches": 50}, {}),
        Geometry("homography", np.eye(3), 50, -20.0),
        Points(pairs.first, np.zeros((50, 3))),
        apps.Trajectories(np.zeros((2, 50, 2)), np.zeros((2, 50), np.uint8), np.ones((2, 50)), np.ones((2, 50))),
        WindowMatches(pairs, (batch, batch), (np.ones((3, 2), int),)),
        session.result(),
        session.margins(),
        link(*np.indices((4, 4)).reshape(2, -1), rng.random(16), (4, 4), 2.0, "cpu"),
    ]
    assert isinstance(results[-1], Links)
    results += [result.solved for result in results if type(result).__name__ == "VolumeObject"]
    return {type(result).__name__: result for result in results}


NAMES = [
    *("Cut", "BatchCut", "GraphCut", "BinaryMinimum", "ConvexMinimum", "Labelling", "RoofDual"),
    *("Assignment", "MinCostFlow", "BatchAssignment", "RankedAssignments"),
    *("Matching", "GreedyMatching", "BlockTriangular", "CoarseGraph", "Hierarchy"),
    *(
        "Segmentation",
        "Objects",
        "Instances",
        "VolumeObject",
        "PartCuts",
        "Refinement",
        "Restoration",
        "Disparity",
        "Superpixels",
        "Flow",
    ),
    *("Tracks", "Detections", "Matches", "WideMatches", "Geometry", "Points", "Trajectories", "WindowMatches", "Links"),
    "SessionResult",
    "Margins",
]


def test_every_class_is_tested():
    """By the sources, since some modules cannot be imported without a GPU."""
    root = Path(gridcut.__file__).parents[1]
    bases = {}
    for path in (path for name in ("gridcut", "assign", "matching", "apps") for path in (root / name).rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                above = {base.id for base in node.bases if isinstance(base, ast.Name)}
                bases[node.name] = bases.get(node.name, set()) | above  # two classes may share a name
    found = {"Result"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    assert found - {"Result", "GridResult"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_repr_is_one_short_line(name):
    text = repr(made()[name])
    assert text.startswith(f"{name}(")
    assert "\n" not in text
    assert "array(" not in text
    assert len(text) < MAX_LENGTH


def same(one, other) -> bool:
    """Whether two values are the same, arrays and results by their contents."""
    if isinstance(one, Result):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one) if f.repr)
    if hasattr(one, "todense"):
        one, other = one.todense(), other.todense()
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


@pytest.mark.parametrize("name", NAMES)
def test_copies(name):
    """Results are compared by identity: arrays have no single truth value."""
    result = made()[name]
    for how in (lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy):
        twin = how(result)
        assert (result == result, result == twin, len({result, twin})) == (True, False, 2)
        assert type(twin) is type(result)
        assert same(twin, result)
        if hasattr(twin, "check"):
            twin.check()


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_show_a_table(name):
    result = made()[name]
    text = result._repr_html_()
    assert f"<b>{name}</b><table>" in text
    for field in dataclasses.fields(result):
        assert (f">{field.name}</th>" in text) == field.repr
    assert len(text) < 300_000
    if isinstance(result, GridResult):
        assert 'src="data:image/png;base64,' in text


def test_tables_escape_what_they_show():
    from apps.motion.linking import Links

    assert "<script>" not in Links(np.zeros(1), np.zeros(1), "<script>", None)._repr_html_()


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_png_files(name):
    result = made()[name]
    if not isinstance(result, GridResult):
        assert not hasattr(result, "_repr_png_")
        return
    data = result._repr_png_()
    with Image.open(io.BytesIO(data)) as image:
        assert image.mode == "RGB"
        assert figures.MIN_SIDE <= max(image.size) <= figures.MAX_SIDE
        np.testing.assert_array_equal(np.asarray(image), figures.thumbnail(result._figure()))


def test_figures_have_the_colours_of_the_labels():
    labels = np.array([[0, 1], [2, -1]])
    colours = figures.coloured(labels)
    assert len(np.unique(colours.reshape(-1, 3), axis=0)) == 4
    assert (colours[1, 1] == figures.UNKNOWN).all()
    assert figures.coloured(np.array([[True, False]])).tolist() == [[[255] * 3, [0] * 3]]
    assert figures.coloured(np.array([[1.0, 3.0, np.nan]]))[0, :, 0].tolist() == [0, 255, 0]
    assert figures.coloured(np.full((1, 2), 7.0)).tolist() == [[[0] * 3] * 2]
    many = figures.label_colours(np.arange(100))
    assert np.abs(np.diff(many.astype(int), axis=0)).max(axis=1).min() > 40


def test_an_empty_grid_has_no_figure():
    cut = gridcut.max_flow(np.zeros((0, 4), int), 1, {(0, 1): 1}, device="cpu")
    assert cut._repr_png_() is None
    assert "<img" not in cut._repr_html_()


def check_matrix_plot(result, ax, row, col):
    """The pairs that are drawn are those of the result, and those of a block triangular form lie in its blocks."""
    if isinstance(result, assign.Assignment):
        pairs = result.row, result.col
        np.testing.assert_array_equal(ax.images[0].get_array(), result._given.cost)
    elif isinstance(result, matching.Matching):
        pairs = result.pairs
        assert len(ax.collections[0].get_offsets()) == result._graph.edges
    else:
        pairs = result.row_perm[row], result.col_perm[col]
        np.testing.assert_array_equal(result.matching.row_match[pairs[0]], pairs[1])
        block = np.searchsorted(result.row_start, row, side="right")
        np.testing.assert_array_equal(block, np.searchsorted(result.col_start, col, side="right"))
        assert len(row) == result.structural_rank
        (outline,) = ax.lines
        for drawn, start in ((outline.get_xdata(), result.col_start), (outline.get_ydata(), result.row_start)):
            corners = drawn.reshape(result.blocks, 6)[:, :5]
            np.testing.assert_array_equal(corners.min(axis=1), start[:-1] - 0.5)
            np.testing.assert_array_equal(corners.max(axis=1), start[1:] - 0.5)
        return
    np.testing.assert_array_equal(np.stack([row, col]), np.stack(pairs))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("Detections", "Geometry")])
def test_plots(name):
    result = made()[name]
    if not hasattr(result, "plot"):
        assert not isinstance(result, GridResult)
        return
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.subplots()
    assert result.plot(ax) is ax
    if isinstance(result, GridResult):
        (shown,) = ax.images
        np.testing.assert_array_equal(shown.get_array(), figures.coloured(result._figure()))
    elif name in ("Assignment", "Matching", "BlockTriangular"):
        col, row = ax.collections[-1].get_offsets().data.T  # of the pairs
        check_matrix_plot(result, ax, row.astype(int), col.astype(int))
    else:
        (lines,) = ax.collections
        links = result.link if name == "Tracks" else range(50)
        assert len(lines.get_segments()) == len(links) > 0
        assert ax.yaxis_inverted()
    figure.savefig(io.BytesIO())


def test_tables_of_pandas(monkeypatch):
    pytest.importorskip("pandas")
    found = made()
    table = found["Assignment"].to_pandas()
    assert table.columns.tolist() == ["row", "col"]
    np.testing.assert_array_equal(table["col"], found["Assignment"].col)
    table = found["Matches"].to_pandas()
    assert table.columns.tolist() == ["x0", "y0", "x1", "y1", "cost", "margin", "confidence"]
    np.testing.assert_array_equal(table[["x1", "y1"]], found["Matches"].second)
    assert found["WideMatches"].to_pandas().columns.tolist()[-1] == "residual"
    assert found["Matching"].to_pandas().shape == (found["Matching"].cardinality, 2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for name in ("Assignment", "Matches", "Matching", "Tracks", "WideMatches"):
        with pytest.raises(ImportError, match="pip install pandas"):
            found[name].to_pandas()


def test_a_binary_energy_prints_in_one_line():
    energy = gridcut.BinaryEnergy(np.zeros((2, 30, 40)), {(0, 1): [[0, 4], [4, 0]]})
    assert repr(energy) == "BinaryEnergy(shape=(30, 40), pairwise=[(0, 1)], triple=[])"
