"""Base class of all results: shallow copies, pickles without GPU memory, and a one-line repr."""

from dataclasses import fields, replace

from gridcut.device.arrays import on_device, to_host

MAX_REPR_LENGTH = 60  # characters per value


class Result:
    """Base of the frozen dataclasses that solvers return; a subclass passes ``repr=False`` to `dataclass`.

    `copy.copy` shares all arrays.  Pickles and deep copies are on the host: arrays on a GPU are copied there.
    """

    __slots__ = ()

    def __copy__(self):
        return replace(self)

    def __reduce__(self):
        kind, values = self._portable()
        return _restored, (kind, [to_host(value) if on_device(value) else value for value in values])

    def _portable(self) -> tuple[type, list]:
        """The class of a pickled or deep copy, and the values of its fields."""
        return type(self), [getattr(self, f.name) for f in fields(self)]

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={brief(getattr(self, f.name))}" for f in fields(self) if f.repr)
        return f"{type(self).__name__}({shown})"


def _restored(kind: type, values: list):
    return kind(*values)


def brief(value) -> str:
    """A value in one line: arrays by dtype and shape, long strings truncated."""
    if isinstance(value, Result):
        return repr(value)
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        return f"<{value.dtype}, shape {tuple(value.shape)}>"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_rounded(item)}" for key, item in value.items()) + "}"
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_REPR_LENGTH else text[: MAX_REPR_LENGTH - 3] + "..."


def _rounded(item) -> str:
    """An entry of `stats`; floats with four significant digits."""
    return f"{item:.4g}" if isinstance(item, float) else brief(item)
