"""Public names of the libraries whose modules are replaced: the face has each of them, or its page speaks of it."""

from pathlib import Path
from types import ModuleType

import pytest

import assign.compat.lap
import gridcut.compat.maxflow

PAGES = Path(__file__).parents[2] / "docs/coming-from"
VERSIONS = "__version__", "__version_core__"


def public(module):
    """What users import: neither private names nor the modules of others."""
    names = (name for name in dir(module) if not name.startswith("_") or name in VERSIONS)
    return {name for name in names if not isinstance(getattr(module, name), ModuleType) or name == "version"}


@pytest.mark.parametrize(
    ("library", "path", "face", "page"),
    [
        ("maxflow", "", gridcut.compat.maxflow, "pymaxflow"),
        ("maxflow", "version", gridcut.compat.maxflow.version, "pymaxflow"),
        ("maxflow", "GraphInt", gridcut.compat.maxflow.GraphInt, "pymaxflow"),
        ("maxflow", "GraphFloat", gridcut.compat.maxflow.GraphFloat, "pymaxflow"),
        ("maxflow", "fastmin", gridcut.compat.maxflow.fastmin, "pymaxflow"),
        ("lap", "", assign.compat.lap, "lap"),
    ],
)
def test_public_names(library, path, face, page):
    theirs = pytest.importorskip(library, reason=f"{library} is not installed (extra 'bench')")
    theirs = getattr(theirs, path) if path else theirs
    written = (PAGES / f"{page}.md").read_text("utf-8")
    absent = public(theirs) - set(dir(face)) - {"logger", "count", "combinations"}  # what fastmin imports
    assert {name for name in absent if f"{name.removesuffix('_batch')}`" not in written} == set()
    if path in ("", "version"):
        assert [int(part) for part in face.__version__.split(".")] >= [0, 11, 1]
        assert getattr(face, "__version_core__", None) == getattr(theirs, "__version_core__", None)


@pytest.mark.parametrize("face", [gridcut.compat.maxflow, assign.compat.lap], ids=["maxflow", "lap"])
def test_what_a_face_says_is_public_is_there(face):
    assert set(face.__all__) <= set(dir(face))
