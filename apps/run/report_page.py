"""The page of --report: all results of a run with thumbnails, scores and seconds, in one HTML file.

The page is self-contained: it loads nothing from a network and needs no JavaScript.  Its only links are those to the
results, relative to the page.  Thumbnails are JPEG images inside the page, of the first results only, so that a page of
a thousand results opens quickly.
"""

import base64
import io
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from apps.common.file_kinds import is_image
from apps.common.versions import library_versions
from apps.common.writing import write_bytes
from apps.run.records import RECORD

TEMPLATE = "report_page.html.jinja"
MAX_SHOWN, SIDE = 1000, 240  # thumbnails, one of each result, and pixels of their longer sides
MODES = ("1", "L", "LA", "P", "RGB", "RGBA")  # of Pillow; deeper images are data, and would look black
PAPER = (218, 218, 218)  # behind a transparent image
OTHERS = ("frame", "files", "elapsed", "seconds", "truth", "certificate")  # entries shown elsewhere, or not


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
    rows = []
    for number, report in enumerate(reports):
        named = [(kind, Path(file).name, _link(file, folder)) for kind, file in _files(report)]
        facts = {name: value for name, value in report.items() if name not in OTHERS}
        rows.append(
            {
                "name": report[noun],
                "skipped": report[noun] in skipped,
                "thumbnail": _thumbnail(report, folder) if number < MAX_SHOWN else None,
                "files": named,
                "numbers": dict(_numbers(facts)),
                "scores": dict(_numbers(report.get("truth", {}))),
                "seconds": report["elapsed"],
            }
        )
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page = environment.from_string(files(__package__).joinpath(TEMPLATE).read_text("utf-8")).render(
        command=command,
        noun=noun,
        rows=rows,
        failures=[(failure[noun], failure["error"]) for failure in content["failures"]],
        scores=list(dict.fromkeys(name for row in rows for name in row["scores"])),
        skipped=len(skipped),
        summary=summary,
        wall=wall,
        when=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        options=options,
        versions=library_versions(),
    )
    return write_bytes(path, page.encode("utf-8", "backslashreplace"), "--report")


def _files(report: Mapping) -> list[tuple[str, str]]:
    """(kind, path) of all files of a report, the record last."""
    return sorted(report["files"].items(), key=lambda pair: pair[0] == RECORD)


def _numbers(facts: Mapping, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(name, text) of the numbers in a report, also of those within others."""
    for name, value in facts.items():
        words = f"{prefix} {name}".replace("_", " ").strip()
        if isinstance(value, Mapping):
            yield from _numbers(value, words)
        elif type(value) in (int, float):
            yield words, f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


def _thumbnail(report: Mapping, folder: Path) -> dict | None:
    """The first image of a result that can be shown: its kind, link, JPEG as a data URI, and size; None without one."""
    from PIL import Image

    for kind, path in _files(report):
        if kind.endswith("labels") or not is_image(Path(path)):  # numbers would look black
            continue
        try:
            with Image.open(path) as image:
                if image.mode not in MODES:
                    continue
                image.thumbnail((SIDE, SIDE), Image.Resampling.BOX, reducing_gap=1.0)
                small = image.convert("RGBA")
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # a file that cannot be read any more
            continue
        paper, buffer = Image.new("RGBA", small.size, PAPER), io.BytesIO()
        Image.alpha_composite(paper, small).convert("RGB").save(buffer, "JPEG", quality=80)
        source = "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()
        return {"kind": kind, "link": _link(path, folder), "source": source, "size": small.size}
    return None


def _link(path: str, folder: Path) -> str:
    """The path relative to the page's folder, as a URL that no browser takes for another scheme."""
    return quote(os.fsencode(os.path.relpath(os.path.realpath(path), os.path.realpath(folder))))
