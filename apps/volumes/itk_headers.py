"""Headers of NIfTI, NRRD and MetaImage files: whether they are sound and all data are there.

Bytes of a NIfTI-1 header, from its definition (nifti1.h):

    0 size of the header, 348      40 dim[8], int16           56 intent_p1 .. p3, float32    68 intent_code, int16
    70 datatype, bitpix, int16     108 vox_offset, float32    112 scl_slope, scl_inter       124 cal_max, cal_min
    148 descrip, 80 characters     328 intent_name, 16        344 magic, "n+1"
"""

import gzip
import math
import os
import re
import struct
import zlib
from pathlib import Path

import numpy as np

from apps.common.decoding import DEFLATE_RATIO, Unreadable, Unsuitable, decoding_errors
from apps.volumes.data_files import MAX_HEADER, data_files_of, is_divided
from apps.volumes.voxel_geometry import unit_of

NIFTI_1, NIFTI_2 = 348, 540  # bytes of the headers, with which they start
FLOATS = {16: 4, 64: 8}  # NIfTI datatypes whose NaN and infinity the library replaces by 0, and their bytes
NOT_FINITE = "holds NaN or infinity; every voxel must be finite: replace them, as numpy.nan_to_num does"
LABEL_TYPES = {1: 2, 2: 512}  # NIfTI datatypes of uint8 and uint16, by their bytes
LABELS_AT = 352  # the header and four zeros: no extension
CHUNK = 1 << 22
MAX_TEXT = 900  # characters of an NRRD header's line, of a number in text, and of the path
TEXT = (b"ascii", b"text", b"txt")  # NRRD encodings as text
META_BYTES = {"CHAR": 1, "SHORT": 2, "INT": 4, "LONG": 4, "LONG_LONG": 8, "FLOAT": 4, "DOUBLE": 8}
META_VECTORS = ("ElementSpacing", "ElementSize", "Offset", "Position", "Origin", "CenterOfRotation")  # one per axis
META_MATRICES = ("TransformMatrix", "Rotation", "Orientation")
MAGICS = {  # what files of another kind start with
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"NRRD": "NRRD",
    b"\x1f\x8b": "gzip",
    b"PK": "zip",
    b"ObjectType": "MetaImage",
    b"\x93NUMPY": ".npy",
    b"\x5c\x01\0\0": "NIfTI",
    b"\0\0\x01\x5c": "NIfTI",
}


def kind_by_content(head: bytes) -> str:
    """ ", it looks like KIND" for the first bytes of a file of a known kind, else ""."""
    kind = next((kind for magic, kind in MAGICS.items() if head.startswith(magic)), "")
    kind = "DICOM" if head[128:132] == b"DICM" else kind
    return f", it looks like {kind}" if kind else ""


def check_nifti(path: Path) -> bytes:
    """Return the header of a complete NIfTI-1 file of finite numbers; raise Unreadable or Unsuitable for others."""
    packed = path.name.lower().endswith(".gz")
    with decoding_errors(), open(path, "rb") as file:
        head = file.read(NIFTI_2)
        if packed:
            if head[:2] != b"\x1f\x8b":
                raise Unreadable(f"not compressed by gzip{kind_by_content(head)}")
            file.seek(0)
            unpacked = gzip.GzipFile(fileobj=file)
            head = unpacked.read(NIFTI_2)
        order = next((o for o in "<>" if head[:4] == struct.pack(o + "i", NIFTI_1)), None)
        if any(head.startswith(struct.pack(o + "i", NIFTI_2)) for o in "<>"):
            raise Unreadable("NIfTI-2, which SimpleITK does not read; convert it to NIfTI-1")
        if order is None or head[344:347] != b"n+1" or len(head) < NIFTI_1:
            raise Unreadable(f"no header of a NIfTI file{kind_by_content(head)}")
        dims, (kind, bits) = struct.unpack_from(order + "8h", head, 40), struct.unpack_from(order + "2h", head, 70)
        offset = struct.unpack_from(order + "f", head, 108)[0]
        if not 1 <= dims[0] <= 7 or min(dims[1 : 1 + dims[0]]) < 1 or bits < 1 or not 0 <= offset < 2**40:
            raise Unreadable("damaged header")
        needed = int(offset) + math.prod(dims[1 : 1 + dims[0]]) * bits // 8
        data = unpacked if packed else file
        data.seek(int(offset))
        there = min(int(offset), data.tell())
        for chunk in iter(lambda: data.read(CHUNK), b""):
            there += len(chunk)
            if kind in FLOATS:
                whole = len(chunk) // FLOATS[kind] * FLOATS[kind]
                if not np.isfinite(np.frombuffer(chunk[:whole], f"{order}f{FLOATS[kind]}")).all():
                    raise Unsuitable(NOT_FINITE)
    _check_size(there, needed)
    return head[:NIFTI_1]


def labels_below_header(labels: np.ndarray, header: bytes) -> bytes:
    """A compressed NIfTI-1 file of labels, uint8 or uint16, with the dimensions and affine matrices of a header."""
    order = "<" if header[:4] == struct.pack("<i", NIFTI_1) else ">"
    head = bytearray(header)
    changes = (
        (56, "3f", (0.0, 0.0, 0.0)),
        (68, "3h", (0, LABEL_TYPES[labels.itemsize], 8 * labels.itemsize)),
        (108, "3f", (LABELS_AT, 1.0, 0.0)),
        (124, "2f", (0.0, 0.0)),
        (148, "80s", (b"cutmatch segment",)),
        (328, "16s", (b"",)),
    )
    for at, form, values in changes:
        struct.pack_into(order + form, head, at, *values)
    data = labels.astype(np.dtype(f"{order}u{labels.itemsize}")).tobytes()
    return gzip.compress(bytes(head) + bytes(LABELS_AT - NIFTI_1) + data, 6, mtime=0)


