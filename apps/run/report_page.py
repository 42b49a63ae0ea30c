"""The page of --report: all results of a run with thumbnails, scores and seconds by phase, in one HTML file.

The page is self-contained: it loads nothing from a network and needs no JavaScript.  Its only links are those to the
results, relative to the page.  Thumbnails are JPEG images inside the page; their number and size are limited, so that a
page of a thousand results opens quickly.
"""

import base64
import io
import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from apps.common.clock import START, TOTAL
from apps.common.versions import library_versions
from apps.common.writing import write_bytes
from apps.run.records import RECORD

TEMPLATE = "report_page.html.jinja"
MAX_THUMBNAILS = 3  # of one result
SIDES = ((150, 320), (600, 240), (3000, 160))  # number of thumbnails up to which they have this many pixels a side
MAX_LISTED = 20  # values shown of an option with many, such as the names of all images
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp")
MODES = frozenset(("1", "L", "LA", "P", "RGB", "RGBA"))  # of Pillow; deeper images are data, and would look black
ABBREVIATIONS = {"iou": "IoU", "psnr": "PSNR", "ssim": "SSIM", "epe": "EPE", "fl": "Fl", "f": "F"}  # in names of scores
SIZES = ("width", "height", "depth")
CHECKERS = (200, 235)  # grey levels behind a transparent image
HUES = (210, 30, 140, 275, 0, 185, 55, 320, 100, 240)  # degrees: colours of the phases, in order of appearance


class Thumbnail(NamedTuple):
    """A small copy of a result: its kind, the link to the figure itself, data URI, width and height in pixels."""

    kind: str
    link: str
    source: str
    width: int
    height: int


def write_page(path, command: str, noun: str, content: Mapping, options: Mapping, summary: str, wall: float) -> Path:
    """Write the page of a run atomically.

    Parameters
    ----------
    path : str or Path
        File to write; the results are linked relative to its folder.
    command, noun : str
        Name of the command, and the kind of its items.
    content : mapping
        As written by --json for a batch: a list of reports under `noun` and "s", "failures", and "skipped" if resumed.
    options : mapping
        All options as they were parsed.
    summary : str
        Mean scores, may be empty.
    wall : float
        Seconds of the run.

    Raises InputError if the file cannot be written.
    """
    from jinja2 import Environment, StrictUndefined

    reports, skipped, folder = content[f"{noun}s"], set(content.get("skipped", ())), Path(path).parent
    thumbnails = _thumbnails([_files(report) for report in reports], folder)
    rows = [
        {
            "name": report[noun],
            "skipped": report[noun] in skipped,
            "thumbnails": drawn,
            "numbers": _numbers(report),
            "files": [(kind, Path(file).name, _link(file, folder)) for kind, file in _files(report)],
            "scores": dict(_scores(report)),
            "seconds": {
                name: spent for name, spent in report["elapsed"].items() if name not in (START, TOTAL) and spent
            },
        }
        for report, drawn in zip(reports, thumbnails, strict=True)
    ]
    phases = dict.fromkeys(phase for row in rows for phase in row["seconds"])
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["duration"] = _duration
    page = environment.from_string(files(__package__).joinpath(TEMPLATE).read_text("utf-8")).render(
        command=command,
        noun=noun,
        rows=rows,
        failures=[(failure[noun], failure["error"]) for failure in content["failures"]],
        scores=list(dict.fromkeys(name for row in rows for name in row["scores"])),
        colours={phase: f"hsl({HUES[number % len(HUES)]} 55% 60%)" for number, phase in enumerate(phases)},
        done=len(rows) - len(skipped),
        skipped=len(skipped),
        summary=summary,
        wall=wall,
        when=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        versions={name: version for name, version in library_versions().items() if version != "not installed"},
        options={name: _option(value) for name, value in options.items()},
        without=sum(not drawn for drawn in thumbnails),
    )
    return write_bytes(path, page.encode("utf-8", "backslashreplace"), "--report")


def _files(report: Mapping) -> list[tuple[str, str]]:
    """(kind, path) of all files of a report: the figures of several levels, the record last."""
    found: list[tuple[str, str]] = []
    for level in report.get("levels", ()):
        found += [(f"{level.get('regions', '')} {kind}".strip(), path) for kind, path in level["files"].items()]
    found += report.get("files", {}).items()
    return sorted(found, key=lambda pair: pair[0] == RECORD)


