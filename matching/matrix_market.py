"""Check the text of a MatrixMarket file in one pass, before SciPy reads it.

SciPy's reader ignores what follows the last number of a line, so that "5,5" is 5, and ends the process if such text is
the end of the file, or if a number is followed by a NUL byte.  Therefore `check_text` accepts nothing but this:

    %%MatrixMarket matrix coordinate real general      field and symmetry as below
    % comments and empty lines, any number
    rows columns entries
    row column value                                   `entries` lines, of blanks and of numbers of the declared kind

A deterministic automaton reads the entries.  It is built from those of the numbers in a line:

    table[state | byte]        the next state, a multiple of 256;  WRONG: no line is continued by this byte
    START                      before a line;  EMPTY: a carriage return in an empty line
    a gap                      blanks before a number, or after the last one
    others                     within a number, or after the carriage return that ends a line

One table look-up per byte; memory is one chunk of the file.
"""

from functools import cache
from string import digits

import numpy as np

from gridcut.device import kernel

MAGIC = b"%%MatrixMarket"
CHUNK = 1 << 20  # bytes that are scanned at a time
MAX_LINE_BYTES = 1 << 16  # bytes that are read of a line of the head
MAX_SHOWN = 60  # bytes of a wrong line in an error
BLANKS = " \t"
START, EMPTY, WRONG = 0, 256, 0xFF00
STATE, LINES, ENTRIES = range(3)  # positions in `scanned`

# The automaton of each kind of number, {state: {characters: next state}}; the first state is "", before the number.
Number = dict[str, dict[str, str]]
INDEX: Number = {"": {digits: "digits"}, "digits": {digits: "digits"}}
INTEGER: Number = {**INDEX, "": {"+-": "sign", digits: "digits"}, "sign": {digits: "digits"}}
FIRST = {digits: "whole", ".": "point", "iI": "i", "nN": "n"}
REAL: Number = {
    "": {"+-": "sign", **FIRST},
    "sign": FIRST,
    "whole": {digits: "whole", ".": "fraction", "eE": "e"},
    "point": {digits: "fraction"},
    "fraction": {digits: "fraction", "eE": "e"},
    "e": {"+-": "e sign", digits: "exponent"},
    "e sign": {digits: "exponent"},
    "exponent": {digits: "exponent"},
    **{
        word[:k]: {word[k] + word[k].upper(): word[: k + 1]}
        for word in ("infinity", "nan")
        for k in range(1, len(word))
    },
    "infinity": {},
    "nan": {},
}
LAST = {"digits", "whole", "fraction", "exponent", "inf", "infinity", "nan"}  # states in which a number may end
FIELDS: dict[str, tuple[Number, ...]] = {
    "real": (REAL,),
    "double": (REAL,),
    "complex": (REAL, REAL),
    "integer": (INTEGER,),
    "unsigned-integer": (INDEX,),
    "pattern": (),
}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


@cache
def automaton(field: str) -> tuple[np.ndarray, frozenset[int]]:
    """The table for the entries of a field, and the states in which a last line without a line end is complete."""
    numbers = (INDEX, INDEX, *FIELDS[field])
    names: list[tuple] = [("gap", 0), ("empty",)]
    names += [(k, state) for k, number in enumerate(numbers) for state in number if state]
    names += [("gap", k) for k in range(1, len(numbers) + 1)] + [("end",)]
    state_of = {name: 256 * k for k, name in enumerate(names)}
    table = np.full(256 * len(names), WRONG, np.uint16)

    def lead(name, characters: str, target) -> None:
        for character in characters:
            table[state_of[name] | ord(character)] = state_of[target]

    ends = {(len(numbers) - 1, state) for state in numbers[-1] if state in LAST}
    lead(("gap", 0), "\n", ("gap", 0))
    lead(("gap", 0), "\r", ("empty",))
    lead(("empty",), "\n", ("gap", 0))
    lead(("end",), "\n", ("gap", 0))
    for name in (*ends, ("gap", len(numbers))):
        lead(name, "\n", ("gap", 0))
        lead(name, "\r", ("end",))
    for k in range(len(numbers) + 1):
        lead(("gap", k), BLANKS, ("gap", k))
    for k, number in enumerate(numbers):
        for state, following in number.items():
            for characters, target in following.items():
                lead((k, state) if state else ("gap", k), characters, (k, target))
            if state in LAST:
                lead((k, state), BLANKS, ("gap", k + 1))
    return table, frozenset(state_of[name] for name in ends)


