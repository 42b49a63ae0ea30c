"""Tables of pandas, which is imported only when a table is asked for; those of callers are recognised by interface."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard


class DataFrame(Protocol):
    """What is used of a pandas.DataFrame, or of one of polars."""

    @property
    def columns(self) -> Any: ...
    def __getitem__(self, column: Any, /) -> Any: ...
    def to_numpy(self) -> Any: ...


def is_data_frame(value: object) -> TypeGuard[DataFrame]:
    """Whether `value` has the interface of a DataFrame."""
    return all(hasattr(value, name) for name in ("columns", "__getitem__", "to_numpy"))


def data_frame(columns: Mapping) -> Any:
    """A pandas.DataFrame of columns of the same length; ImportError without pandas."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas, which cannot be imported; pip install pandas") from error
    return pandas.DataFrame(dict(columns))
