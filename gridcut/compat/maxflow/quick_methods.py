"""add_edge, add_tedge and get_segment as machine code, since entering a Python function takes as long as PyMaxflow's.

llvmlite compiles them when the first graph is made.  Each is a C function of the kind METH_FASTCALL | METH_KEYWORDS,

    PyObject *method(PyObject *self, PyObject **arguments, intptr_t count, PyObject *keywords)

which calls documented functions of Python by their addresses.  Any call that is not plain, also one that is wrong, is
passed on to the method's Python function.

Numbers and bytes are read from the objects themselves, as the macros of Python's headers do, if `_places_of_values`
finds them where these versions of Python have them: seven calls take as long as the rest of a method.
"""

import ctypes
import inspect
import sys
from ctypes import pythonapi
from functools import cache
from typing import Any, NamedTuple

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


class _Places(NamedTuple):
    """What is where the machine code reads it, in bytes from the address of an object."""

    tag_of_short_int: int  # at 16, for integers from 1 to 2^30 - 1, which are at 24; 0: unknown
    has_float: bool  # at 16
    has_bytes: bool  # their number at 16; of bytes the first at 32, of a bytearray its address at 40


@cache
def _places_of_values() -> _Places:
    """Try it with a few objects."""

    def at(thing, place: int, kind=ctypes.c_size_t):
        return kind.from_address(id(thing) + place).value

    tag = at(1, 16)
    short, others = (1, 2, 1000, 2**30 - 1), (0, -1, 2**30, -(2**30), 2**31, 2**60)
    is_right = all(at(one, 16) == tag and at(one, 24, ctypes.c_uint32) == one for one in short)
    is_right &= not any(at(one, 16) == tag for one in others)
    has_float = all(at(one, 16, ctypes.c_double) == one for one in (0.5, -3e300))
    array, few = bytearray(b"123456789"), b"123456"
    del array[:3]  # the first byte that counts is not the first one of its memory
    address = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object)(("PyByteArray_AsString", pythonapi))
    has_bytes = at(array, 16) == len(array) and ctypes.string_at(id(few) + 32, 6) == few and at(few, 16) == len(few)
    has_bytes &= at(array, 40) == address(array)
    return _Places(tag if is_right else 0, has_float, has_bytes)


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

    def at(self, address, place: int, kind):
        """What is `place` bytes behind an address."""
        return self.builder.load(self.builder.bitcast(self.builder.gep(address, [WORD(place)]), kind.as_pointer()))

    def either(self, condition, first, second):
        """The result of one of two functions."""
        found = []
        with self.builder.if_else(condition, likely=True) as branches:
            for branch, function in zip(branches, (first, second), strict=True):
                with branch:
                    found.append((function(), self.builder.block))
        chosen = self.builder.phi(found[0][0].type)
        for value, block in found:
            chosen.add_incoming(value, block)
        return chosen

    def is_of(self, given, kind: type):
        return self.builder.icmp_signed("==", self.at(given, 8, WORD), WORD(id(kind)))  # ob_type

    def short_int(self, given, other):
        """A positive integer below 2^30, or what `other` makes of the object."""
        if not (tag := _places_of_values().tag_of_short_int):
            return other()

        def is_tagged():
            return self.builder.icmp_signed("==", self.at(given, 16, WORD), WORD(tag))

        is_short = self.either(self.is_of(given, int), is_tagged, lambda: ir.IntType(1)(0))
        return self.either(is_short, lambda: self.builder.zext(self.at(given, 24, ir.IntType(32)), WORD), other)

    def node(self, given):
        number = self.short_int(given, lambda: self.call("PyLong_AsLongLong", WORD, given))
        self.need(self.builder.icmp_signed(">=", number, WORD(0)))
        return number

    def real(self, given):
        def converted():
            number = self.call("PyFloat_AsDouble", REAL, given)
            with self.builder.if_then(self.builder.fcmp_ordered("==", number, REAL(-1)), likely=False):
                self.need(self.builder.not_(self.is_error()))
            return number

        if not _places_of_values().has_float:
            return converted()
        return self.either(self.is_of(given, float), lambda: self.at(given, 16, REAL), converted)

    def whole(self, given):
        """An integer, or a float cut to one; 1 ns tells Python's own floats, Python's error for a float takes 200."""

        def converted():
            number = self.call("PyLong_AsLongLong", WORD, given)
            is_known = self.builder.icmp_signed("!=", number, WORD(-1))
            return self.either(is_known, lambda: number, lambda: self.either(self.is_error(), cut, lambda: number))

        def cut():
            self.call("PyErr_Clear", NOTHING)
            return self.cut(given)

        def other():
            return self.either(self.is_of(given, float), lambda: self.cut(given), converted)

        return self.short_int(given, other)

    def is_error(self):
        return self.builder.not_(self.is_null(self.call("PyErr_Occurred", OBJECT)))

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
        header, size = self.bytes_of(edges, "PyByteArray")
        node_count, used = self.at(header, 0, WORD), self.at(header, 8, WORD)
        for end in ends:
            self.need(builder.icmp_signed("<", end, node_count))
        longer = builder.add(used, WORD(8 * len(given)))
        with builder.if_then(builder.icmp_signed(">", longer, size), likely=False):
            twice = builder.add(longer, longer)
            failed = self.call("PyByteArray_Resize", ir.IntType(32), edges, twice)
            self.need(builder.icmp_signed("==", failed, ir.IntType(32)(0)))
        header, _ = self.bytes_of(edges, "PyByteArray")
        place = builder.gep(header, [used])
        for number in (*ends, *capacities):
            builder.store(number, builder.bitcast(place, number.type.as_pointer()))
            place = builder.gep(place, [WORD(8)])
        builder.store(longer, builder.bitcast(builder.gep(header, [WORD(8)]), WORD.as_pointer()))
        self.give(self.object_at(None))

    def give(self, thing) -> None:
        """Return a constant of Python."""
        if sys.version_info < (3, 12):  # later, references to them are not counted
            self.call("Py_IncRef", NOTHING, thing)
        self.builder.ret(thing)

    def bytes_of(self, thing, kind: str) -> tuple:
        """Address and number of the bytes of a "PyBytes" or a "PyByteArray"."""
        if not _places_of_values().has_bytes:
            return self.call(f"{kind}_AsString", OBJECT, thing), self.call(f"{kind}_Size", WORD, thing)
        is_array = kind == "PyByteArray"
        start = self.at(thing, 40, OBJECT) if is_array else self.builder.gep(thing, [WORD(32)])
        return start, self.at(thing, 16, WORD)

    def look_up(self, segments: int) -> None:
        """The byte at a node of what the slot `segments` holds."""
        builder = self.builder
        node = self.node(*self.given(1))
        held = self.slot(segments)
        start, size = self.bytes_of(held, "PyBytes")
        self.need(builder.icmp_signed("<", node, size))
        is_zero = builder.icmp_signed("==", builder.load(builder.gep(start, [node])), ir.IntType(8)(0))
        self.give(builder.select(is_zero, self.object_at(0), self.object_at(1)))
