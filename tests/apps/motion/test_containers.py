"""Video files: containers recognised by content, truncated files and playlists rejected."""

import struct

import cv2
import numpy as np
import pytest

from apps.common.containers import AVI, MATROSKA, MP4, OTHER, check_container
from apps.common.images import InputError
from apps.common.sequences import open_sequence
from apps.optical_flow import flow_command as flow
from apps.tracking import track_command as track


def write_video(path, count=8, code="MJPG"):
    """A textured image that moves, 96 x 72."""
    wide = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (120, 140, 3)), (0, 0), 1.5)
    wide = np.uint8(255 * (wide - wide.min()) / np.ptp(wide))
    video = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*code), 25.0, (96, 72))
    for t in range(count):
        video.write(np.ascontiguousarray(wide[10 + t : 82 + t, 20 - t : 116 - t]))
    video.release()
    return path


KINDS = {"v.avi": ("MJPG", AVI), "v.mp4": ("mp4v", MP4), "v.mkv": ("MJPG", MATROSKA)}


@pytest.mark.parametrize("name", KINDS)
def test_complete_videos_are_recognised_by_content(tmp_path, name):
    code, kind = KINDS[name]
    path = write_video(tmp_path / name, code=code)
    assert check_container(path) == kind
    assert len(list(open_sequence(path))) == 8
    path.rename(tmp_path / "other.bin")
    assert len(list(open_sequence(tmp_path / "other.bin"))) == 8


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_truncated_video_is_rejected(tmp_path, name, share):
    path = write_video(tmp_path / name, code=KINDS[name][0])
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=rf"input: .*{name}' is truncated: it has \d+ of the \d+ bytes"):
        open_sequence(path)


def test_missing_frames_are_detected(tmp_path):
    """An AVI of the length it announces, most of whose frames are gone."""
    path = write_video(tmp_path / "v.avi")
    data = bytearray(path.read_bytes())
    frames = [at for at in range(len(data)) if data[at : at + 4] == b"00dc" and data[at + 8 : at + 10] == b"\xff\xd8"]
    assert len(frames) == 8
    for at in frames[3:]:
        data[at : at + 4] = b"JUNK"
    index = data.find(b"idx1")
    data[index : index + 4] = b"JUNK"
    path.write_bytes(data)
    assert check_container(path) == AVI
    sequence = open_sequence(path)
    assert sequence.count == 8
    with pytest.raises(InputError, match="is incomplete: only 3 of its 8 frames can be read"):
        list(sequence)


@pytest.mark.parametrize("program", [track, flow])
def test_commands_reject_truncated_videos(tmp_path, program, capsys):
    path = write_video(tmp_path / "v.avi")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert program.main([str(path), "--out", str(tmp_path / "out")]) == 2
    assert "is truncated" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


PLAYLISTS = {
    "ffconcat": "ffconcat version 1.0\nfile 'other.avi'\n",
    "m3u": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nother.avi\n#EXT-X-ENDLIST\n",
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
    "mpd": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>',
    "nothing": "",
}


@pytest.mark.parametrize("kind", PLAYLISTS)
@pytest.mark.parametrize("suffix", ["avi", "mp4", "m3u8", "txt"])
def test_playlists_are_rejected(tmp_path, monkeypatch, kind, suffix, capfd):
    write_video(tmp_path / "other.avi")
    (tmp_path / f"x.{suffix}").write_text(PLAYLISTS[kind])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cv2, "VideoCapture", lambda *_: pytest.fail("handed to a decoder"))
    with pytest.raises(InputError, match=r"cannot read 'x\..*as a video"):
        open_sequence(f"x.{suffix}")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("folder", ["http:", "concat:", "file:"])
def test_a_path_is_never_a_url(tmp_path, monkeypatch, folder):
    (tmp_path / folder).mkdir()
    write_video(tmp_path / folder / "v.avi", 3)
    monkeypatch.chdir(tmp_path)
    assert len(list(open_sequence(f"{folder}/v.avi"))) == 3


def container(kind):
    """A file of each kind's first bytes, whole as far as they say."""
    box = struct.pack(">I4s", 16, b"ftyp") + bytes(8)
    return {
        "avi of two chunks": (b"RIFF\x08\0\0\0AVI LIST" + b"RIFF\x04\0\0\0AVIX", AVI, None),
        "avi, the second chunk cut": (b"RIFF\x08\0\0\0AVI LIST" + b"RIFF\xff\0\0\0AVIX", AVI, "truncated"),
        "avi never finished": (b"RIFF\0\0\0\0AVI LIST", AVI, None),
        "mp4 of large boxes": (box + struct.pack(">I4sQ", 1, b"mdat", 20) + bytes(4), MP4, None),
        "mp4, a large box cut": (box + struct.pack(">I4sQ", 1, b"mdat", 2**40), MP4, "truncated"),
        "mp4, to the end": (box + struct.pack(">I4s", 0, b"mdat") + bytes(9), MP4, None),
        "mp4, padding cut": (box + struct.pack(">I4s", 99, b"free"), MP4, None),
        "matroska": (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x83abc", MATROSKA, None),
        "matroska cut": (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x84abc", MATROSKA, "truncated"),
        "matroska as it is recorded": (b"\x1a\x45\xdf\xa3\x82ab\x18\x53\x80\x67\x01" + b"\xff" * 7, MATROSKA, None),
        "matroska of a header": (b"\x1a\x45\xdf\xa3", MATROSKA, None),
        "transport stream": ((b"\x47" + bytes(187)) * 4, OTHER, None),
        "transport stream with times": ((bytes(4) + b"\x47" + bytes(187)) * 4, OTHER, None),
        "text of the transport stream's mark": (b"G" + b"a" * 400, None, "as a video"),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "avi of two chunks",
        "avi, the second chunk cut",
        "avi never finished",
        "mp4 of large boxes",
        "mp4, a large box cut",
        "mp4, to the end",
        "mp4, padding cut",
        "matroska",
        "matroska cut",
        "matroska as it is recorded",
        "matroska of a header",
        "transport stream",
        "transport stream with times",
        "text of the transport stream's mark",
    ],
)
def test_stated_lengths_of_containers(tmp_path, kind):
    data, expected, message = container(kind)
    (tmp_path / "v").write_bytes(data)
    if message is None:
        assert check_container(tmp_path / "v") == expected
    else:
        with pytest.raises(InputError, match=message):
            check_container(tmp_path / "v")
