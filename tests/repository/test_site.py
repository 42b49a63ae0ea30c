"""The site: one command builds it without a warning, it is complete, and its search finds the terms of the field."""

import importlib
import json
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.chromium import CHROMIUM, DRIVER, start

pytest.importorskip("sphinx_gallery", reason="Sphinx is not installed (extra 'docs')")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

FIRST = 3
SEARCHES = {  # what people type, by the page that they look for
    "guide/gpu": ["GPU", "cuda"],
    "guide/flow": ["optical flow", "flow numpy"],
    "guide/segment": ["segment", "segmentation"],
    "guide/gridcut": ["unary costs", "max flow", "min cut", "graph cut"],
    "guide/energies": ["alpha expansion", "potts"],
    "guide/assignments": ["hungarian algorithm", "assignment problem"],
    "guide/graphs": ["bipartite matching"],
    "guide/objects": ["bounding box", "yolo", "several objects"],
    "guide/refine": ["sam mask refine"],
    "guide/denoise": ["inpainting", "denoise image"],
    "guide/match": ["homography", "feature matching"],
    "guide/track": ["particle tracking"],
    "guide/stereo": ["stereo disparity"],
    "guide/superpixels": ["superpixels"],
    "guide/video": ["video"],
    "guide/volumes": ["dicom", "nifti"],
    "guide/app": ["browser"],
    "guide/session": ["jupyter notebook", "interactive"],
    "guide/annotation-tools": ["label studio"],
    "guide/many-files": ["dask cluster", "batch folder"],
    "guide/install": ["pip install"],
    "guide/kernels": ["slow first call"],
    "guide/faq": ["remove small holes"],
    "coming-from/pymaxflow": ["pymaxflow", "replace PyMaxflow"],
    "coming-from/opencv": ["grabcut", "opencv"],
    "coming-from/networkx": ["networkx"],
    "coming-from/trackpy": ["trackpy"],
}
RANKING = """
const fs = require("fs"), vm = require("vm");
const element = { remove() {} };
const document = { readyState: "loading", addEventListener() {}, getElementById: () => element };
const page = vm.createContext({ document, SPHINX_HIGHLIGHT_ENABLED: false });
Object.assign(page, { window: page, queries: JSON.parse(fs.readFileSync(0)) });
for (const name of ["_static/doctools.js", "_static/language_data.js", "_static/searchtools.js", "searchindex.js"])
  vm.runInContext(fs.readFileSync(`${process.argv[1]}/${name}`, "utf8"), page);
const search = "queries.map((query) => Search._performSearch(...Search._parseQuery(query)))";
const found = vm.runInContext(search, page);  // the best is the last
console.log(JSON.stringify(found.map((results) => [...new Set(results.reverse().map(([page]) => page))])));
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the site, built in a copy of the sources, without what an earlier build left."""
    clone = tmp_path_factory.mktemp("clone")
    ignored = shutil.ignore_patterns("generated", "__pycache__", ".git", ".venv", "build", "out", ".*_cache")
    shutil.copytree(ROOT, clone, ignore=ignored, dirs_exist_ok=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "build/site"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return clone / "build/site"


@pytest.fixture(scope="module")
def driver(site, tmp_path_factory):
    """A browser, and the address of the site."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs chromium and chromedriver")
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    handler.func.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = start(tmp_path_factory.mktemp("profile"))
    yield browser, f"http://127.0.0.1:{server.server_port}"
    browser.quit()
    server.shutdown()
    server.server_close()


def test_every_public_name_has_a_page(site):
    for package in ("gridcut", "assign", "matching"):
        module = importlib.import_module(package)
        for name in module.__all__:
            if getattr(module, name).__module__.startswith(package):
                assert (site / f"generated/api/members/{package}.{name}.html").exists(), f"{package}.{name}"


def test_figures_and_notebooks_are_there(site):
    scripts = list((ROOT / "docs/gallery").rglob("plot_*.py"))
    built = {path.name for path in (site / "_downloads").rglob("*.ipynb")}
    assert {f"{path.stem}.ipynb" for path in scripts} <= built
    pages = [(site / "generated" / path.relative_to(ROOT / "docs")).with_suffix(".html") for path in scripts]
    assert pages
    assert all(page.exists() for page in pages)


def test_no_page_needs_the_network(site):
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        assert 'src="http' not in text, page
        assert 'rel="stylesheet" href="http' not in text, page


def test_the_page_for_a_search_is_among_the_first(site):
    """The order that the search page shows, by its own scripts and docs/search_scorer.js."""
    if (node := shutil.which("node")) is None:
        pytest.skip("needs node")
    queries = json.dumps([query for places in SEARCHES.values() for query in places])
    done = subprocess.run([node, "-e", RANKING, site], input=queries, capture_output=True, text=True, check=True)
    wanted = [page for page, places in SEARCHES.items() for _ in places]
    late = [
        (query, page, found[:FIRST])
        for query, page, found in zip(json.loads(queries), wanted, json.loads(done.stdout), strict=True)
        if page not in found[:FIRST]
    ]
    assert late == []


@pytest.mark.browser
@pytest.mark.parametrize(
    "page", ["index", "guide/segment", "generated/gallery/motion/plot_stereo", "generated/api/gridcut"]
)
def test_a_page_has_all_its_images_and_fits(driver, page):
    browser, address = driver
    browser.get(f"{address}/{page}.html")
    broken, wide = browser.execute_script(
        "return [[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src),"
        " document.documentElement.scrollWidth > innerWidth]"
    )
    assert broken == []
    assert not wide
