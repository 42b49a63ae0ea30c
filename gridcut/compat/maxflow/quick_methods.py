"""add_edge, add_tedge and get_segment as machine code, since entering a Python function takes as long as PyMaxflow's.

llvmlite compiles them when the first graph is made.  Each is a C function of the kind METH_FASTCALL | METH_KEYWORDS,

    PyObject *method(PyObject *self, PyObject **arguments, intptr_t count, PyObject *keywords)

which calls documented functions of Python by their addresses.  Any call that is not plain, also one that is wrong, is
passed on to the method's Python function.
"""

import ctypes
import inspect
import sys
from ctypes import pythonapi
from functools import cache
from typing import Any

from llvmlite import binding, ir

from gridcut.compat.maxflow.packed_edges import SLOTS

WORD, REAL, OBJECT, NOTHING = ir.IntType(64), ir.DoubleType(), ir.IntType(8).as_pointer(), ir.VoidType()
METHOD = ir.FunctionType(OBJECT, (OBJECT, OBJECT.as_pointer(), WORD, OBJECT))
FASTCALL_WITH_KEYWORDS = 0x80 | 0x02
_kept: list[Any] = []  # what Python holds addresses of
_done: set[type] = set()


class _Definition(ctypes.Structure):  # PyMethodDef
    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("kind", ctypes.c_int), ("doc", ctypes.c_char_p))


def make_quick(graphs: type, has_floats: bool) -> None:
    """Replace these methods of a class, under all names that it has for them, unless it defines them itself.

    graphs      a class with SLOTS as `_Network` has them; _add_edge, _add_tedge and _get_segment are Python functions
    has_floats  whether capacities are floats; else int64
    """
    if graphs in _done or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return  # without the lock, two threads might add to one graph at the same time
    _done.add(graphs)
    new = pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
    functions = {getattr(graphs, f"_{name}"): code for name, code in _addresses(has_floats, _places(graphs)).items()}
    for alias, function in inspect.getmembers(graphs, inspect.isfunction):
        if function in functions and not alias.startswith("_"):
            doc = f"{alias}({', '.join(inspect.signature(function).parameters)})\n--\n\n{function.__doc__}"
            made = _Definition(alias.encode(), functions[function], FASTCALL_WITH_KEYWORDS, doc.encode())
            _kept.append(made)
            setattr(graphs, alias, new(graphs, ctypes.addressof(made)))


