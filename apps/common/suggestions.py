"""What a message suggests: the name that was probably meant, and how to install what is missing."""

from collections.abc import Iterable
from difflib import get_close_matches


def meant(wrong: str, known: Iterable[str]) -> str:
    """ " did you mean NAME?" for the known name, or option, that is nearest to a wrong one; else nothing."""
    options = {name.lstrip("-").replace("-", "_"): name for name in known}
    word = wrong.lstrip("-").replace("-", "_")
    return "".join(f" did you mean {options[name]}?" for name in get_close_matches(word, options, 1))


def install(extra: str, *packages: str) -> str:
    """How to install packages of an extra of this distribution, which is on no index."""
    return f"pip install {' '.join(packages)}, or pip install '.[{extra}]' in a clone of cutmatch"
