"""Recognise video containers by their first bytes, and check that the file is complete.

FFmpeg, which decodes videos, also opens playlists: text files that refer to other files or URLs, whatever the suffix.
Only files that start like a video container are therefore passed to it.

AVI (RIFF), MP4 (and MOV) and Matroska (and WebM) state their size.  The other containers cannot be checked.
"""

import os

from apps.common.images import InputError, open_file

AVI, MP4, MATROSKA, OTHER = "AVI", "MP4", "Matroska", "another"
MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot")
EBML, SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
OTHERS = (
    b"\x00\x00\x01\xba",  # MPEG program stream
    b"\x00\x00\x01\xb3",  # MPEG-1 and 2 video
    b"\x00\x00\x00\x01",  # H.264, H.265 and MPEG-4 without a container
    b"\x00\x00\x01",
    b"FLV\x01",
    b"OggS",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",  # ASF, WMV
    b"\x06\x0e\x2b\x34",  # MXF
    b"\x1f\x07\x00",  # DV
    b"DKIF",  # IVF
    b"YUV4MPEG2 ",
    b"\xff\xd8\xff",  # Motion JPEG without a container
)
PACKET_SIZES = (188, 192)  # bytes of an MPEG transport stream's packets, which start with 0x47


def check_container(path, name: str = "input") -> str:
    """Return the kind of a video file: AVI, MP4, MATROSKA or OTHER.

    Raises InputError if the file is not a video container, or is shorter than its header states.
    """
    with open_file(path, name) as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(4 * PACKET_SIZES[-1])
        kind = _kind(head)
        if kind is None:
            raise InputError(
                f"{name}: cannot read {str(path)!r} as a video; pass an AVI, MP4, Matroska, WebM or MPEG file, or a "
                "folder of frames"
            )
        announced_end = {AVI: _riff_end, MP4: _boxes_end, MATROSKA: _segment_end}.get(kind)
        end = announced_end(file, size) if announced_end else 0
    if end > size:
        raise InputError(
            f"{name}: {str(path)!r} is truncated: it has {size} of the {end} bytes its header states; copy it again"
        )
    return kind


def _kind(head: bytes):
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return AVI
    if head[4:8] in MP4_BOXES:
        return MP4
    if head[:4] == EBML:
        return MATROSKA
    for step in PACKET_SIZES:
        # Packets of 192 bytes start with a 4-byte time stamp.
        marks = head[step - 188 :: step]
        if len(marks) >= 3 and set(marks) == {0x47}:
            return OTHER
    return OTHER if head.startswith(OTHERS) else None


def _riff_end(file, size: int) -> int:
    """Return the stated end of the last of an AVI's RIFF chunks; large files have several."""
    position = 0
    while position + 12 <= size:
        file.seek(position)
        kind, length = file.read(4), int.from_bytes(file.read(4), "little")
        if kind != b"RIFF" or length in (0, 2**32 - 1):  # other data, or a length that was never written
            break
        if position + 8 + length > size:
            return position + 8 + length
        position += 8 + length + length % 2
    return 0


def _boxes_end(file, size: int) -> int:
    """Return the stated end of the last box of an MP4."""
    position = 0
    while position + 8 <= size:
        file.seek(position)
        length, kind = int.from_bytes(file.read(4), "big"), file.read(4)
        if length == 1:
            length = int.from_bytes(file.read(8), "big")
        if length < 8 or not kind.isalnum():  # extends to the end of the file, or is not a box
            break
        if position + length > size:
            return position + length if kind in (b"moov", b"mdat", b"moof") else 0
        position += length
    return position


def _segment_end(file, size: int) -> int:
    """Return the stated end of a Matroska file's segment; 0 if it is not stated."""
    file.seek(4)
    length = _variable_length_integer(file)
    if length is None:
        return 0
    file.seek(length, os.SEEK_CUR)
    if file.read(4) != SEGMENT:
        return 0
    length = _variable_length_integer(file)
    return 0 if length is None else file.tell() + length


def _variable_length_integer(file):
    """Read an EBML integer of 1 to 8 bytes; None for an unknown length, or at the end of the file."""
    first = file.read(1)
    if not first or not first[0]:
        return None
    extra_bytes = 8 - first[0].bit_length()
    bits = 7 * (extra_bytes + 1)
    rest = file.read(extra_bytes)
    value = int.from_bytes(first + rest, "big") & ((1 << bits) - 1)
    return None if len(rest) < extra_bytes or value == (1 << bits) - 1 else value
