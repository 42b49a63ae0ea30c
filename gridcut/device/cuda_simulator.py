"""Makes numba's CUDA simulator (NUMBA_ENABLE_CUDASIM=1) fit for tests.

As numba has it, all threads of a block run at once under the interpreter's lock, its atomics exclude one another only
per operation, it has no warps, its new arrays hold whatever memory held, and device functions look for `cuda` anew at
every call.  Here

    turns       one thread of a block runs at a time, until it waits for others, naps, or at every 16th atomic
                operation or so, drawn from a fixed seed: runs are the same every time
    exchange    what the threads of a warp show each other
    new arrays  hold the least or the largest number of their type: who reckons with one unset overflows, every time
    Cuda        numba.cuda with, while a kernel runs, what only kernels have

Threads that all wait for one another are an error at once.
"""

import threading
from collections import deque
from random import Random

import numpy as np
from numba import cuda
from numba.cuda.simulator import kernel, kernelapi
from numba.cuda.simulator.cudadrv.devicearray import FakeWithinKernelCUDAArray

WARP = 32
ATOMICS = "add sub and_ or_ xor max min compare_and_swap cas inc dec exch".split()
BLOCK = -1  # the party of all threads of a block; others are numbers of warps


class Cuda:
    """numba.cuda, for the host and for kernels."""

    def __getattr__(self, name):
        running = kernel._kernel_context
        return getattr(cuda if running is None else running, name)


class Thread(threading.Thread):
    """One thread of a block; what numba's simulator expects of it, and whose turn it is."""

    def __init__(self, block, block_index, index, work):
        super().__init__(daemon=True)
        self.block = block
        self.blockIdx, self.threadIdx = kernelapi.Dim3(*block_index), kernelapi.Dim3(*index)
        width, height, _ = block.shape
        self.thread_id = index[0] + width * (index[1] + height * index[2])
        self.work = work
        self.turn = threading.Lock()
        self.turn.acquire()

    def run(self):
        try:
            self.wait()
            self.work()
        except Exception as error:
            if self.block.failure is None:
                error.add_note(f"in thread {tuple(self.threadIdx)} of block {tuple(self.blockIdx)}")
                self.block.failure = error
        finally:
            self.block.leave()

    def wait(self):
        """Until it is this thread's turn."""
        self.turn.acquire()
        if self.block.failure is not None:
            raise RuntimeError("another thread of the block has failed")

    def syncthreads(self):
        self.block.barrier(self, BLOCK, None)

    def syncthreads_count(self, value):
        return sum(map(bool, self.block.barrier(self, BLOCK, value).values()))

    def syncthreads_and(self, value):
        return int(all(self.block.barrier(self, BLOCK, value).values()))

    def syncthreads_or(self, value):
        return int(any(self.block.barrier(self, BLOCK, value).values()))


class Block:
    """Runs the threads of a block by turns; in the place of numba's BlockManager."""

    def __init__(self, function, grid_dim, block_dim, debug):
        self.function, self.shape = function, block_dim
        self.ready = deque()
        self.running = 0
        self.barriers = {}  # party: what each thread brought, by its number; the threads that wait
        self.failure = None
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self, block_index, *args):
        args = [a._item._ary if isinstance(a, FakeWithinKernelCUDAArray) else a for a in args]
        self.random = Random(str(block_index))
        threads = [Thread(self, block_index, index, lambda: self.function(*args)) for index in np.ndindex(*self.shape)]
        self.ready.extend(threads)
        self.running = len(threads)
        for thread in threads:
            thread.start()
        self.run_next()
        self.finished.acquire()
        if self.failure is not None:
            raise self.failure

    def run_next(self):
        """Let the next thread run."""
        if not self.ready and self.barriers:
            if self.failure is None:
                self.failure = RuntimeError("the threads of a block wait for one another")
            self.release_all()
        if self.ready:
            self.ready.popleft().turn.release()
        else:
            self.finished.release()

    def yield_turn(self, thread):
        """Let the others run first."""
        if self.ready:
            self.ready.append(thread)
            self.run_next()
            thread.wait()

    def barrier(self, thread, group, value):
        """Wait until all threads of the party are here; what they brought."""
        values, waiting = self.barriers.setdefault(group, ({}, []))
        values[thread.thread_id] = value
        if len(values) == (self.running if group == BLOCK else WARP):
            del self.barriers[group]
            self.ready.extend(waiting)
        else:
            waiting.append(thread)
            self.run_next()
            thread.wait()
        return values

    def leave(self):
        """The end of a thread."""
        self.running -= 1
        if self.failure is not None:
            self.release_all()
        elif BLOCK in self.barriers and len(self.barriers[BLOCK][0]) == self.running:
            self.ready.extend(self.barriers.pop(BLOCK)[1])
        self.run_next()

    def release_all(self):
        for _, waiting in self.barriers.values():
            self.ready.extend(waiting)
        self.barriers.clear()


def exchange(value):
    """The values of the threads of a warp, in the order of the lanes; all of them must take part."""
    thread = threading.current_thread()
    warp = thread.thread_id // WARP
    values = thread.block.barrier(thread, warp, value)
    return [values[warp * WARP + lane] for lane in range(WARP)]


def yield_turn():
    """Let the other threads of the block run first."""
    thread = threading.current_thread()
    thread.block.yield_turn(thread)


def _interrupted(operation):
    def call(self, *args):
        thread = threading.current_thread()
        if thread.block.random.random() < 1 / 16:
            thread.block.yield_turn(thread)
        return operation(self, *args)

    return call


class Numpy:
    """numpy, whose new arrays are no longer whatever memory held; for the simulator's local and shared arrays."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype):
        limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
        return np.full(shape, threading.current_thread().block.random.choice((limits.min, limits.max)), dtype)


kernel.BlockManager = Block
kernelapi.np = Numpy()
kernelapi.FakeCUDAModule.nanosleep = lambda self, nanoseconds: yield_turn()
for _name in ATOMICS:
    setattr(kernelapi.FakeCUDAAtomic, _name, _interrupted(getattr(kernelapi.FakeCUDAAtomic, _name)))
