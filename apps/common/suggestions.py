"""What a message suggests: the name that was probably meant, and how to install what is missing."""

from collections.abc import Iterable
from difflib import get_close_matches

# Names here, with those of other libraries and programs, and of other functions here, that mean the same.
FOREIGN = {
    "start": "mask init",
    "strokes": "scribbles seeds marks hints",
    "box": "bbox rect",
    "out": "o output",
    "overwrite": "f force",
    "workers": "n_jobs jobs j",
    "device": "gpu",
}


def meant(wrong: str, known: Iterable[str]) -> str:
    """ " did you mean NAME?" for the known name, or option, that is nearest to a wrong one; else nothing."""
    options = {name.lstrip("-").replace("-", "_"): name for name in known}
    word = wrong.lstrip("-").replace("-", "_")
    same = [name for name, others in FOREIGN.items() if name in options and word in others.split()]
    near = same or get_close_matches(word, options, 1)
    return "".join(f" did you mean {options[name]}?" for name in near)


def install(extra: str, *packages: str) -> str:
    """How to install packages of an extra of this distribution, which is on no index."""
    return f"pip install {' '.join(packages)}, or pip install '.[{extra}]' in a clone of cutmatch"
