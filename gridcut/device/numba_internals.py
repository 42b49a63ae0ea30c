"""The names of numba that its documentation does not promise, all of them; numba_cuda_internals.py uses those of CUDA.

`INTERNALS` lists them: who has the name, what it is for, what happens in a version without it, and the versions it was
seen in.  Where kernels can do without, they are slower or not stored, and right.  Otherwise an ImportError says which
name this version lacks.  No other file of the product uses such a name (tests/repository/test_private_names.py), and
tests/gridcut/test_numba_internals.py says which ones a new version lacks.
"""

import hashlib
import io
import pickle
import re
import signal
import sys
import threading
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from llvmlite import binding
from numba import types
from numba.core import cgutils

# Interrupts that wait until a step is whole.
#
# LLVM calls numba back while it finalises machine code, and a KeyboardInterrupt that Python raises in such a call
# ends the process with a segmentation fault.  So does one between two lines of llvmlite that free a string.  The
# handlers of signals wait there; a step takes milliseconds.

# Those whose handlers raise, on Ctrl-C, at the end of a service and after a time limit.
_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGBREAK") if hasattr(signal, name)]


class deferred:
    """A context in which signals are noted; their handlers, those in Python, run when it ends.

    Handlers run in the main thread only, so in other threads there is nothing to defer.
    """

    def __enter__(self):
        self._handlers, self._arrived = {}, {}
        if threading.current_thread() is threading.main_thread():
            try:
                for number in _NUMBERS:
                    handler = signal.getsignal(number)
                    if callable(handler):
                        self._handlers[number] = handler
                        signal.signal(number, self._note)
            except BaseException:  # an interrupt between two signals
                self._restore()
                raise

    def __exit__(self, *_):
        try:
            self._restore()
        finally:  # again, if a handler that has just been restored interrupted it
            self._restore()
        for number, frame in self._arrived.items():
            self._handlers[number](number, frame)

    def _note(self, number, frame):
        self._arrived[number] = frame

    def _restore(self):
        for number, handler in self._handlers.items():
            signal.signal(number, handler)


class Internal(NamedTuple):
    """A name that may change without notice."""

    owner: str  # a module, a class in one, or a kind of object
    name: str
    use: str
    without: str


SEEN = {  # by distribution
    "numba": "0.61.0 to 0.68.1",
    "numba-cuda": "0.30.4",
}
UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # in pickled intrinsics, another one in each process
_AGAIN = "every process compiles the kernels that it calls"
_CPU_OPTIONS, _CODE = "numba.core.cpu.CPUTargetOptions", "numba.core.codegen.JITCodeLibrary"
_THREADS = "numba.np.ufunc.parallel"
_DRIVER = "numba.cuda.cudadrv.driver"

