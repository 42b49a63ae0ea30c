"""The page of --report: what it shows, that hostile names stay text, and that many results stay usable."""

import base64
import io
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

from apps import cli
from apps.many import html_report
from apps.many.html_report import render, write_page

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


def content_of(reports, failures=(), **more):
    return {"images": reports, "failures": list(failures), **more}


def report_of(folder, name="a.png", **more):
    """A report whose result is an image in a folder."""
    path = folder / "a-mask.png"
    if not path.exists():
        Image.fromarray(np.full((400, 640), 200, np.uint8)).save(path)
    return {"image": name, "files": {"mask": str(path)}, "elapsed": {"read": 0.1, "cuts": 2.5, "total": 2.6}} | more


def rendered(folder, content, options=None):
    return render(folder, "segment", "image", content, options or {"device": "cpu"}, "", 3.25)


def test_page_shows_results_scores_times_and_failures(here):
    page = page_of("denoise in --truth truth.png", 1)
    assert "2 done, 1 failed" in page.text
    assert "cannot read" in page.text
    assert {"PSNR", "before", "after"} <= set(page.text.replace(",", " ").split())
    assert "numba" in page.text
    assert "smoothness_term" in page.text
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


def test_names_outside_the_encoding(tmp_path):
    name = os.fsdecode(b"\xff.png")
    report = report_of(tmp_path, name, files={"mask": str(tmp_path / name)})
    path = write_page(tmp_path / "p.html", "segment", "image", content_of([report]), {"device": "cpu"}, "", 1.0)
    page = Page(path.read_bytes().decode())
    assert page.links == ["%FF.png"]
    assert "\\udcff.png" in page.text


def test_links_are_relative_to_the_page(here):
    page = page_of("denoise photo.png", path="pages/deep/page.html")
    assert page.links == ["../../out/photo-restored.png"] * 2 + ["../../out/photo-denoise.json"]
    assert "1 done" in page.text, "one input has a page, too"


def test_protection_and_suffix(here, rejects):
    Path("page.html").write_text("of another", encoding="utf-8")
    Path("page.txt").write_text("of another", encoding="utf-8")
    rejects(["denoise", "photo.png", "--report", "page.html"], "--report: 'page.html' already exists", here)
    rejects(["denoise", "photo.png", "--report", "page.txt"], "--report: 'page.txt' must end in .html", here)
    rejects(["denoise", "photo.png", "--report", "photo.png/p.html"], "--report: cannot write", here)
    rejects(["denoise", "photo.png", "--report", ""], "--report is empty", here)
    page_of("denoise photo.png --quiet --overwrite")


def test_resumed_items_are_marked(here):
    Path("in/b.png").unlink()
    page_of("denoise in --quiet")
    page = page_of("denoise in --quiet --resume")
    assert "0 done, 2 skipped" in page.text
    assert page.text.count("skipped: finished by an earlier run") == 2
    assert len(page.images) == 2


def test_a_page_without_results(tmp_path):
    failures = [{"image": "x.png", "error": "no file"}]
    page = Page(rendered(tmp_path, content_of([], failures)))
    assert "0 done, 1 failed" in page.text
    assert page.images == []


def test_thumbnails_are_small_and_of_images_only(tmp_path):
    Image.fromarray(np.zeros((900, 1200), np.uint16)).save(tmp_path / "depth.png")
    cutout = np.zeros((700, 1400, 4), np.uint8)
    Image.fromarray(cutout).save(tmp_path / "cutout.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    names = {"depth": "depth.png", "cutout": "cutout.png", "gone": "gone.png", "broken": "broken.png", "table": "t.csv"}
    report = report_of(tmp_path, files={kind: str(tmp_path / name) for kind, name in names.items()})
    page = Page(rendered(tmp_path, content_of([report])))
    (image,) = page.images
    assert (image["width"], image["height"]) == ("320", "160")
    with Image.open(io.BytesIO(base64.b64decode(image["src"].split(",")[1]))) as thumbnail:
        assert set(np.unique(np.array(thumbnail.convert("L")) // 20)) > {10, 11}, "checkers behind transparency"
    assert len(page.links) == 6


@pytest.mark.slow
def test_a_thousand_results_stay_usable(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (480, 640, 3), np.uint8)).save(tmp_path / "a-mask.png")  # compresses badly
    reports = [report_of(tmp_path, f"{k}.png", energy=k) for k in range(1000)]
    text = rendered(tmp_path, content_of(reports))
    page = Page(text)
    assert len(page.links) == 2000
    assert {image["width"] for image in page.images} == {"160"}
    assert len(text) < html_report.MAX_IMAGE_BYTES + 4_000_000
    monkeypatch.setattr(html_report, "MAX_IMAGE_BYTES", 100_000)
    page = Page(small := rendered(tmp_path, content_of(reports)))
    assert 0 < len(page.images) < 1000
    assert "shown without thumbnails" in page.text
    assert len(small) < len(text)


def test_label_maps_have_no_thumbnail(tmp_path):
    report = report_of(tmp_path)
    report["files"] = {"labels": report["files"]["mask"], "500 labels": report["files"]["mask"]} | report["files"]
    page = Page(rendered(tmp_path, content_of([report])))
    assert [image["alt"] for image in page.images] == ["mask of a.png"]


def test_the_numbers_of_a_report_are_shown(tmp_path):
    numbers = {"width": 200, "height": 100, "matches": 1234, "max_motion": 5.25, "object_pixels": 5000, "checked": True}
    page = Page(rendered(tmp_path, content_of([report_of(tmp_path, **numbers)])))
    assert "200 × 100 · matches 1 234 · max motion 5.25 · object % 25" in page.text
    assert "checked" not in page.text


def test_numbers_and_options(tmp_path):
    report = report_of(tmp_path, energies=[9.0, 1234567.8], truth={"iou_percent": 98.7654321, "nothing": None})
    options = {"device": "cpu", "keep": None, "quiet": False, "image": [f"{k}.png" for k in range(30)]}
    page = Page(rendered(tmp_path, content_of([report]), options))
    for text in ("IoU %", "98.765", "1 234 568", "2.60 s", "(30 in all)", "keep default", "quiet no"):
        assert text.replace(" ", "") in page.text.replace(" ", "").replace("\u2009", ""), text


def test_every_command_with_batches_has_the_option(capsys):
    for command in ("segment", "refine", "superpixels", "denoise", "stereo", "flow", "match", "track"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert "--report FILE" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["matching", "--help"])
    assert "--report" not in capsys.readouterr().out


def test_json_and_page_agree(here):
    page = page_of("superpixels in --regions 40,9 --truth truth.png --json r.json --quiet", 1)
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert len(report["images"]) == 2
    assert len(page.images) == 2 * html_report.MAX_THUMBNAILS
    assert "9 boundary recall %" in page.text
