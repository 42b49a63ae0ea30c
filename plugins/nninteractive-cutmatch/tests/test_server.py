"""Sessions that end, keys, sizes, and requests that cannot be answered: the status, and a line that says why."""

import socket
import struct
import threading
import time

import httpx
import numpy as np
import pytest
from conftest import SHAPE, serving
from nnInteractive.inference.remote import (
    ServerAtCapacityError,
    SessionExpiredError,
    nnInteractiveRemoteInferenceSession,
)
from nnInteractive.inference.remote.serialization import pack_array, unpack_array
from nninteractive_cutmatch.arrays import packed, unpacked


def test_what_a_client_reads_at_the_start(client):
    assert client.ping()
    assert (client.supports_undo, client.supports_initial_label) == (True, True)
    assert all(client.supported_interactions.values())
    assert 0 < client.heartbeat() <= client.lease_status()["idle_timeout_seconds"] == 600


def test_sessions_are_counted_and_given_back():
    with serving(most=1) as (address, _):
        with nnInteractiveRemoteInferenceSession(address), pytest.raises(ServerAtCapacityError, match="all 1 sessions"):
            nnInteractiveRemoteInferenceSession(address)
        nnInteractiveRemoteInferenceSession(address).close()


@pytest.mark.parametrize("times", [{"idle": 0.2}, {"alive": 0.2}])
def test_a_session_ends_by_itself(times):
    with serving(**times) as (address, leases), nnInteractiveRemoteInferenceSession(address) as client:
        time.sleep(0.3)
        leases.end_old()
        with pytest.raises(SessionExpiredError, match="connect again"):
            client.set_image(np.zeros((1, *SHAPE), np.float32))


def test_keys():
    with serving(key="right") as (address, _):
        assert httpx.get(f"{address}/healthz").status_code == 200
        nnInteractiveRemoteInferenceSession(address, api_key="right").close()
        for key in (None, "wrong"):
            with pytest.raises(httpx.HTTPStatusError, match="401"):
                nnInteractiveRemoteInferenceSession(address, api_key=key)


def post(client, path, **request):
    answer = client._http.post(path, **request)
    assert set(answer.json()) == {"detail"}
    return answer.status_code, answer.json()["detail"]


BINARY = {"Content-Type": "application/octet-stream"}


@pytest.mark.parametrize(
    ("path", "request_", "words"),
    [
        ("/add_point_interaction", {"json": {"coordinates": [1, 2]}}, "include_interaction"),
        (
            "/add_point_interaction",
            {"json": {"coordinates": [1, 2], "include_interaction": True}},
            "a voxel of the image",
        ),
        ("/add_point_interaction", {"json": {"coordinates": [1, 2, 99], "include_interaction": True}}, "a voxel"),
        ("/add_point_interaction", {"json": {"coordinates": "abc", "include_interaction": True}}, "could not convert"),
        (
            "/add_point_interaction",
            {"content": b'{"coordinates": [1, 2, Infinity], "include_interaction": 1}'},
            "a voxel",
        ),
        ("/add_point_interaction", {"content": b"{"}, "no JSON"),
        ("/add_point_interaction", {"content": b"[]"}, "a JSON object"),
        ("/add_bbox_interaction", {"json": {"bbox_coords": [[1, 2]], "include_interaction": True}}, "three pairs"),
        ("/add_bbox_interaction", {"json": {"bbox_coords": [[9, 9]] * 3, "include_interaction": True}}, "no voxels"),
        ("/add_bbox_interaction", {"json": {"bbox_coords": [[2, 9]] * 3, "include_interaction": False}}, "scribbles"),
        ("/set_target_buffer", {"json": {"shape": [1, 2, 3]}}, "but the image"),
        ("/set_image", {"json": {}}, "must hold an array"),
        ("/set_image", {"content": b"NNIA", "headers": BINARY}, "ends too soon"),
        ("/set_image", {"content": packed(np.zeros((2, 3, 4, 5))), "headers": BINARY}, "one channel"),
        ("/set_image", {"content": packed(np.zeros((1, 3, 4, 5)))[:-9], "headers": BINARY}, "do not fit"),
        ("/add_scribble_interaction", {"content": packed(np.zeros(SHAPE, np.uint8)), "headers": BINARY}, "lacks"),
    ],
)
def test_refusals(opened, path, request_, words):
    status, detail = post(opened, path, **request_)
    assert status == 400
    assert words in detail
    assert "\n" not in detail
    assert opened.add_point_interaction((20, 18, 16), True) is not None  # the session is as before