CPU = (
    Internal(_CPU_OPTIONS, "_nrt", "no reference counts of arrays", "inner kernels are slower"),
    Internal(_CPU_OPTIONS, "forceinline", "callees in their callers", "inner kernels are slower"),
    Internal(_CPU_OPTIONS, "no_cpython_wrapper", "no unused code", "compilation is slower"),
    Internal(_CPU_OPTIONS, "no_cfunc_wrapper", "no unused code", "compilation is slower"),
    Internal(_CODE, "_finalize_final_module", "no interrupt while LLVM calls numba", "interrupts may crash"),
    Internal("llvmlite.binding.ffi.OutputString", "close", "frees a string once", "interrupts may crash"),
    Internal(_THREADS, "_get_num_threads", "a count without a lock", "an interrupt may leave the lock acquired"),
    Internal("a dispatcher", "get_call_template", "one version for all literals", "compilation is slower"),
    Internal("a dispatcher", "get_overload", "code without a wrapper for callers in kernels", "compilation is slower"),
    Internal("numba.core.compiler", "Compiler", "code that is optimised once", "compilation is slower"),
    Internal("numba.core.typed_passes", "NopythonRewrites", "no search for sums of arrays", "compilation is slower"),
    Internal("numba.core.types.BaseFunction", "get_call_type", "versions of operators", "compilation is slower"),
    Internal("numba.core.codegen", "JITCodeLibrary", "code that is optimised once", "compilation is slower"),
    Internal("numba.core.codegen.JITCodeLibrary", "_optimize_functions", "is left out", "compilation is slower"),
    Internal("numba.core.codegen.JITCodeLibrary", "_optimize_final_module", "is left out", "compilation is slower"),
    Internal("numba.core.codegen.JITCodeLibrary", "_finalize_final_module", "is left out", "compilation is slower"),
    Internal("a code generator", "_add_module", "defines variables of callees", "AttributeError"),
    Internal("a dispatcher", "_cache", "where kernels are looked up before they are compiled", _AGAIN),
    Internal("a dispatcher", "_compilation_chain_init_hook", "no extensions for stored code", "0.02 s a process"),
    Internal("a code generator", "magic_tuple", "the processor of machine code", _AGAIN),
    Internal("numba.core.caching", "CompileResultCacheImpl", "machine code to pickle, and back", _AGAIN),
    Internal("numba.core.serialize", "dumps", "pickles machine code and closures", _AGAIN),
    Internal("numba.core.environment", "Environment", "constants of stored code alone", "0.05 s a process"),
    Internal("numba.core.runtime", "rtsys", "starts the memory manager alone", "0.25 s a process"),
    Internal("numba.core.compiler_lock", "global_compiler_lock", "a fork waits for it", "a forked process may hang"),
    Internal("numba.core.cgutils", "get_item_pointer", "address of an array's element", "ImportError"),
    Internal("a context", "make_array", "fields of an array", "ImportError"),
)
CUDA = (
    Internal("numba.cuda.dispatcher", "CUDACacheImpl", "machine code to pickle, and back", _AGAIN),
    Internal("numba.cuda.serialize", "dumps", "pickles closures", _AGAIN),
    Internal("numba.cuda.utils", "numba_target_override", "the target while code is loaded", _AGAIN),
    Internal(_DRIVER, "_module_finalizer", "unloads shared code once", "after several GPUs, an exit may crash"),
    Internal(_DRIVER, "NumbaCUDAMemoryManager", "tells other libraries' memory managers apart", "memory is not pooled"),
    Internal("a GPU's context", "memory_manager", "frees memory that numba keeps", "it is freed later"),
    Internal("a GPU's context", "deallocations", "frees objects that numba keeps", "they are freed later"),
    Internal(_DRIVER, "MemoryPointer", "an address with its owner", "ImportError"),
    Internal("a device array", "_numba_type_", "its type, computed once per dtype", "ImportError"),
    Internal("a device array", "device_ctypes_pointer", "its address", "ImportError"),
    Internal("a device array", "gpu_data", "its memory, computed on demand", "launches by numba fail"),
    Internal("a device array", "alloc_size", "its bytes", "copies by numba fail"),
    Internal("a device array", "_dummy", "its strides, computed on demand", "slices by numba fail"),
    Internal("numba.cuda.cudadrv.dummyarray", "Array", "strides of an array, computed on demand", "ImportError"),
    Internal("a CUDA dispatcher", "typeof_pyval", "the types that a kernel is compiled for", "ImportError"),
    Internal("a compiled CUDA kernel", "library", "its handle, for launches by the driver", "ImportError"),
    Internal("a compiled CUDA kernel", "cooperative", "how it is launched", "ImportError"),
)


def missing(row: Internal) -> ImportError:
    """The error for a name that this version lacks."""
    package = "numba-cuda" if row in CUDA else "numba"
    return ImportError(
        f"{package} {version(package)} lacks {row.name} of {row.owner} ({row.use}); "
        f"cutmatch was tested with {package} {SEEN[package]}"
    )


def need(owner, name: str, rows: tuple[Internal, ...]) -> Any:
    """An attribute of an object; the ImportError of its row if this version lacks it."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise missing(next(row for row in rows if row.name == name)) from None


def found(module: str, name: str) -> Any:
    """A name of a module; None if there is none."""
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


# Compilation and threads

_options = found("numba.core.cpu", "CPUTargetOptions")


def _known(**options) -> dict:
    """Those of numba.njit's undocumented options that this version has."""
    return {name: value for name, value in options.items() if hasattr(_options, name)}


_ENVIRONMENT = "_ZN08NumbaEnv"  # begins the name of a variable of each function in machine code
_LIBRARY: Any = found("numba.core.codegen", "JITCodeLibrary") or object
_COMPILER: Any = found("numba.core.compiler", "Compiler") or object
_FUSION: Any = found("numba.core.typed_passes", "NopythonRewrites")


