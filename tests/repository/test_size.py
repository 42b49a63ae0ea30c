"""The budget of code lines, by folder: the numbers below only go down.

A code line holds a token that is neither a comment nor a docstring. In the page's files it is a line that is neither
blank nor only a comment. A commit that removes code lowers its numbers. A commit that raises one says in its message
what the lines buy.
"""

import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = {
    "gridcut": 15387,
    "assign": 8230,
    "matching": 6980,
    "apps": 18020,
    "cutmatch": 360,
    "plugins": 2190,
    "tests": 28722,
    "benchmarks": 5950,
}
UNUSED = 100  # a folder this far below its number has become smaller for good: lower the number

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> int:
    text = path.read_text("utf-8")
    if path.suffix not in (".py", ".pyi"):
        lines = map(str.strip, text.splitlines())
        return sum(bool(line) and not line.startswith(("//", "/*", "*", "<!--")) for line in lines)
    lines, begins = set(), True  # whether a statement begins, where a string is a docstring
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in NO_CODE:
            begins = begins or token.type in (tokenize.NEWLINE, tokenize.INDENT)
            continue
        if not (begins and token.type == tokenize.STRING):
            lines.update(range(token.start[0], token.end[0] + 1))
        begins = False
    return len(lines)


@pytest.mark.parametrize("folder", ALLOWED)
def test_code_stays_within_its_budget(folder):
    files = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".pyi", ".js", ".css", ".html", ".jinja")]
    count, allowed = sum(map(code_lines, files)), ALLOWED[folder]
    assert count <= allowed, (
        f"{folder}/ has {count} code lines, {count - allowed} more than its budget of {allowed}. Take out "
        "as many, or raise the number and say in the commit message what these lines buy."
    )
    assert count > allowed - UNUSED, f"{folder}/ has {count} code lines: lower its budget of {allowed}"


PYTHON = '''"""Title.

Text.
"""

# why
x = (
    1,  # one
)


def f():
    """Docs."""
    return """a
    b"""
'''


def test_docstrings_comments_and_blank_lines_are_no_code(tmp_path):
    file, page = tmp_path / "a.py", tmp_path / "a.js"
    file.write_text(PYTHON)
    page.write_text("// why\n\n/** What\n * it is. */\nlet a = 1;\n")
    assert (code_lines(file), code_lines(page)) == (6, 1)
