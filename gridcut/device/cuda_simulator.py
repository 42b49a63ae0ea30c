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

    def __init__(self, block, place, index, work):
        super().__init__(daemon=True)
        self.block = block
        self.blockIdx, self.threadIdx = kernelapi.Dim3(*place), kernelapi.Dim3(*index)
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
        self.block.meet(self, BLOCK, None)

    def syncthreads_count(self, value):
        return sum(map(bool, self.block.meet(self, BLOCK, value).values()))

    def syncthreads_and(self, value):
        return int(all(self.block.meet(self, BLOCK, value).values()))

    def syncthreads_or(self, value):
        return int(any(self.block.meet(self, BLOCK, value).values()))


class Block:
    """Runs the threads of a block by turns; in the place of numba's BlockManager."""

    def __init__(self, function, grid_dim, block_dim, debug):
        self.function, self.shape = function, block_dim
        self.ready = deque()
        self.live = 0
        self.meetings = {}  # party: what each thread brought, by its number; the threads that wait
        self.failure = None
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self, place, *args):
        args = [a._item._ary if isinstance(a, FakeWithinKernelCUDAArray) else a for a in args]
        self.random = Random(str(place))
        threads = [Thread(self, place, index, lambda: self.function(*args)) for index in np.ndindex(*self.shape)]
        self.ready.extend(threads)
        self.live = len(threads)
        for thread in threads:
            thread.start()
        self.pass_on()
        self.finished.acquire()
        if self.failure is not None:
            raise self.failure

    def pass_on(self):
        """Let the next thread run."""
        if not self.ready and self.meetings:
            if self.failure is None:
                self.failure = RuntimeError("the threads of a block wait for one another")
            self.release_all()
        if self.ready:
            self.ready.popleft().turn.release()
        else:
            self.finished.release()

    def give_way(self, me):
        """Let the others run first."""
        if self.ready:
            self.ready.append(me)
            self.pass_on()
            me.wait()

    def meet(self, me, party, value):
        """Wait until all threads of the party are here; what they brought."""
        brought, waiting = self.meetings.setdefault(party, ({}, []))
        brought[me.thread_id] = value
        if len(brought) == (self.live if party == BLOCK else WARP):
            del self.meetings[party]
            self.ready.extend(waiting)
        else:
            waiting.append(me)
            self.pass_on()
            me.wait()
        return brought

    def leave(self):
        """The end of a thread."""
        self.live -= 1
        if self.failure is not None:
            self.release_all()
        elif BLOCK in self.meetings and len(self.meetings[BLOCK][0]) == self.live:
            self.ready.extend(self.meetings.pop(BLOCK)[1])
        self.pass_on()

    def release_all(self):
        for _, waiting in self.meetings.values():
            self.ready.extend(waiting)
        self.meetings.clear()


def exchange(value):
    """The values of the threads of a warp, in the order of the lanes; all of them must take part."""
    me = threading.current_thread()
    warp = me.thread_id // WARP
    brought = me.block.meet(me, warp, value)
    return [brought[warp * WARP + lane] for lane in range(WARP)]


def give_way():
    """Let the other threads of the block run first."""
    me = threading.current_thread()
    me.block.give_way(me)


def _interrupted(operation):
    def call(self, *args):
        me = threading.current_thread()
        if me.block.random.random() < 1 / 16:
            me.block.give_way(me)
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
kernelapi.FakeCUDAModule.nanosleep = lambda self, nanoseconds: give_way()
for _name in ATOMICS:
    setattr(kernelapi.FakeCUDAAtomic, _name, _interrupted(getattr(kernelapi.FakeCUDAAtomic, _name)))