def _numbers(report: Mapping) -> list[str]:
    """The size of an item and the numbers of its report, in words; numbers of pixels as shares of the image."""
    sizes = [report[side] for side in SIZES if side in report]
    found = [" × ".join(map(str, sizes))] if sizes else []
    energies = report.get("energies")
    for name, value in {**report, **({"energy": energies[-1]} if energies else {})}.items():
        if type(value) not in (int, float) or name in SIZES:
            continue
        if sizes and name.endswith("_pixels"):
            name, value = name.replace("_pixels", "_percent"), 100 * value / math.prod(sizes)
        found += [" ".join(pair) for pair in _flat({name: value}, "")]
    return found


def _scores(report: Mapping) -> Iterator[tuple[str, str]]:
    """(name, text) of all scores against a ground truth."""
    yield from _flat(report.get("truth", {}), "")
    for level in report.get("levels", ()):
        yield from _flat(level.get("truth", {}), f"{level.get('regions', '')} ")


def _flat(scores: Mapping, prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in scores.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name} ")
        elif isinstance(value, int | float):
            words = f"{prefix}{name}".replace("_percent", "_%").replace("_", " ").split()
            yield " ".join(ABBREVIATIONS.get(word, word) for word in words), _number(value)


def _thumbnails(results: list[list[tuple[str, str]]], folder: Path) -> list[list[Thumbnail]]:
    """Those of each result, given its (kind, path) pairs; none of results beyond the last of SIDES."""
    images = [[pair for pair in result if Path(pair[1]).suffix.lower() in IMAGE_SUFFIXES] for result in results]
    count, (most, smallest) = sum(min(MAX_THUMBNAILS, len(one)) for one in images), SIDES[-1]
    side = next((side for up_to, side in SIDES if count <= up_to), smallest)
    shown = [image if place * MAX_THUMBNAILS < most else [] for place, image in enumerate(images)]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(partial(_thumbnails_of, side=side, folder=folder), shown))


def _thumbnails_of(images: list[tuple[str, str]], side: int, folder: Path) -> list[Thumbnail]:
    """The first MAX_THUMBNAILS of the images that can be shown; numbers of labels would look black."""
    drawn = (_thumbnail(kind, path, side, folder) for kind, path in images if not kind.endswith("labels"))
    return list(islice(filter(None, drawn), MAX_THUMBNAILS))


def _thumbnail(kind: str, path: str, side: int, folder: Path) -> Thumbnail | None:
    """A JPEG of at most `side` pixels a side; None for data, and for a file that cannot be read any more."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            if image.mode not in MODES:
                return None
            image.draft("RGB", (2 * side, 2 * side))
            image.thumbnail((side, side), Image.Resampling.BOX, reducing_gap=1.0)
            small = _on_checkers(image.convert("RGBA")) if "A" in image.mode else image.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80, optimize=True)
    source = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
    return Thumbnail(kind, _link(path, folder), source, *small.size)


def _on_checkers(image):
    """The RGBA image on a checkerboard, which shows transparency."""
    import numpy as np
    from PIL import Image

    y, x = np.mgrid[: image.height, : image.width] // 10
    board = np.where((x + y) % 2, *CHECKERS).astype(np.uint8)
    behind = Image.fromarray(board).convert("RGBA")
    return Image.alpha_composite(behind, image).convert("RGB")


def _link(path: str, folder: Path) -> str:
    """The path relative to the page's folder, as a URL that no browser takes for another scheme."""
    return quote(os.fsencode(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))))


def _number(value) -> str:
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u2009")
    return _number(round(value)) if abs(value) >= 1e5 and value == value else f"{value:.5g}"


def _duration(seconds: float) -> str:
    if seconds >= 100:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def _option(value) -> str:
    """Text of an option's value."""
    if isinstance(value, list | tuple):
        more = f" ... ({len(value)} in all)" if len(value) > MAX_LISTED else ""
        return " ".join(map(str, value[:MAX_LISTED])) + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value)
