"""Settings of the site:  python -m sphinx -W -b html docs build/site

Pages of the API and copies of pages outside docs/ are written to docs/generated/ when the build starts.  On GitHub the
pages of docs/ are read as they are.
"""

import importlib
import inspect
import os
import re
import sys
import tomllib
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

ROOT = Path(__file__).resolve().parents[1]
DOCS, GENERATED = ROOT / "docs", ROOT / "docs/generated"
sys.path[:0] = [str(ROOT), str(DOCS)]
os.environ.setdefault("MPLBACKEND", "Agg")

from charts import ratios_first, with_charts  # noqa: E402

project = "cutmatch"
author = "cutmatch developers"
copyright = author
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = [
    "images/README.md",
    "generated/gallery/**/*.ipynb",
    "gallery/**/README.txt",
    "generated/packages.md",
]
language = "en"  # the script of the search page cannot read the translations for en_GB
default_role = "obj"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

autodoc_typehints = "none"  # the docstrings name the types, with shapes
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    word: word for word in DEFAULT_LINKS
}  # no links to other sites; `write_pages` adds our classes
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "filename_pattern": "plot_",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # its page would load scripts from the network
    "show_signature": False,
    "min_reported_time": 1e9,
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "cutmatch"
html_logo = html_favicon = "../apps/app/static/icon.svg"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "search_scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "cutmatch", "alt_text": ""},  # the text stands beside the picture
    # The repository that publishes the site, which GitHub names in the environment of an action; elsewhere no link.
    "github_url": "/".join(filter(None, map(os.environ.get, ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY")))),
    "navigation_with_keys": False,
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "back_to_top_button": True,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
copybutton_exclude = ".linenos, .gp, .go"

# Pages outside docs/ that the site contains.
COPIES = {
    ROOT / "CONTRIBUTING.md": GENERATED / "contributing.md",
    ROOT / "CHANGELOG.md": GENERATED / "changelog.md",
    ROOT / "data/README.md": GENERATED / "data.md",
    **{path: GENERATED / "results" / path.name for path in sorted((ROOT / "benchmarks/results").glob("*.md"))},
}


def relinked(text: str, source: Path, page: Path) -> str:
    """Text of `source`, with its links as the page at `page` needs them.

    Links to copied pages lead to the copies.  Links to folders and programs, which only the repository has, become
    plain text.
    """

    def replace(match: re.Match) -> str:
        mark, name, path, anchor = match.groups()
        if re.match(r"[a-z]+:", path) or not path:
            return match[0]
        target = (source.parent / path).resolve()
        target = COPIES.get(target, DOCS / "index.md" if target == ROOT / "README.md" else target)
        if target == DOCS / "gallery":
            target = GENERATED / "gallery/index.rst"
        elif target.is_relative_to(DOCS / "gallery"):
            target = GENERATED / target.relative_to(DOCS)
        if target.is_relative_to(DOCS) and target.suffix in (".md", ".rst", ".png", ".jpg"):
            return f"{mark}[{name}]({os.path.relpath(target, page.parent)}{anchor or ''})"
        return name if name.startswith("`") or " " in name else f"`{name}`"

    return re.sub(r"(!?)\[([^\]\n]*(?:\n[^\]\n]+)?)\]\(([^)\s#]*)(#[^)\s]*)?\)", replace, text)


def relink(app, docname, content) -> None:
    page = Path(app.srcdir) / f"{docname}.md"
    if page.exists() and not page.is_relative_to(GENERATED):
        content[0] = with_charts(relinked(content[0], page, page))


def hide_constructor(app, what, name, thing, options, signature, returned):
    """Results are made by functions: the arguments of their classes are no part of the interface."""
    if what == "class" and "_" in str(signature) and re.search(r"[(, ]_\w", str(signature)):
        return "", None
    return None


def escape_stars(app, what, name, thing, options, lines) -> None:
    """Shapes such as (2, *grid) are no emphasis."""
    lines[:] = [re.sub(r"(?<![\\*])\*(?=grid)", r"\\*", line) for line in lines]


def write(path: Path, text: str) -> None:
    """Write a file if its text is another, so that a second build reads only what has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def api_page(package: str, names: list[str], summary: str) -> str:
    """Functions and classes of a package, each with a page of its own."""
    module = importlib.import_module(package)
    found = {name: getattr(module, name) for name in names}
    # CertificateError of assign and matching is that of gridcut.
    top = package.split(".")[0]
    members = {name: thing for name, thing in found.items() if getattr(thing, "__module__", "").startswith(top)}
    functions = [name for name, thing in members.items() if inspect.isfunction(thing)]
    classes = [name for name, thing in members.items() if inspect.isclass(thing)]
    page = [package, "=" * len(package), "", summary, ""]
    for title, listed in (("Functions", functions), ("Classes", classes)):
        if listed:
            page += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: members", "   :nosignatures:", ""]
            page += [*(f"   {package}.{name}" for name in sorted(listed)), ""]
    return "\n".join(page)


def packages() -> list[str]:
    """The solvers, and the modules of apps and of compat that say by `__all__` what is public."""
    solvers = ["gridcut", "assign", "matching"]
    compat = (f"{top}/compat/{name}" for top in (*solvers, "apps") for name in ("*.py", "*/__init__.py"))
    places = "apps/__init__.py", *compat
    files = [path for place in places for path in sorted(ROOT.glob(place))]
    public = [path.relative_to(ROOT).with_suffix("") for path in files if "__all__ =" in path.read_text("utf-8")]
    return [*solvers, *(".".join(path.parts).removesuffix(".__init__") for path in public)]


def write_pages() -> None:
    """Write the pages of docs/generated/, except those of the gallery."""
    for source, page in COPIES.items():
        text = relinked(source.read_text("utf-8"), source, page)
        write(page, ratios_first(text) if page.parent.name == "results" else text)
    tables = "\n".join(
        f"{page.stem} <results/{page.stem}>" for page in COPIES.values() if page.parent.name == "results"
    )
    write(GENERATED / "tables.md", f"# All tables\n\n```{{toctree}}\n:maxdepth: 1\n\n{tables}\n```\n")
    numpydoc_xref_aliases.update(
        (name, f"{package}.{name}")
        for package in reversed(packages())
        for name in importlib.import_module(package).__all__
        if inspect.isclass(getattr(importlib.import_module(package), name))
    )
    rows = ["| package | content |", "|---|---|"]
    for package in packages():
        module = importlib.import_module(package)
        summary = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").removeprefix(f"{package}: ")
        write(GENERATED / "api" / f"{package}.rst", api_page(package, list(module.__all__), summary))
        rows.append(f"| [`{package}`](../generated/api/{package}.rst) | {summary} |")
    write(GENERATED / "packages.md", "\n".join(rows))  # docs/api/index.md includes it


def setup(app) -> None:
    write_pages()
    app.connect("source-read", relink)
    app.connect("autodoc-process-signature", hide_constructor, priority=900)
    app.connect("autodoc-process-docstring", escape_stars, priority=900)  # after numpydoc
