"""Video files: every container gives its frames upright, truncated files and playlists are rejected, av is optional."""

import sys

import av
import numpy as np
import pytest

from apps.common.images import InputError
from apps.common.sequences import open_sequence, write_video
from apps.optical_flow import flow_command as flow
from apps.tracking import track_command as track
from tests.apps.conftest import texture


def textured(count=8):
    """A textured image that moves, 96 x 72."""
    wide = texture((120, 140, 3))
    return [np.ascontiguousarray(wide[10 + t : 82 + t, 20 - t : 116 - t]) for t in range(count)]


CODECS = {"v.avi": "mjpeg", "v.mp4": "libx264", "v.mov": "mpeg4", "v.mkv": "mjpeg", "v.webm": "libvpx-vp9"}


def video(path, count=8):
    with av.open(path, "w") as file:
        stream = file.add_stream(CODECS[path.name], 25, width=96, height=72)
        stream.pix_fmt = "yuvj420p" if CODECS[path.name] == "mjpeg" else "yuv420p"
        for frame in textured(count):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
        file.mux(stream.encode())
    return path


@pytest.mark.parametrize("name", CODECS)
def test_frames_of_every_container_by_content(tmp_path, name):
    path = video(tmp_path / name)
    path.rename(tmp_path / "other.bin")
    sequence = open_sequence(tmp_path / "other.bin")
    assert (sequence.shape, sequence.rate) == ((72, 96), 25)
    frames = np.stack(list(sequence))
    assert len(frames) == 8
    assert np.abs(frames * 255 - textured()).mean() < 12


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("program", [track, flow])
def test_truncated_videos_are_rejected_before_the_work(tmp_path, name, share, program, capsys):
    path = video(tmp_path / name)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert program.main([str(path), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert ("is truncated: it holds" in message) or ("cannot read" in message and "complete" in message)
    assert message.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_videos_of_a_turned_telephone_are_upright(tmp_path, angle):
    path = video(tmp_path / "v.mov")
    turned = tmp_path / "turned.mov"
    with av.open(path) as source, av.open(turned, "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    data = bytearray(turned.read_bytes())
    at = data.index(b"tkhd") + 44  # of version 0: the matrix, in which 1 is 2**16
    a, b = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[angle]  # clockwise
    data[at : at + 36] = np.array([a << 16, b << 16, 0, -b << 16, a << 16, 0, 0, 0, 1 << 30], ">i4").tobytes()
    turned.write_bytes(data)
    straight, upright = (np.stack(list(open_sequence(one))) for one in (path, turned))
    np.testing.assert_array_equal(upright, np.rot90(straight, -angle // 90, (1, 2)))


PLAYLISTS = {
    "ffconcat": "ffconcat version 1.0\nfile 'other.avi'\n",
    "m3u": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nother.avi\n#EXT-X-ENDLIST\n",
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n",
    "mpd": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"></MPD>',
    "nothing": "",
}


@pytest.mark.parametrize("kind", PLAYLISTS)
@pytest.mark.parametrize("suffix", ["avi", "mp4", "m3u8", "txt", "ffconcat"])
def test_playlists_are_rejected(tmp_path, monkeypatch, kind, suffix, capfd):
    """FFmpeg would read the files that they name."""
    video(tmp_path / "v.avi").rename(tmp_path / "other.avi")
    (tmp_path / f"x.{suffix}").write_text(PLAYLISTS[kind])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"cannot read 'x\..*as a video"):
        open_sequence(f"x.{suffix}")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("folder", ["http:", "concat:", "file:"])
def test_a_path_is_never_a_url(tmp_path, monkeypatch, folder):
    (tmp_path / folder).mkdir()
    video(tmp_path / folder / "v.avi", 3)
    monkeypatch.chdir(tmp_path)
    assert len(list(open_sequence(f"{folder}/v.avi"))) == 3


def test_videos_without_the_package(tmp_path, monkeypatch):
    path = video(tmp_path / "v.avi")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(InputError, match=r"'.*v\.avi' is read as a video, which requires av; pip install av, or"):
        open_sequence(path)
    with pytest.raises(InputError, match=r"--video: \.mp4 requires av; pip install av, or"):
        write_video(tmp_path / "a.mp4", textured(), 10.0)
    write_video(tmp_path / "a.gif", textured(), 10.0)
    assert len(list(open_sequence(tmp_path / "a.gif"))) == 8


@pytest.mark.parametrize("suffix", [".mp4", ".avi", ".gif"])
def test_written_videos_are_read_back(tmp_path, suffix):
    path = write_video(tmp_path / f"v{suffix}", (frame[1:, 1:] for frame in textured()), 12.5)
    frames = np.stack(list(open_sequence(path)))
    shape = (71, 95) if suffix == ".gif" else (70, 94)  # codecs require even sides
    assert frames.shape == (8, *shape, 3)
    expected = np.stack(textured())[:, 1:, 1:][:, : shape[0], : shape[1]]
    assert np.abs(frames * 255 - expected).mean() < 12
    if suffix == ".mp4":  # as browsers play it
        with av.open(path) as file:
            assert (file.streams.video[0].codec.canonical_name, file.streams.video[0].pix_fmt) == ("h264", "yuv420p")