def _places(graphs: type) -> tuple[int, ...]:
    """Where graphs have their SLOTS, in bytes from their address; reading an attribute by name takes 13 ns."""
    graph: Any = object.__new__(graphs)
    for name in SLOTS:
        setattr(graph, name, name)
    words = list((ctypes.c_size_t * (graphs.__basicsize__ // 8)).from_address(id(graph)))
    return tuple(8 * words.index(id(name)) for name in SLOTS)


@cache
def _addresses(has_floats: bool, places: tuple[int, ...]) -> dict[str, int]:
    """The machine code of each method."""
    module = ir.Module()
    module.triple = binding.get_default_triple()
    _Code(module, "add_edge").store(2, places[0], has_floats)
    _Code(module, "add_tedge").store(1, places[1], has_floats)
    _Code(module, "get_segment").look_up(places[2])
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(str(module)), machine)
    engine.finalize_object()
    _kept.append(engine)
    return {name: engine.get_function_address(name) for name in ("add_edge", "add_tedge", "get_segment")}


class _Code:
    """The code of one method, which leaves for its Python function wherever `need` is false."""

    def __init__(self, module, name: str):
        function = ir.Function(module, METHOD, name)
        self.builder = ir.IRBuilder(function.append_basic_block())
        self.this, self.arguments, self.count, self.keywords = function.args
        self.python = function.append_basic_block("python")
        with self.builder.goto_block(self.python):
            self.call("PyErr_Clear", NOTHING)
            method = self.call("PyObject_GetAttr", OBJECT, self.this, self.object_at(sys.intern(f"_{name}")))
            found = self.call("PyObject_Vectorcall", OBJECT, method, self.arguments, self.count, self.keywords)
            self.call("Py_DecRef", NOTHING, method)
            self.builder.ret(found)

    def call(self, name: str, result, *arguments):
        """Call a function of Python."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments]).as_pointer()
        address = ctypes.cast(getattr(pythonapi, name), ctypes.c_void_p).value
        return self.builder.call(self.builder.inttoptr(WORD(address), kind), arguments)

    def object_at(self, thing):
        """A Python object, which must live as long as the code."""
        _kept.append(thing)
        return self.builder.inttoptr(WORD(id(thing)), OBJECT)

    def need(self, condition) -> None:
        rest = self.builder.append_basic_block()
        self.builder.cbranch(condition, rest, self.python)
        self.builder.position_at_end(rest)

    def is_null(self, pointer):
        return self.builder.icmp_signed("==", self.builder.ptrtoint(pointer, WORD), WORD(0))

    def given(self, count: int) -> list:
        """The arguments of a plain call."""
        self.need(self.builder.icmp_signed("==", self.count, WORD(count)))
        self.need(self.is_null(self.keywords))
        return [self.builder.load(self.builder.gep(self.arguments, [WORD(place)])) for place in range(count)]

    def slot(self, place: int):
        """What a slot of the graph holds, which keeps it."""
        slot = self.builder.gep(self.this, [WORD(place)])
        found = self.builder.load(self.builder.bitcast(slot, OBJECT.as_pointer()))
        self.need(self.builder.not_(self.is_null(found)))
        return found

    def node(self, given):
        number = self.call("PyLong_AsLongLong", WORD, given)
        self.need(self.builder.icmp_signed(">=", number, WORD(0)))
        return number

    def real(self, given):
        number = self.call("PyFloat_AsDouble", REAL, given)
        with self.builder.if_then(self.builder.fcmp_ordered("==", number, REAL(-1)), likely=False):
            self.need(self.is_null(self.call("PyErr_Occurred", OBJECT)))
        return number

    def whole(self, given):
        """An integer, or a float cut to one; 1 ns tells Python's own floats, Python's error for a float takes 200."""
        builder = self.builder
        place = builder.alloca(WORD)
        kind = builder.load(builder.gep(builder.bitcast(given, WORD.as_pointer()), [WORD(1)]))  # ob_type
        with builder.if_else(builder.icmp_signed("==", kind, WORD(id(float)))) as (is_float, is_other):
            with is_float:
                builder.store(self.cut(given), place)
            with is_other:
                builder.store(number := self.call("PyLong_AsLongLong", WORD, given), place)
                with builder.if_then(builder.icmp_signed("==", number, WORD(-1)), likely=False):
                    with builder.if_then(builder.not_(self.is_null(self.call("PyErr_Occurred", OBJECT)))):
                        self.call("PyErr_Clear", NOTHING)
                        builder.store(self.cut(given), place)
        return builder.load(place)

    def cut(self, given):
        """A float cut to an integer."""
        number = self.real(given)
        self.need(self.builder.fcmp_ordered("<", number, REAL(2.0**63)))
        self.need(self.builder.fcmp_ordered(">", number, REAL(-(2.0**63))))
        return self.builder.fptosi(number, WORD)

    def store(self, nodes: int, packed: int, has_floats: bool) -> None:
        """Append nodes and two capacities to the bytearray in a slot (gridcut/compat/maxflow/packed_edges.py)."""
        builder = self.builder
        given = self.given(nodes + 2)
        ends = [self.node(one) for one in given[:nodes]]
        capacities = [self.real(one) if has_floats else self.whole(one) for one in given[nodes:]]
        if nodes == 2:  # negative and NaN are errors
            for one in capacities:
                self.need(
                    builder.fcmp_ordered(">=", one, REAL(0)) if has_floats else builder.icmp_signed(">=", one, WORD(0))
                )
        edges = self.slot(packed)
        header = builder.bitcast(self.call("PyByteArray_AsString", OBJECT, edges), WORD.as_pointer())
        node_count, used = builder.load(header), builder.load(builder.gep(header, [WORD(1)]))
        for end in ends:
            self.need(builder.icmp_signed("<", end, node_count))
        size = self.call("PyByteArray_Size", WORD, edges)
        longer = builder.add(used, WORD(8 * len(given)))
        with builder.if_then(builder.icmp_signed(">", longer, size), likely=False):
            twice = builder.add(longer, longer)
            failed = self.call("PyByteArray_Resize", ir.IntType(32), edges, twice)
            self.need(builder.icmp_signed("==", failed, ir.IntType(32)(0)))
        header = self.call("PyByteArray_AsString", OBJECT, edges)
        place = builder.gep(header, [used])
        for number in (*ends, *capacities):
            builder.store(number, builder.bitcast(place, number.type.as_pointer()))
            place = builder.gep(place, [WORD(8)])
        builder.store(longer, builder.bitcast(builder.gep(header, [WORD(8)]), WORD.as_pointer()))
        none = self.object_at(None)
        if sys.version_info < (3, 12):  # later, references to None are not counted
            self.call("Py_IncRef", NOTHING, none)
        builder.ret(none)

    def look_up(self, segments: int) -> None:
        """The byte at a node of what the slot `segments` holds."""
        builder = self.builder
        node = self.node(*self.given(1))
        held = self.slot(segments)
        self.need(builder.icmp_signed("<", node, self.call("PyBytes_Size", WORD, held)))
        byte = builder.load(builder.gep(self.call("PyBytes_AsString", OBJECT, held), [node]))
        builder.ret(self.call("PyLong_FromLongLong", OBJECT, builder.zext(byte, WORD)))
