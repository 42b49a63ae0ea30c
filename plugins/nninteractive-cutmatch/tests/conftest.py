"""A server on a free port, and clients of nninteractive-client, as published."""

import contextlib
import socket
import threading
import time

import numpy as np
import pytest
import uvicorn
from nnInteractive.inference.remote import nnInteractiveRemoteInferenceSession
from nninteractive_cutmatch.leases import Leases
from nninteractive_cutmatch.server import compile_kernels, make_app

SHAPE = (40, 48, 44)


@contextlib.contextmanager
def serving(most=4, idle=600.0, alive=60.0, key=None, bytes_of_array=1 << 28):
    """The address of a running server, and its sessions."""
    leases = Leases(most, idle, alive)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(make_app(leases, key, bytes_of_array), port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}", leases
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def address():
    compile_kernels()
    with serving() as (address, _):
        yield address


@pytest.fixture
def client(address):
    with nnInteractiveRemoteInferenceSession(address) as client:
        yield client


def ball(centre, radius, shape=SHAPE):
    grid = np.ogrid[tuple(slice(0, n) for n in shape)]
    return sum((axis - place) ** 2 for axis, place in zip(grid, centre, strict=True)) < radius**2


@pytest.fixture(scope="session")
def scene():
    """A volume with two equal balls, and the first of them."""
    truth = ball((20, 18, 16), 10)
    noise = np.random.default_rng(0).normal(0, 12, SHAPE)
    return (100 + 60.0 * (truth | ball((20, 34, 34), 7)) + noise).astype(np.float32), truth


@pytest.fixture
def opened(client, scene):
    """A client with the volume."""
    client.set_image(scene[0][None], {"spacing": np.ones(3)})
    client.set_target_buffer(np.zeros(SHAPE, np.uint8))
    return client


def dice(mask, truth):
    return 2 * np.count_nonzero((mask > 0) & truth) / (np.count_nonzero(mask) + np.count_nonzero(truth))
