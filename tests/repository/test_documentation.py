"""The pages are connected: links and anchors resolve, every page can be reached, every figure has a script."""

import re
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "data/README.md")),
    *sorted((ROOT / "benchmarks/notes").glob("*.md")),
    *sorted(path for path in DOCS.rglob("*.md") if not path.is_relative_to(DOCS / "generated")),
]
PARTS = ("guide", "algorithms", "benchmarks")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """Text of a page without its blocks of code."""
    return FENCE.sub("", page.read_text("utf-8"))


@lru_cache(None)
def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub and MyST make them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = 0
        while (name := slug if number == 0 else f"{slug}-{number}") in found:
            number += 1
        found.add(name)
    return found


def links(page: Path):
    """Paths and anchors of the local links and figures of a page."""
    for path, anchor in re.findall(r"\]\(([^)\s#]*)#?([^)\s]*)\)", prose(page)):
        if not re.match(r"[a-z]+:", path):
            yield (page.parent / path).resolve() if path else page, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_anchors_resolve(page):
    wrong = []
    for target, anchor in links(page):
        if not target.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{target}: no heading #{anchor}")
    assert wrong == []


@pytest.mark.parametrize("part", PARTS)
def test_every_page_is_named_by_its_index(part):
    """In the table that readers see, and in the contents of the site."""
    folder = DOCS / part
    index = folder / "index.md"
    contents = re.findall(r"```\{toctree\}.*?^```", index.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    listed = {(folder / f"{line}.md").resolve() for block in contents for line in block.splitlines()[1:-1] if line}
    shown = {target for target, _ in links(index)}
    pages = {path for path in folder.glob("*.md") if path != index}
    assert sorted(path.name for path in pages - listed) == []
    assert sorted(path.name for path in pages - shown) == []


def test_every_figure_is_made_by_a_script_and_shown():
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+?) \|$", (DOCS / "images/README.md").read_text("utf-8"), re.MULTILINE))
    figures = {path.name for path in (DOCS / "images").iterdir()} - {"README.md"}
    found = {figure: next((row for row in rows if fnmatch(figure, row)), None) for figure in figures}
    assert set(found.values()) == set(rows)
    for name, made_by in rows.items():
        (script,) = re.findall(r"`([\w/]+\.py)`", made_by)
        assert (ROOT / script).is_file(), f"{name}: {script}"
    shown = {target.name for page in PAGES for target, _ in links(page)}
    assert sorted(figures - shown) == []
