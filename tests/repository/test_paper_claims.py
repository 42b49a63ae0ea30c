"""The figures of docs/benchmarks/papers.md are those of its tables, and its totals those of its rows.

CLAIMS lists the values of a row, computed from benchmarks/results.  Each number of its last two cells must be one of
them, rounded as it is written there, and each of them must be there.  Numbers of names and settings are values too.
"""

import re
import unicodedata

import numpy as np
import pytest
import scipy.sparse

import assign
import matching
from gridcut.compat.scipy import maximum_flow
from tests.repository.figures_of_flows import ROOT, Column, lupinska, mean
from tests.repository.figures_of_gpu_matchings import MEASURED, europar, icpp
from tests.repository.figures_of_matchings import azad, fagginger_auer

TEXT = (ROOT / "docs/benchmarks/papers.md").read_text("utf-8")
ROW = re.compile(r"^\| ((?:Fig|Table|Eq|§|Abstract|Alg|Theorem).*) \|$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.^])-?\d+(?: \d{3})*(?:\.\d+)?(·10[⁰-⁹²³¹]+)?(?![\w^]|\.\d)")

CLAIMS = {
    "Łupińska": lupinska,
    "Azad": azad,
    "Deveci and others, ICPP": icpp,
    "Deveci and others, Euro-Par": europar,
    "Fagginger Auer": fagginger_auer,
}


def rows_of(paper: str) -> list[list[str]]:
    """The cells of a paper's rows."""
    (part,) = (part for part in TEXT.split("\n## ") if part.startswith(paper))
    return [row.split(" | ") for row in ROW.findall(part)]


def quoted(text: str) -> list[tuple[float, float]]:
    """The numbers of a text, and the rounding of each."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|2\^\d+|\d+×\d+|CT|V²E|\(fix, |\(adaptive, ", " ", text)
    found = [match.group().replace(" ", "").partition("·10") for match in NUMBER.finditer(text)]
    scaled = [(x, 10.0 ** int(unicodedata.normalize("NFKC", power) or 0)) for x, _, power in found]
    return [(float(x) * scale, 0.5 * scale * 10.0 ** -len(x.partition(".")[2])) for x, scale in scaled]


def numbers_of(row: list[str]) -> list[tuple[float, float]]:
    """The numbers of the cell "here" and those of the verdict that are not the paper's own."""
    own = quoted(" ".join(row[:2]))
    return quoted(row[4]) + [of for of in quoted(row[5]) if of not in own]


def fits(number: float, rounding: float, value: float) -> bool:
    """Rounded as quoted; counts exactly, while other values may be quotients of rounded ones."""
    slack = 0 if float(value).is_integer() else 0.006 * abs(value)
    return abs(number - value) <= rounding * 1.02 + slack


@pytest.mark.parametrize("paper", CLAIMS)
def test_figures_are_those_of_the_tables(paper):
    rows, wrong = rows_of(paper), []
    for says, values in CLAIMS[paper]().items():
        (row,) = (row for row in rows if row[1].startswith(says))
        numbers = numbers_of(row)
        wrong += [f"{says}: {n:g} is no value" for n, of in numbers if not any(fits(n, of, value) for value in values)]
        wrong += [f"{says}: {v:g} is not quoted" for v in values if not any(fits(n, of, v) for n, of in numbers)]
    assert not wrong


@pytest.mark.parametrize("paper", CLAIMS)
def test_every_row_with_a_figure_has_its_values(paper):
    values = CLAIMS[paper]()
    for row in rows_of(paper):
        assert not numbers_of(row) or any(row[1].startswith(says) for says in values), row[1]


def test_a_changed_figure_is_noticed():
    assert not any(fits(number, rounding, 3.61) for number, rounding in quoted("2.7 to 3.5 times"))
    assert fits(*quoted("11 301 phases")[0], 11_301)
    assert not fits(*quoted("11 302 phases")[0], 11_301)
    assert quoted("1.3·10⁵ of 3·10¹¹") == [(1.3e5, 0.5e4), (3e11, 0.5e11)]


def test_totals_are_those_of_the_rows():
    verdicts = ("holds", "holds in part", "does not hold", "cannot be told", "not implemented")
    total = [0] * (1 + len(verdicts))
    for paper in CLAIMS:
        found = [row[5].split(":")[0].strip() for row in rows_of(paper)]
        counts = [len(found), *(found.count(verdict) for verdict in verdicts)]
        assert sum(counts[1:]) == counts[0], set(found) - set(verdicts)
        assert re.search(rf"^\| {paper}[^|]* \| {' | '.join(map(str, counts))} \|$", TEXT, re.MULTILINE), (
            paper,
            counts,
        )
        total = [a + b for a, b in zip(total, counts, strict=True)]
    assert f"| all | {' | '.join(map(str, total))} |" in TEXT, total


def test_other_tables_of_the_page_are_those_of_results():
    """The rules that a pseudocode leaves open, and means of programs from the serial cheap matching."""
    rules = {tuple(row[:3]): row for row in Column("papers-azad", "Rules").rows}
    listed = re.findall(r"^\| ((?:first to last|last to first).*) \|$", TEXT, re.MULTILINE)
    for order, allowed, *cells in (row.split(" | ") for row in listed):
        of = [rules[graph, order[:13], re.sub("in (the )?", "", allowed)] for graph in ("web", "kron")]
        expected = [float(row[i].replace(" ", "")) for row in of for i in (3, 5, 6, 7, 8)]
        assert all(fits(n, r, x) for (n, r), x in zip(quoted(" | ".join(cells)), expected, strict=True)), (
            order,
            allowed,
        )
    assert len(listed) == 5
    search = Column("papers-deveci-icpp-cuda", "Searches")
    for kind, names in (("original", MEASURED), ("permuted", [f"{name} permuted" for name in MEASURED])):
        (row,) = re.findall(rf"^\| {kind} \| (.*) \|$", TEXT, re.MULTILINE)
        means = [mean(search.over(who, names)) for who in search.names[1:]]
        assert all(fits(n, r, x) for (n, r), x in zip(quoted(row), means, strict=True)), kind


def test_matchings_are_flows_and_assignments_are_flows_of_least_cost():
    """Fig. 1 of Łupińska: the reductions between the problems."""
    rng = np.random.default_rng(0)
    for n in (1, 5, 20):
        graph = scipy.sparse.coo_array(rng.random((n, n)) < 2 / n)
        tail = np.r_[np.zeros(n, int), 1 + graph.row, 1 + n + np.arange(n)]
        head = np.r_[1 + np.arange(n), 1 + n + graph.col, np.full(n, 1 + 2 * n)]
        network = scipy.sparse.csr_array((np.ones(len(tail), int), (tail, head)), shape=(2 * n + 2,) * 2)
        flow = maximum_flow(network, 0, 2 * n + 1)
        assert flow.flow_value == matching.maximum(graph.tocsr()).cardinality
        cost = rng.integers(0, 100, (n, n))
        row, col = np.indices((n, n)).reshape(2, -1)
        found = assign.min_cost_flow(row, n + col, 1, cost.ravel(), np.r_[np.ones(n, int), -np.ones(n, int)])
        found.check()
        assert found.cost == assign.solve(cost).cost