@kernel
def scan(data, table, scanned):
    """Scan bytes, continuing from `scanned`; returns the position of the first wrong byte, or the number of bytes."""
    state, lines, entries = np.uint64(scanned[STATE]), scanned[LINES], scanned[ENTRIES]
    at = np.uint64(data.size)
    for k in range(at):
        following = np.uint64(table[state | np.uint64(data[k])])
        if following == WRONG:
            at = k
            break
        is_end = data[k] == 10
        lines += is_end
        entries += is_end & (state > EMPTY)
        state = following
    scanned[STATE], scanned[LINES], scanned[ENTRIES] = state, lines, entries
    return at


def check_text(file, check_size) -> None:
    """Raise ValueError, with the number of the line, unless a binary stream is a complete file of a sparse matrix.

    check_size   called with rows, columns and entries as soon as they are known
    """
    line = file.readline(MAX_LINE_BYTES)
    head = line.split()
    if not head or head[0] != MAGIC:
        raise ValueError(f"it does not begin with {MAGIC.decode()}")
    if len(head) > 2 and head[2].lower() == b"array":
        raise ValueError("it contains a dense matrix; save a sparse matrix with scipy.io.mmwrite, in coordinate format")
    if len(head) < 2 or head[1].lower() != b"matrix":
        raise ValueError("its header does not declare a matrix")
    words = [word.decode("latin-1").lower() for word in head[2:]]
    if len(words) != 3 or words[0] != "coordinate" or words[1] not in FIELDS or words[2] not in SYMMETRIES:
        raise ValueError(
            f"line 1, {_shown(line)}, must end in coordinate, one of {', '.join(FIELDS)}, and one of "
            f"{', '.join(SYMMETRIES)}"
        )
    number, line = _after_comments(file)
    size = line.split()
    if len(size) != 3 or not all(word.isdigit() and len(word) < 20 for word in size) or len(line) >= MAX_LINE_BYTES:
        if not line:
            raise ValueError("Truncated file: it ends in its header")
        raise ValueError(f"line {number}, {_shown(line)}, must hold the numbers of rows, columns and entries")
    rows, columns, entries = map(int, size)
    check_size(rows, columns, entries)
    _check_entries(file, words[1], number, entries)


def _after_comments(file) -> tuple[int, bytes]:
    """The number and the text of the first line after the comments; b"" at the end of the file."""
    number, line = 2, file.readline(MAX_LINE_BYTES)
    while line and (line.startswith(b"%") or not line.strip()):
        while line and not line.endswith(b"\n"):  # a long comment
            line = file.readline(MAX_LINE_BYTES)
        number, line = number + 1, file.readline(MAX_LINE_BYTES)
    return number, line


def _check_entries(file, field: str, number: int, declared: int) -> None:
    """Check the lines after line `number`."""
    table, complete = automaton(field)
    scanned = np.zeros(3, np.int64)
    line = b""  # the beginning of the line that the next chunk continues
    while chunk := file.read(CHUNK):
        at = scan(np.frombuffer(chunk, np.uint8), table, scanned)
        if at < len(chunk):
            begin = chunk.rfind(b"\n", 0, at) + 1
            text = (chunk if begin else line + chunk)[begin:].split(b"\n", 1)[0]
            raise _wrong_line(number + 1 + int(scanned[LINES]), text, field)
        line = (line + chunk)[-MAX_SHOWN:].rpartition(b"\n")[2] if len(chunk) < CHUNK else chunk.rpartition(b"\n")[2]
        line = line[:MAX_SHOWN]
    entries, state = int(scanned[ENTRIES]), int(scanned[STATE])
    if state != START and state not in complete:
        raise _wrong_line(number + 1 + int(scanned[LINES]), line, field)
    entries += state != START
    if entries < declared:
        raise ValueError(f"Truncated file: its header declares {declared} entries, but it contains {entries}")
    if entries > declared:
        raise ValueError(f"its header declares {declared} entries, but it contains {entries}")


def _wrong_line(number: int, text: bytes, field: str) -> ValueError:
    values = {"pattern": "", "complex": " and two real numbers", "integer": " and an integer"}
    what = f"a row and a column{values.get(field, ' and a number')}, separated by blanks, and nothing else"
    return ValueError(f"line {number}, {_shown(text)}, must hold {what}")


def _shown(text: bytes) -> str:
    return repr(text.rstrip(b"\r\n")[:MAX_SHOWN].decode("latin-1"))
