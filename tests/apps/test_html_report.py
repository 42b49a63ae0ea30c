"""The page of --report: what it shows, that hostile names stay text, and that many results stay usable."""

import base64
import io
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image

from apps import cli

HOSTILE = 'a"><script>alert(1)&<b>\n.png'
VOID = {"meta", "img", "br", "input", "link"}


class Page(HTMLParser):
    """Tags, links, images and text of a page; every tag must be closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.images, self.words, self._open = [], [], [], [], []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        assert not any(name.startswith("on") for name in attributes)
        if tag == "a":
            self.links.append(attributes["href"])
        if tag == "img":
            self.images.append(attributes)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def here(files, monkeypatch):
    monkeypatch.chdir(files)
    Path("in").mkdir()
    for name in ("a", "b", "c"):
        Path(f"in/{name}.png").write_bytes(Path("photo.png").read_bytes())
    Path("in/b.png").write_text("no image", encoding="utf-8")
    return files


def page_of(line, status=0, path="page.html"):
    assert cli.main([*line.split(), "--device", "cpu", "--report", path]) == status
    return Page(Path(path).read_text(encoding="utf-8"))


def test_page_shows_results_scores_times_and_failures(here):
    page = page_of("denoise in --truth truth.png", 1)
    assert "2 done, 1 failed" in page.text
    assert "cannot read" in page.text
    assert {"psnr", "before", "after"} <= set(page.text.replace(",", " ").split())
    assert "numba" in page.text
    assert "smoothness" in page.text
    assert len(page.images) == 2
    for image in page.images:
        assert image["loading"] == "lazy"
        kind, data = image["src"].split(",")
        assert kind == "data:image/jpeg;base64"
        with Image.open(io.BytesIO(base64.b64decode(data))) as thumbnail:
            assert thumbnail.size == (int(image["width"]), int(image["height"])) == (32, 32)
    files = ("restored.png", "restored.png", "denoise.json")  # the first is that of the thumbnail
    assert page.links == [f"out/{n}-{kind}" for n in "ac" for kind in files]
    assert all((here / link).is_file() for link in page.links)


def test_page_loads_nothing_and_runs_nothing(here):
    page = page_of("denoise in --quiet", 1)
    text = Path("page.html").read_text(encoding="utf-8")
    assert {"script", "link", "iframe", "object", "form"}.isdisjoint(page.tags)
    assert "://" not in text
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_hostile_names_stay_text(here):
    Path("in", HOSTILE).write_bytes(Path("photo.png").read_bytes())
    Path("in/javascript:alert(2).png").write_bytes(Path("photo.png").read_bytes())
    page = page_of("denoise in --quiet", 1)
    assert "script" not in page.tags
    assert "<script>alert(1)&<b>" in page.text
    assert len(page.links) == 12
    for link in page.links:
        assert re.fullmatch(r"[\w/.%~-]+", link), "no scheme, no quotation mark"
        assert os.path.isfile(unquote(link))