def test_masks_that_do_not_fit(opened):
    for mask, words in ((np.zeros(SHAPE), "empty"), (np.ones((2, 2, 2)), "the mask has shape")):
        meta = {"X-Meta": '{"include_interaction": true}', **BINARY}
        content = packed(mask.astype(np.uint8))
        status, detail = post(opened, "/add_scribble_interaction", content=content, headers=meta)
        assert status == 400
        assert words in detail
    lasso = {"X-Meta": '{"include_interaction": true}', **BINARY}
    content = packed(np.ones((3, 3, 3), np.uint8))
    lasso["X-Meta"] = '{"include_interaction": true, "interaction_bbox": [[1, 4], [1, 4], [1, 4]]}'
    assert "one slice" in post(opened, "/add_lasso_interaction", content=content, headers=lasso)[1]


def test_before_an_image(client):
    click = {"coordinates": [1, 1, 1], "include_interaction": True}
    status, detail = post(client, "/add_point_interaction", json=click)
    assert status == 400
    assert "call set_image first" in detail


def test_too_large():
    with serving(bytes_of_array=1000) as (address, _), nnInteractiveRemoteInferenceSession(address) as client:
        assert post(client, "/set_image", content=b"x" * 2000, headers=BINARY)[0] == 413
        bomb = packed(np.zeros((1, 100, 100, 100), np.uint8))
        assert len(bomb) < 1000
        status, detail = post(client, "/set_image", content=bomb, headers=BINARY)
        assert status == 400
        assert "--max-gb" in detail


def test_an_upload_that_is_cut_off(opened):
    url = opened._http.base_url
    lines = [b"POST /set_image HTTP/1.1", f"Host: {url.host}".encode(), b"Content-Type: application/octet-stream"]
    lines += [b"X-Lease-Token: " + opened._lease_token.encode(), b"Content-Length: 100000", b"", b"NNIA"]
    with socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(b"\r\n".join(lines))
    assert opened.add_point_interaction((20, 18, 16), True) is not None


def test_requests_of_one_session_at_once(opened, scene):
    """They are answered one after the other; the mask in the end is that of all."""
    places = [(20, 18, 16), (20, 20, 16), (20, 16, 16), (20, 18, 12)]
    threads = [threading.Thread(target=opened.add_point_interaction, args=(place, True)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(opened.undo() for _ in range(len(places) + 1)) == len(places)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "float64"])
def test_arrays_are_those_of_the_client(dtype):
    array = np.random.default_rng(0).integers(0, 2, (3, 1, 5, 7)).astype(dtype)
    np.testing.assert_array_equal(unpack_array(packed(array)), array)
    np.testing.assert_array_equal(unpacked(pack_array(array), array.nbytes), array)
    assert unpacked(pack_array(array), array.nbytes).dtype == dtype


def test_damaged_arrays():
    whole = packed(np.arange(60.0).reshape(3, 4, 5))
    for length in range(0, len(whole), 3):
        with pytest.raises(ValueError, match="the array"):
            unpacked(whole[:length], 1 << 20)
    with pytest.raises(ValueError, match="do not fit"):
        unpacked(whole.replace(struct.pack("<q", 5), struct.pack("<q", 4)), 1 << 20)
    with pytest.raises(ValueError, match="axis may be empty"):
        unpacked(packed(np.zeros((2, 3), "complex64")), 1 << 20)
