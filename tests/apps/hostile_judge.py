"""Judge how a hostile command line ended: its status, its messages, and every file that it left."""

from pathlib import Path

from tests.apps import hostile_files as corpus

LINE = 600  # characters of an error message


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
        if path.is_file() and ".cutmatch" not in name and (why := corpus.is_readable(path)):
            return f"{name} cannot be read: {why}"
    return None
