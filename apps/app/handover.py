"""The page that sends the browser to the server: a file that only this user can read.

All users of a machine can see the arguments of its processes.  So the browser gets the name of a file, and the file
contains the address.  It is in the home folder, under a name that is not hidden, because browsers in a sandbox (snap,
flatpak) can read neither the folders of temporary files nor hidden ones.
"""

import contextlib
import os
import shutil
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

PAGE = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={address}">
<title>cutmatch</title>
<p><a href="{address}">Open cutmatch</a></p>
"""


def hand_over(address: str) -> Callable[[], None]:
    """Open an address in the browser, by a file; return the function that removes the file."""
    folder = None

    def remove() -> None:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def open_page() -> None:
        if not webbrowser.open(page.as_uri()):
            remove()

    with contextlib.suppress(OSError):  # without the file, the address that was printed remains
        folder = _private_folder()
        page = folder / "cutmatch.html"
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(PAGE.format(address=address))
        threading.Thread(target=open_page, daemon=True).start()
    return remove


def _private_folder() -> Path:
    """A new folder with access for this user only."""
    with contextlib.suppress(OSError, RuntimeError):  # no home folder, or one that cannot be written
        return Path(tempfile.mkdtemp(prefix="cutmatch-", dir=Path.home()))
    return Path(tempfile.mkdtemp(prefix="cutmatch-"))
