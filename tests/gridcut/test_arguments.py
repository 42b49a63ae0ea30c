"""The small checkers that parameters of all packages go through."""

import numpy as np
import pytest

from gridcut.device.arguments import check_count, plain_array


@pytest.mark.parametrize("value", ["2", 2.5, 2.0, True, np.True_, None, [2], 1j, np.float64(2)])
def test_other_types_are_not_counts(value):
    with pytest.raises(TypeError, match=r"threads must be an integer, got .*"):
        check_count("threads", value)


def test_masks_of_arrays_are_not_dropped():
    masked = np.ma.MaskedArray([1, 2, 3], [False, True, True])
    with pytest.raises(TypeError, match=r"source is a masked array with 2 masked entries.*mask=~a\.mask"):
        plain_array("source", masked)
    assert type(plain_array("source", np.ma.MaskedArray([1, 2]))) is np.ndarray
    with pytest.raises(TypeError, match="source must be an array of numbers, got list"):
        plain_array("source", [[1, 2], [3]])


class Tensor:
    """What numpy gets of a tensor that it cannot read, by PyTorch's text."""

    reason = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError(f"{self.reason}\nand a second line")


def test_the_reason_of_the_other_library_is_said():
    with pytest.raises(TypeError, match="source must be an array of numbers, got Tensor: ") as found:
        plain_array("source", Tensor())
    assert str(found.value).endswith(Tensor.reason)
    assert isinstance(found.value.__cause__, RuntimeError)
    with pytest.raises(TypeError, match="got list: setting an array element with a sequence"):
        plain_array("source", [[1, 2], [3]])


def test_numbers_of_tables_are_read():
    pandas = pytest.importorskip("pandas")
    large = 2**62 + 1  # as a float, it would be rounded
    for numbers, kind in (([large, 2], "Int64"), ([0.5, 2.0], "Float64"), ([True, False], "boolean")):
        array = plain_array("source", pandas.DataFrame({"a": numbers, "b": numbers[::-1]}, dtype=kind))
        assert array.dtype == np.array(numbers).dtype
        assert array.tolist() == [[numbers[0], numbers[1]], [numbers[1], numbers[0]]]
    with pytest.raises(TypeError, match="source must be an array of numbers, got DataFrame: .*NAType"):
        plain_array("source", pandas.DataFrame({"a": [1, None]}, dtype="Int64").astype(object))


def test_registered_types_are_widened():
    """One that numpy has for its own tests."""
    rational = pytest.importorskip("numpy._core._rational_tests").rational
    array = plain_array("source", np.array([rational(1, 2), rational(3, 1)]))
    assert (array.dtype, array.tolist()) == (np.float64, [0.5, 3.0])


def test_types_of_ml_dtypes_are_widened_without_loss():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, wide in (("bfloat16", np.float32), ("float8_e5m2", np.float32), ("int4", np.int32), ("uint4", np.int32)):
        array = plain_array("source", np.arange(5).astype(getattr(ml_dtypes, name)))
        assert array.dtype == wide
        assert array.tolist() == [0, 1, 2, 3, 4]
    array = np.ones(3, np.complex64).astype(ml_dtypes.complex32)
    assert plain_array("source", array) is array