def check_metaimage(path: Path) -> None:
    """Raise Unreadable unless a MetaImage file and its data file are complete."""
    with decoding_errors(), open(path, "rb") as file:
        head = file.read(MAX_HEADER)
    entries: dict[str, str] = {}
    at = 0
    for line in re.finditer(rb"([A-Za-z]+) *[=:] *([^\r\n]*)\r?\n", head):
        name, value = line[1].decode(), line[2].decode("latin-1").strip()
        if entries.setdefault(name, value) != value and name != "Comment":
            raise Unreadable(f"several {name} in its header")
        at = line.end()
        if line[1] == b"ElementDataFile":
            break
    if "ElementDataFile" not in entries or "DimSize" not in entries:
        raise Unreadable(f"no header of a MetaImage file{kind_by_content(head)}")
    local = entries["ElementDataFile"] == "LOCAL"
    sources = (path,) if local else data_files_of(path)
    kind = entries.get("ElementType", "").removeprefix("MET_").removesuffix("_ARRAY").replace("UCHAR", "CHAR")
    kind = kind if kind in META_BYTES else kind.removeprefix("U")
    if kind not in META_BYTES:
        raise Unreadable(f"unknown ElementType {entries.get('ElementType')!r}")
    with decoding_errors():
        sizes = [int(size) for size in entries["DimSize"].split()]
        count = math.prod(sizes) * int(entries.get("ElementNumberOfChannels", 1))
        skipped = at if local else max(0, int(entries.get("HeaderSize", 0)))
    if not sizes:
        raise Unreadable("no DimSize in its header")
    axes = str(len(sizes))
    vectors = {**dict.fromkeys(META_VECTORS, len(sizes)), **dict.fromkeys(META_MATRICES, len(sizes) ** 2)}
    if entries.get("NDims") != axes or any(
        len(entries[key].split()) != length for key, length in vectors.items() if key in entries
    ):  # the library would write beyond its arrays
        raise Unreadable(f"entries of its header do not fit its {axes} axes")
    parts = sizes[-1] if is_divided(entries["ElementDataFile"]) else 1
    if len(sources) != parts:  # the library would leave the other slices empty
        raise Unreadable(f"its header names {len(sources)} data files for {parts} slices")
    needed = count * META_BYTES[kind] // max(1, parts)
    compressed = entries.get("CompressedData", "False").lower() == "true"
    for source in sources:
        _check_size(_inflated(source, skipped) if compressed else source.stat().st_size - skipped, needed)


def check_nrrd(path: Path) -> None:
    """Raise Unreadable for an NRRD file that would crash the library, or declares more than its data can hold.

    The library writes messages about what it cannot parse, and about the path, in buffers of about 1000 characters.
    """
    entries: dict[bytes, bytes] = {}
    if len(os.fsencode(path)) > MAX_TEXT:
        raise Unreadable(f"a path of more than {MAX_TEXT} characters")
    with decoding_errors(), open(path, "rb") as file:
        for line in iter(lambda: file.readline(MAX_HEADER), b""):
            if not line.strip(b"\r\n"):
                break
            if len(line) > MAX_TEXT and not re.match(rb"#|content:|[^:]*:=", line, re.IGNORECASE):
                raise Unreadable(f"a line of more than {MAX_TEXT} characters in its header")
            name, _, value = line.partition(b":")
            entries.setdefault(name.strip().lower(), value.strip())
        at = file.tell()
        count = math.prod(int(size) for size in entries.get(b"sizes", b"").split())
    sources = {source: 0 for source in data_files_of(path)} or {path: at}
    there = sum(source.stat().st_size - skipped for source, skipped in sources.items())
    encoding = entries.get(b"encoding", b"").lower()
    if count > there * (1 if encoding in (b"raw", b"hex", *TEXT) else DEFLATE_RATIO):
        raise Unreadable(f"truncated: {there} bytes for {count} voxels")
    if encoding in TEXT:
        for source, skipped in sources.items():
            _check_words(source, skipped)


def _check_words(source: Path, skipped: int) -> None:
    """Raise Unreadable for a number of too many characters in text."""
    with decoding_errors(), open(source, "rb") as file:
        file.seek(skipped)
        rest = b""
        for chunk in iter(lambda: file.read(CHUNK), b""):
            if re.search(rb"\S{%d}" % MAX_TEXT, rest + chunk):
                raise Unreadable(f"a number of more than {MAX_TEXT} characters")
            rest = (rest + chunk)[-MAX_TEXT:]


def nrrd_unit(path: Path) -> str:
    """Unit of the spacing of an NRRD file; mm if it states none."""
    with decoding_errors(), open(path, "rb") as file:
        head = file.read(MAX_HEADER).partition(b"\n\n")[0]
    found = re.search(rb'^(?:space )?units: *(?:"" *)*"([^"\r\n]+)"', head, re.MULTILINE)
    return (unit_of(found[1].decode("utf-8", "replace")) if found else None) or "mm"


def _inflated(source, skipped) -> int:
    """Number of bytes that the zlib or gzip data of a file hold after the first `skipped` bytes."""
    total, inflate = 0, zlib.decompressobj(zlib.MAX_WBITS | 32)
    with decoding_errors(), open(source, "rb") as file:
        file.seek(skipped)
        for chunk in iter(lambda: file.read(CHUNK), b""):
            while chunk:  # in parts, so that no damaged file can fill the memory
                total += len(inflate.decompress(chunk, CHUNK))
                chunk = inflate.unconsumed_tail
    return total


def _check_size(there, needed):
    if there < needed:
        raise Unreadable(f"truncated: {there} of {needed} bytes")
