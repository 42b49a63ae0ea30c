"""Damaged graph files: every prefix and every change of one byte is an error, or is read as its text says.

A child process reads the files, because the libraries that read them have ended the process.  It must neither be ended
by a signal nor take long.  What it reads of a .mtx file must be what Python reads in its lines.  The longer form:
pytest -m thorough tests/matching/test_damaged_files.py
"""

import gzip
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse

SEED = 7
SECONDS = 20  # for one file
LINES = {
    "real": "%%MatrixMarket matrix coordinate real general\n% two\n2 3 3\n1 1 5.5\n1 3 -2e-1\n2 2 .25\n",
    "pattern": "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
    "integer": "%%MatrixMarket matrix coordinate integer general\r\n2 2 2\r\n1 1 12\r\n2 2 -3\r\n",
    "complex": "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 1.5 -1\n",
}
CHILD = """
import faulthandler, json, sys
import matching

folder, name, seconds = sys.argv[1:]
faulthandler.enable()
variants = json.load(open(f"{folder}/variants.json"))
for k, text in enumerate(variants):
    path = f"{folder}/{name}"
    with open(path, "wb") as file:
        file.write(text.encode("latin-1"))
    print(k, end=" ", flush=True)
    faulthandler.dump_traceback_later(float(seconds), exit=True)
    try:
        graph = matching.read_graph(path)
        values = graph.tocoo()
        parts = values.row.tolist(), values.col.tolist(), [str(complex(x)) for x in values.data]
        print(json.dumps([graph.shape, list(zip(*parts))]), flush=True)
    except ValueError as error:
        print(json.dumps(str(error)), flush=True)
    faulthandler.cancel_dump_traceback_later()
"""


def outcomes(folder, name, variants):
    """What the child prints for each variant: an error, or shape and entries."""
    (folder / "variants.json").write_text(json.dumps([v.decode("latin-1") for v in variants]))
    command = [sys.executable, "-c", CHILD, str(folder), name, str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    ended = min(len(lines), len(variants)) - 1
    assert done.returncode == 0, (done.returncode, ended, variants[max(ended, 0)], done.stderr[-2000:])
    return [json.loads(line.partition(" ")[2]) for line in lines]


def damaged(content, values, rng):
    """All prefixes, and each byte replaced by `values` others; with NUL, blank, comma and line end among them."""
    yield from (content[:k] for k in range(len(content) + 1))
    for k in range(len(content)):
        others = set(range(256)) if values == 256 else {0, *b" ,e\n%", *rng.integers(0, 256, values).tolist()}
        yield from (content[:k] + bytes([b]) + content[k + 1 :] for b in sorted(others - {content[k]}))
    for k in range(len(content) + 1):
        yield from (content[:k] + extra + content[k:] for extra in (b"\0", b" ", b"\t", b",5", b" 7", b"\n", b"\r"))


def as_text_says(content: bytes):
    """Shape and entries of a .mtx file by its lines, in Python's own reading of numbers."""
    lines = content.decode("latin-1").split("\n")
    field, symmetry = lines[0].lower().split()[3:]
    body = [line.split() for line in lines[1:] if line.strip() and not line.startswith("%")]
    n, m, _ = map(int, body[0])
    entries = {}
    for words in body[1:]:
        i, j = int(words[0]) - 1, int(words[1]) - 1
        number = {"pattern": lambda _: 1, "complex": lambda w: complex(float(w[0]), float(w[1]))}
        value = number.get(field, lambda w: float(w[0]))(words[2:])
        assert len(words) == {"pattern": 2, "complex": 4}.get(field, 3), words
        mirror = {"symmetric": value, "skew-symmetric": -value, "hermitian": np.conj(value)}
        places = {(i, j): value} if symmetry == "general" or i == j else {(i, j): value, (j, i): mirror[symmetry]}
        for place, number in places.items():
            entries[place] = entries.get(place, 0) + number
    return [n, m], {place: complex(value) for place, value in entries.items()}


def check(content, outcome, counts):
    if isinstance(outcome, str):
        counts["refused"] += 1
        assert "\n" not in outcome
        return
    counts["read"] += 1
    shape, entries = as_text_says(content)
    assert outcome[0] == shape, content
    found = {(i, j): complex(value) for i, j, value in outcome[1]}
    assert found.keys() == entries.keys(), content
    np.testing.assert_array_equal(list(found.values()), [entries[place] for place in found], content)


def run_text(folder, field, values):
    counts = {"read": 0, "refused": 0}
    variants = list(damaged(LINES[field].encode(), values, np.random.default_rng(SEED)))
    for content, outcome in zip(variants, outcomes(folder, "a.mtx", variants), strict=True):
        check(content, outcome, counts)
    return counts


@pytest.mark.parametrize("field", LINES)
def test_text(tmp_path, field):
    counts = run_text(tmp_path, field, 3)
    assert min(counts.values()) > 10


WRONG_ENDS = [b" ", b"\t", b"b", b"e", b"e-", b"%", b"\0", b" 5", b",5", b" % my comment", b"\x1a"]


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
def test_text_after_the_last_value(tmp_path, suffix):
    """Such a file ended the process, or was read as if the rest of the line were not there."""
    variants = []
    for head, last in ((b"real", b"1 1 1"), (b"pattern", b"1 1")):
        for end in WRONG_ENDS:
            text = b"%%MatrixMarket matrix coordinate " + head + b" general\n1 1 1\n" + last + end
            variants += [text, text + b"\n", text + b"\r\n"]
    zipped = [gzip.compress(v, mtime=0) if suffix.endswith("gz") else v for v in variants]
    counts = {"read": 0, "refused": 0}
    for content, outcome in zip(variants, outcomes(tmp_path, f"a{suffix}", zipped), strict=True):
        check(content, outcome, counts)
    assert counts == {"read": 12, "refused": 54}  # blanks are read


CHANGES = {
    "its values must be numbers": {"data": np.array(["a", "b"])},
    "at most 2147483646 vertices per side": {"shape": (2, 10**12), "indices": np.array([0, 1])},
}


@pytest.mark.parametrize("message", CHANGES)
def test_npz_of_other_types(tmp_path, message):
    import matching

    matrix = scipy.sparse.csr_array(np.array([[1.0, 0], [0, 2.0]]))
    parts = {"format": b"csr", "shape": matrix.shape, "data": matrix.data}
    parts |= {"indices": matrix.indices, "indptr": matrix.indptr} | CHANGES[message]
    np.savez(tmp_path / "a.npz", **parts)
    with pytest.raises(ValueError, match=message):
        matching.read_graph(tmp_path / "a.npz")


@pytest.mark.thorough
def test_every_change(tmp_path, capsys):
    counts = {field: run_text(tmp_path, field, 256) for field in LINES}
    with capsys.disabled():
        print(f"\ndamaged files: {counts}")
