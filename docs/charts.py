"""Tables of benchmarks/results on the site: ratios beside the names of rows, and bar charts of a column.

A page of docs/ asks for a chart by a comment, which GitHub does not show:

    <!-- chart gridcut-cpu | instance | ratio, 1 | Times as fast as PyMaxflow, one thread -->

    table of benchmarks/results | columns that name a row | column of the values | caption
"""

import math
import re
from html import escape
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks/results"
CHART = re.compile(r"<!-- chart ([^|]+)\|([^|]+)\|([^|]+)\|([^|]+)-->")


def ratios_first(text: str) -> str:
    """The tables of a page with their ratios in the second column: on a narrow screen, the last are out of sight."""
    return re.sub(r"(?:^\|.*\n)+", lambda found: _reordered(found[0]), text, flags=re.MULTILINE)


def with_charts(text: str) -> str:
    """The text of a page with its comments replaced by charts."""
    return CHART.sub(lambda found: _chart(*(part.strip() for part in found.groups())), text)


def is_ratio(column: str) -> bool:
    return " / " in column or column.startswith("ratio")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _reordered(table: str) -> str:
    rows = [cells(line) for line in table.splitlines()]
    head = rows[0]
    # A heading that occurs twice belongs to the column before it.
    if len(set(head)) < len(head) or any(len(row) != len(head) for row in rows):
        return table
    order = sorted(range(len(head)), key=lambda i: (i > 0) + (i > 0 and not is_ratio(head[i])))
    return "".join(f"| {' | '.join(row[i] for i in order)} |\n" for row in rows)


def _chart(file: str, names: str, values: str, caption: str) -> str:
    """Bars as HTML; those of ratios have a logarithmic scale that begins at the smallest of them and 1."""
    bars = read(file, [name.strip() for name in names.split(",")], values)
    ratios = is_ratio(values)
    low = min(1.0, *(value for _, value in bars)) / 1.25 if ratios else 0.0
    high = max(value for _, value in bars)

    def share(value: float) -> float:
        return 100 * (math.log(value / low) / math.log(high / low) if ratios else value / high)

    one = f' style="--one: {share(1.0):.1f}%"' if ratios else ""
    lines = "".join(
        f'<div role="listitem"><span>{escape(name)}</span><span><i style="width: {share(value):.1f}%"></i></span>'
        f"<b>{value:g}</b></div>"
        for name, value in bars
    )
    title = f"<figcaption>{escape(caption)}</figcaption>"
    return f'<figure class="chart"{one}>{title}<div role="list">{lines}</div></figure>\n'


def read(file: str, names: list[str], values: str) -> list[tuple[str, float]]:
    """The names and the values of the rows that have a value, from the first table with these columns."""
    for table in re.findall(r"(?:^\|.*\n)+", (RESULTS / f"{file}.md").read_text("utf-8"), flags=re.MULTILINE):
        head, _, *rows = map(cells, table.splitlines())
        if {*names, values} <= set(head):
            columns, column = [head.index(name) for name in names], head.index(values)
            return [
                (", ".join(row[i] for i in columns), float(row[column]))
                for row in rows
                if re.fullmatch(r"[\d.]+", row[column])
            ]
    raise ValueError(f"no table of {file} has the columns {', '.join([*names, values])}")
