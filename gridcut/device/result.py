"""Base classes of all results: copies, pickles without GPU memory, a one-line repr, tables for notebooks."""

from base64 import b64encode
from dataclasses import fields, replace
from html import escape
from typing import Any

from gridcut.device.arrays import on_device, to_host

MAX_REPR_LENGTH = 60  # characters per value
MAX_ENTRIES = 4  # of a dict or a sequence


class Result:
    """Base of the frozen dataclasses that solvers return; a subclass passes ``eq=False, repr=False`` to `dataclass`.

    Results are compared by identity, since arrays have no single truth value: ``==`` means ``is``, and results are
    hashable.  `copy.copy` shares all arrays.  Pickles and deep copies are on the host: arrays on a GPU are copied
    there.
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

    def _shown(self) -> dict:
        """The values of the public fields, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.repr}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={brief(value)}" for name, value in self._shown().items())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        """A table of the fields, for notebooks."""
        cells = "".join(
            f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{_html(value)}</td></tr>'
            for name, value in self._shown().items()
        )
        return f"<b>{type(self).__name__}</b><table>{cells}</table>"


class GridResult(Result):
    """Base of results with a value per pixel, which notebooks show as a figure."""

    __slots__ = ()

    def _figure(self):
        """The figure of this result, in a form that `gridcut.device.figures` accepts."""
        from gridcut.device.figures import plane

        return plane(self.labels)  # type: ignore[attr-defined]

    def _repr_png_(self) -> bytes | None:
        """A thumbnail, for notebooks; None if there are no pixels."""
        from gridcut.device.figures import png, thumbnail

        figure = self._figure()
        return png(thumbnail(figure)) if figure.size else None

    def _headline(self) -> str:
        """The result in a few words."""
        return type(self).__name__

    def _repr_html_(self) -> str:
        """A thumbnail, and the table of the fields, folded below a headline."""
        data = self._repr_png_()
        table = super()._repr_html_()
        if data is None:
            return table
        image = f'<img alt="{type(self).__name__}" src="data:image/png;base64,{b64encode(data).decode()}">'
        return f"{image}<details><summary>{escape(self._headline())}</summary>{table}</details>"

    def plot(self, ax: Any = None, image: Any = None) -> Any:
        """Draw the result with matplotlib; of a volume, the slice with the most values besides 0.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default the current ones.
        image : array_like, optional
            Image of the same size, to draw below: a mask becomes an outline, and anything else a tint.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If `ax` is None and matplotlib is not installed.
        """
        from gridcut.device.figures import axes_or_current, coloured

        ax = axes_or_current(ax)
        figure = self._figure()
        aspect = "auto" if figure.shape[0] == 1 else "equal"
        if image is not None:
            ax.imshow(image, cmap="gray", aspect=aspect)
        if image is not None and figure.dtype.kind == "b":
            ax.contour(figure, [0.5], colors="red")
        elif figure.size:
            alpha = None if image is None else 0.5
            ax.imshow(coloured(figure), interpolation="nearest", aspect=aspect, alpha=alpha)
        return ax


def _restored(kind: type, values: list):
    return kind(*values)


def brief(value) -> str:
    """A value in one short line: arrays by dtype and shape, results by name, long texts and collections truncated."""
    if isinstance(value, Result):
        length = f", length {len(value)}" if hasattr(value, "__len__") else ""
        return f"<{type(value).__name__}{length}>"
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        return f"<{value.dtype}, shape {tuple(value.shape)}>"
    if isinstance(value, dict):
        shown = [f"{key!r}: {_entry(item)}" for key, item in value.items()]
        return "{" + _first(shown) + "}"
    if type(value) in (tuple, list):
        brackets = "()" if isinstance(value, tuple) else "[]"
        comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return brackets[0] + _first([_entry(item) for item in value]) + comma + brackets[1]
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_REPR_LENGTH else text[: MAX_REPR_LENGTH - 3] + "..."


def _entry(item) -> str:
    """An entry of a dict or sequence; floats with four significant digits, nested dicts collapsed."""
    if isinstance(item, float):
        return f"{item:.4g}"
    return "{...}" if isinstance(item, dict) and item else brief(item)


def _first(entries: list[str]) -> str:
    more = len(entries) - MAX_ENTRIES
    return ", ".join(entries if more <= 0 else [*entries[:MAX_ENTRIES], f"... {more} more"])


def _html(value) -> str:
    """A value in a cell of a table; a dict with one line per entry."""
    if isinstance(value, dict):
        return "<br>".join(
            escape(f"{key}: {brief(item) if isinstance(item, dict) else _entry(item)}") for key, item in value.items()
        )
    return escape(brief(value))
