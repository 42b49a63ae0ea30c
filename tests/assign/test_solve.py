"""assign.solve as a caller sees it: every kind of costs, orientation and option, against SciPy and the certificate."""

import numpy as np
import pytest
import scipy.sparse

import assign


def test_callback_may_stop():
    def stop(stats):
        assert isinstance(stats, dict)
        raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        assign.solve(np.random.default_rng(0).random((50, 50)), callback=stop)


@pytest.mark.parametrize(
    ("cost", "options", "error", "message"),
    [
        ([[1, np.nan]], {}, ValueError, "NaN; forbid a pair with .inf"),
        ([[1.0, -np.inf]], {}, ValueError, "cost must not hold -inf when it is minimised"),
        ([[1.0, np.inf]], {"maximize": True}, ValueError, "cost must not hold .inf when it is maximised"),
        (np.zeros((2, 2, 2)), {}, ValueError, "2 axes"),
        ([[1, 2], [3]], {}, (TypeError, ValueError), "cost"),
        (np.full((2, 2), 2**62), {}, ValueError, "so that prices fit int64"),
        (([0, 2, 1], [0, 1], [1, 2], (2, 2)), {}, ValueError, "indptr"),
        ([[1 + 2j]], {}, TypeError, "dtype complex128"),
        ([["a"]], {}, TypeError, "cost must be int32"),
        ([[1]], {"maximize": 1}, TypeError, "maximize must be True or False"),
        ([[1]], {"max_cost": np.inf}, ValueError, "max_cost must be finite"),
        ([[1]], {"max_cost": "a"}, TypeError, "max_cost must be a number"),
        ([[1]], {"max_cost": [1, 2]}, ValueError, "max_cost must be a number or one per row, 1, got shape"),
        ([[1]], {"mask": [[1]]}, TypeError, "mask must be a bool array"),
        ([[1]], {"mask": [[True, True]]}, ValueError, "mask must have the shape of cost"),
        (scipy.sparse.eye_array(2), {"mask": np.ones((2, 2), bool)}, ValueError, "mask requires dense costs"),
        (scipy.sparse.csr_array([[np.inf]]), {}, ValueError, "sparse costs must be finite"),
        (([0, 1], [0], [1], (1,)), {}, TypeError, "shape must be two integers"),
        (([0, 2], [0], [1], (1, 1)), {}, ValueError, "indptr must end at 1"),
        (([0, 1], [3], [1], (1, 1)), {}, ValueError, "indices must be from 0 to 0"),
        (([0, 2], [0, 0], [1, 2], (1, 1)), {}, ValueError, "twice in one row"),
        (([0, 1], [0.0], [1], (1, 1)), {}, TypeError, "indices must be a one-dimensional array of integers"),
        (([0, 1], [0], [1, 2], (1, 1)), {}, ValueError, "cost must have one entry per index"),
        ([[1]], {"method": 3}, TypeError, "method must be a name"),
        ([[1]], {"device": "gpu"}, ValueError, "device must be"),
        (
            [[1]],
            {"method": "cost_scaling", "beta": 2},
            TypeError,
            "unexpected parameter 'beta'; it accepts alpha, ",
        ),
        ([[1]], {"start": 3}, TypeError, "start must be an Assignment"),
        ([[1]], {"start": ([1, 2], [1])}, ValueError, "start must hold 1 and 1 prices"),
        ([[1]], {"start": ([np.nan], [1])}, ValueError, "start must hold finite prices"),
        (
            np.full((60, 60), 2**50),
            {"method": "cost_scaling"},
            ValueError,
            r"requires \|cost\| <= .*; use method=",
        ),
    ],
)
def test_bad_input(cost, options, error, message):
    with pytest.raises(error, match=message):
        assign.solve(cost, **options)


def test_infeasible_message_names_the_rows():
    cost = np.full((4, 4), np.inf)
    cost[:2, 1] = 1
    cost[2:] = 1
    expected = r"2 rows \(0, 1\) have only 1 allowed column \(1\) in total; allow more pairs, or pass max_cost to"
    with pytest.raises(assign.InfeasibleError, match=expected) as caught:
        assign.solve(cost)
    assert caught.value.rows.tolist() == [0, 1]
    with pytest.raises(assign.InfeasibleError, match=r"[1-3] columns? \(.*\) ha(s|ve) no allowed row"):
        assign.solve(np.full((5, 3), np.inf))
