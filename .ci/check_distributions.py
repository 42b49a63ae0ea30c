"""Check what wheels and archives of sources contain:  check_distributions.py FILE [FILE ...]

A wheel with a platform in its name must carry compiled kernels; any other file must not.
"""

import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGES = {"cutmatch", "gridcut", "assign", "matching", "apps"}
NEEDED = {
    *(f"{package}/{name}" for package in PACKAGES for name in ("__init__.py", "__init__.pyi", "py.typed")),
    "apps/common/writing.py",
    "apps/run/report_page.html.jinja",
    "gridcut/device/kernel_store.py",
}
SAMPLES = {"apps/samples/README.md", "apps/samples/astronaut.jpg"}  # the former has the terms of the photographs
OURS = (".py", ".pyi", "py.typed", ".jinja", ".html", ".css", ".js", ".svg")
SOURCES = {
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "LICENSE", "pyproject.toml", "setup.py", "run"),
    *("tests/conftest.py", "tests/gridcut/oracles.py", "benchmarks/__init__.py", "docs/architecture.md", ".ci/run"),
    *(
        "docs/conf.py",
        "docs/guide/index.md",
        "docs/gallery/images/plot_segment.py",
        "data/README.md",
        "data/astronaut.jpg",
    ),
}


def check_wheel(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES, sorted(tops)
    assert len(tops) == len(PACKAGES) + 1, sorted(tops)
    assert names >= NEEDED | SAMPLES, sorted((NEEDED | SAMPLES) - names)
    # All else is ours, under one licence: sources, the page, and machine code that numba compiled from the sources.
    (about,) = (top for top in tops if top.endswith(".dist-info"))
    assert f"{about}/licenses/LICENSE" in names
    apart = (f"{about}/", "gridcut/_kernels/", "apps/samples/")
    others = {name for name in names if not name.startswith(apart) and not name.endswith(OURS)}
    assert not others, sorted(others)
    kernels = {name for name in names if name.startswith("gridcut/_kernels/")}
    if path.stem.endswith("-any"):
        assert not kernels, sorted(kernels)[:3]
        return "no compiled kernels"
    assert "gridcut/_kernels/about.json" in kernels
    assert len(kernels) > 100, len(kernels)
    return f"{len(kernels) - 1} compiled kernels"


def check_sources(path: Path) -> str:
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = NEEDED | SOURCES
    assert names >= needed, sorted(needed - names)
    unwanted = {
        name
        for name in names
        if name.startswith(("gridcut/_kernels", "plugins/")) or name.endswith((".pyc", ".nbc", ".nbi"))
    }
    assert not unwanted, sorted(unwanted)[:3]
    return "sources with tests"


for path in map(Path, sys.argv[1:]):
    found = check_wheel(path) if path.suffix == ".whl" else check_sources(path)
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {found}")
