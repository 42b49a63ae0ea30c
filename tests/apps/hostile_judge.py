"""Judge how a hostile command line ended: its status, its messages, and every file that it left."""

import json
from pathlib import Path

from PIL import Image

from tests.apps import hostile_files as corpus

LINE = 600  # characters of an error message
RESULT_KINDS = (
    "mask",
    "labels",
    "overlay",
    "cutout",
    "strokes",
    "restored",
    "outlines",
    "means",
)  # of the image's size


def judge(status, printed: str, before: dict, folder: Path, may_change=frozenset()) -> str | None:
    """The fault in how a line ended; None without a fault."""
    if status not in (0, 1, 2):
        return f"ended with {status}"
    if "Traceback (most recent call last)" in printed:
        return "a traceback"
    if status and not printed.strip():
        return f"exit status {status} and not a word"
    if status and "\ncutmatch" not in f"\n{printed}":
        return "a message without the name of the command"
    if any(len(text) > LINE for text in printed.splitlines() if "it/s" not in text and "s/it" not in text):
        return "an endless line of error"
    after = corpus.snapshot(folder)
    lost = [name for name, content in before.items() if after.get(name) != content and name not in may_change]
    if lost:
        return f"changed {lost}"
    for name in sorted(after.keys() - before.keys()):
        path = folder / name
        if ".part" in name or name.endswith("~"):
            return f"left {name}"
        if path.is_file() and ".cutmatch" not in name and (why := corpus.is_readable(path) or fault_of_record(path)):
            return f"{name} cannot be read: {why}"
    return None


def fault_of_output(argv: list[str], status, text: str) -> str | None:
    """The fault of what a line with --json printed on standard output; None without a fault."""
    targets = []  # of which the last one counts
    for word, following in zip(argv, [*argv[1:], "--"], strict=True):
        if word == "--json":
            targets.append("-" if following.startswith("--") else following)
        elif word.startswith("--json="):
            targets.append(word.removeprefix("--json="))
    if status not in (0, 1) or targets[-1:] != ["-"]:
        return None
    if status == 1 and not text:  # a single input, and a full disk
        return None
    try:
        json.loads(text, parse_constant=lambda word: 1 / 0)
    except (ValueError, ZeroDivisionError) as error:
        return f"standard output is not JSON: {error}"
    return None


def fault_of_record(path: Path) -> str | None:
    """The fault of a record beside a result: a file of it that does not exist, or an image of another size."""
    if path.suffix != ".json":
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not {"certificate", "inputs", "files"} <= content.keys():
        return None
    result = content["result"]
    for kind, name in content["files"].items():
        file = path.parent / name
        if not file.exists():
            return f"its {kind} {name!r} does not exist"
        if kind in RESULT_KINDS and file.suffix == ".png" and "depth" not in result and "width" in result:
            with Image.open(file) as image:
                if image.size != (result["width"], result["height"]):
                    return f"its {kind} is {image.size}"
    return None