class _Entry(_LIBRARY):
    """Code that is optimised once, with that of its callees, and not also function by function before that."""

    def _optimize_functions(self, module):
        module.data_layout = self._codegen._data_layout


class _Callee(_Entry):
    """Code that only kernels call.  Each optimises its copy, so there is no machine code of it alone."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        names = [v.name for v in self._final_module.global_variables if v.name.startswith(_ENVIRONMENT)]
        self._variables = binding.parse_assembly("".join(f'@"{name}" = common global i64 0\n' for name in names))
        self._codegen._add_module(self._variables)
        self._finalized = True


def _into(library) -> dict:
    """The option by which numba compiles a function into a library of this kind."""

    class Compiler(_COMPILER):
        def __init__(self, typingctx, targetctx, given, *args):
            if given is None:
                given = library(targetctx.codegen(), library.__name__)
                given.enable_object_caching()
            super().__init__(typingctx, targetctx, given, *args)

        def define_pipelines(self):
            pipelines = super().define_pipelines()
            if not self.state.flags.nrt:  # sums of arrays would be new arrays
                for pipeline in pipelines:
                    pipeline.passes = [step for step in pipeline.passes if step[0] is not _FUSION]
                    pipeline.finalize()
            return pipelines

    return {} if object in (_LIBRARY, _COMPILER) else {"pipeline_class": Compiler}


ENTRY = _into(_Entry) | _known(no_cfunc_wrapper=True)  # for callers in C; saves a tenth of the time to compile a kernel
PLAIN = ENTRY | _known(_nrt=False)
CALLEE = _into(_Callee) | _known(no_cpython_wrapper=True, no_cfunc_wrapper=True)
INNER = CALLEE | _known(_nrt=False)
INLINED = INNER | _known(forceinline=True)


def choose_once(owner) -> None:
    """Let numba choose the version of an operator for each combination of kinds of numbers once, not at every use."""
    choose = getattr(owner, "get_call_type", None)
    if choose is None:
        return
    chosen: WeakKeyDictionary = WeakKeyDictionary()

    @wraps(choose)
    def get_call_type(self, context, args, kws):
        if kws or not all(isinstance(kind, types.Number | types.Boolean) for kind in args):
            return choose(self, context, args, kws)
        known = chosen.setdefault(self, {})
        key = context, *args
        if key not in known:
            known[key] = choose(self, context, args, kws)
        return known[key]

    owner.get_call_type = get_call_type


choose_once(found("numba.core.types", "BaseFunction"))


def for_all_values(dispatcher):
    """Let calls from other kernels compile one version for int64, not one more for every literal, as in f(x, -1)."""
    template = getattr(dispatcher, "get_call_template", None)
    if template is None:  # also a plain function, under NUMBA_DISABLE_JIT=1
        return dispatcher

    def get_call_template(args, kws):
        kinds = {name: types.unliteral(kind) for name, kind in kws.items()}
        return template(tuple(types.unliteral(kind) for kind in args), kinds)

    dispatcher.get_call_template = get_call_template
    return dispatcher


def called_as(dispatcher, inner):
    """Let calls of a dispatcher from other kernels use the code of another one of the same function."""
    if hasattr(dispatcher, "get_call_template"):
        dispatcher.get_call_template = for_all_values(inner).get_call_template
        dispatcher.get_overload = inner.get_overload
    return dispatcher


COMPILER_LOCK = found("numba.core.compiler_lock", "global_compiler_lock") or threading.RLock()

_threads = found("numba.np.ufunc", "parallel")


def thread_count_without_lock() -> int:
    """numba's number of threads, once they are started; else 0.

    numba.get_num_threads takes a lock of multiprocessing's at every call, to start the threads once.  An interrupt
    there can leave the lock acquired, and other threads would wait for it endlessly.
    """
    if getattr(_threads, "_is_initialized", False) and hasattr(_threads, "_get_num_threads"):
        return _threads._get_num_threads()
    return 0


def make_whole(owner, name: str) -> None:
    """Let interrupts wait while a method runs, if this version has it."""
    method = getattr(owner, name, None)
    if method is None:
        return

    @wraps(method)
    def whole(*arguments):
        with deferred():
            return method(*arguments)

    setattr(owner, name, whole)


make_whole(found("numba.core.codegen", "JITCodeLibrary"), "_finalize_final_module")
make_whole(found("llvmlite.binding.ffi", "OutputString"), "close")


# Stored machine code

dumps = found("numba.core.serialize", "dumps")
_Environment = found("numba.core.environment", "Environment")


class _Unpickler(pickle.Unpickler):
    """Reads machine code without importing numba's modules that implement the functions that are in it."""

    def find_class(self, module: str, name: str):
        if (module, name) == ("numba.core.environment", "_rebuild_env") and hasattr(_Environment, "_memo"):
            return _environment
        return super().find_class(module, name)


