"""Options with several numbers: `--box 40,30,300,280` and `--box 40 30 300 280` are the same.

Such an option has a metavar with commas: X0,Y0,X1,Y1, or N[,N...] for any number of them.
"""

import argparse
import os
import re
from collections.abc import Iterable, Mapping

_NUMBER = re.compile(r"[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|inf)", re.IGNORECASE)


def joined(words: Iterable[str], metavars: Mapping[str, str]) -> list[str]:
    """Command line in which the numbers after an option of `metavars`, {option: metavar}, are one word.

    An option takes as many numbers as its metavar names.  If that is unlimited, a number that is the name of an
    existing file is an input instead.
    """
    rest = list(words)
    out: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*out, word, *rest]
        metavar = metavars.get(word)
        if metavar is None or "," not in metavar or not rest:
            out.append(word)
            continue
        unlimited = "..." in metavar
        most = len(rest) if unlimited else metavar.count(",") + 1
        numbers: list[str] = []
        while rest and len(numbers) < most and _NUMBER.fullmatch(rest[0]):
            if unlimited and numbers and os.path.exists(rest[0]):
                break
            numbers.append(rest.pop(0))
        if not numbers and re.match(r"-[\d.]", rest[0]):  # one word already, such as -5,0,20,20
            numbers = [rest.pop(0)]
        # Joined by "=", because argparse would take it for an option.
        out.append(f"{word}={','.join(numbers)}" if numbers else word)
    return out


def three_numbers(text: str) -> tuple[float, ...]:
    """Parse three numbers separated by commas or spaces, for argparse."""
    try:
        values = tuple(float(part) for part in text.replace(",", " ").split())
    except ValueError:
        values = ()
    if len(values) != 3:
        raise argparse.ArgumentTypeError(f"needs three numbers, such as 2.5,1,1, got {text!r}")
    return values