def loads(content: bytes) -> Any:
    """The value of a pickle."""
    return _Unpickler(io.BytesIO(content)).load()


def _environment(module: str, constants: list, name: str):
    """The constants of a function.  Its globals are for numba's object mode only, which no kernel uses."""
    known = _Environment._memo.get(name)
    if known is None:
        known = _Environment(vars(sys.modules[module]) if module in sys.modules else {})
        known.consts[:] = constants
        known.env_name = name
        _Environment._memo[name] = known
    return known


class CpuCode:
    """The machine code of one function, for each of its signatures, as values that `dumps` can pickle."""

    form = found("numba.core.caching", "CompileResultCacheImpl")
    dumps = staticmethod(dumps)
    needs = (form, dumps.__func__)  # None: a name that this version lacks

    def __init__(self, function, module: str):
        self._function = function
        self._form = object.__new__(self.form)  # its constructor would search for a folder
        self._form._lineno = function.__code__.co_firstlineno
        self._form._locator = SimpleNamespace(_py_file=module)  # named in numba's warning about code it cannot save

    def key(self, kinds, codegen) -> tuple | None:
        """Types, processor, and digests of bytecode and closure; None if the processor is unknown."""
        if not hasattr(codegen, "magic_tuple"):
            return None
        code, closure = self._function.__code__.co_code, self._function.__closure__
        values = b"" if closure is None else self.dumps(tuple(cell.cell_contents for cell in closure))
        values = UUID.sub(b"", values)
        return kinds, codegen.magic_tuple(), tuple(hashlib.sha256(part).hexdigest() for part in (code, values))

    def saved(self, compiled):
        """The value of compiled code; None, with numba's warning, if it contains addresses of this process."""
        return self._form.reduce(compiled) if self._form.check_cachable(compiled) else None

    @contextmanager
    def loading(self, context):
        """Context in which values are unpickled and passed to `loaded`."""
        # `refresh` also imports the modules that implement Python's and NumPy's functions, 0.25 s in every process.
        # Stored machine code needs only the memory manager; numba's compiler imports the modules itself.
        manager = found("numba.core.runtime", "rtsys")
        if hasattr(manager, "initialize"):
            manager.initialize(context)
        else:
            context.refresh()
        yield

    def loaded(self, context, value):
        """Compiled code from its value."""
        return self._form.rebuild(context, value)


def store(dispatcher, kernel_store) -> None:
    """Let numba look up a function in a `kernel_store` before it is compiled, if this version can store code."""
    if None not in (dumps, *kernel_store.code.needs) and hasattr(dispatcher, "_cache"):
        dispatcher._cache = kernel_store(dispatcher.py_func)
        if hasattr(dispatcher, "_compilation_chain_init_hook"):
            dispatcher._cache.before_compiling = dispatcher._compilation_chain_init_hook
            dispatcher._compilation_chain_init_hook = _do_nothing


def _do_nothing() -> None:
    pass


# Code of intrinsics: `context` and `builder` are those that numba passes to them


def array_data(context, builder, array_type, array):
    """The address of an array's first element."""
    return need(context, "make_array", CPU)(array_type)(context, builder, array).data


def item_pointer(context, builder, array_type, array, index, index_type):
    """The address of an element of a one-dimensional array, without a check of the index."""
    struct = need(context, "make_array", CPU)(array_type)(context, builder, array)
    index = context.cast(builder, index, index_type, types.intp)
    pointer = need(cgutils, "get_item_pointer", CPU)
    return pointer(context, builder, array_type, struct, [index], wraparound=False, boundscheck=False)
