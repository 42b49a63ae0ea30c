"""Kernels are short and take few arguments, or a comment above their decorator says why not.

# args: an entry call, to which Python passes arrays one by one in half the time that a bundle takes
# lines: the main loop, whose parts would share a dozen variables
@kernel
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("gridcut", "assign", "matching", "apps", "cutmatch")
KERNELS = {
    *("kernel", "plain_kernel", "inner_kernel", "inlined_kernel", "cuda_kernel", "device_function"),
    *("njit", "jit", "register_jitable"),
}
MAX_ARGUMENTS = 12
MAX_LINES = 100  # without the docstring


def decorator_name(node) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_kernel(node) -> bool:
    return isinstance(node, ast.FunctionDef) and any(decorator_name(d) in KERNELS for d in node.decorator_list)


def reasons(lines: list[str], node) -> dict[str, str]:
    """The reasons in the comments above the decorator, and between it and the signature, by their words."""
    first = node.decorator_list[0].lineno - 1
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    found = (re.fullmatch(r"\s*# (args|lines): (\w.*\w.*)", line) for line in lines[first : node.lineno])
    return {match[1]: match[2] for match in found if match}


def size(node) -> dict[str, int]:
    """The arguments of a kernel, and its lines without the docstring."""
    lines = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node):
        lines -= node.body[0].end_lineno - node.body[0].lineno + 1
    arguments = node.args
    return {"args": sum(map(len, (arguments.posonlyargs, arguments.args, arguments.kwonlyargs))), "lines": lines}


LIMITS = {"args": MAX_ARGUMENTS, "lines": MAX_LINES}


def complaints(source: str) -> list[str]:
    """The kernels of a file that are too large without a reason, and the reasons of those that are not too large."""
    found, lines = [], source.splitlines()
    for node in filter(is_kernel, ast.walk(ast.parse(source))):
        given, sizes = reasons(lines, node), size(node)
        for word, limit in LIMITS.items():
            if (sizes[word] > limit) != (word in given):
                what = "needs a reason" if word not in given else "needs no reason"
                found.append(f"{node.name}, line {node.lineno}, {what} `# {word}:` ({sizes[word]}, at most {limit})")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_kernels_are_small_or_say_why_not(package):
    files = sorted((ROOT / package).rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix(): complaints(path.read_text("utf-8")) for path in files}
    assert {path: kernels for path, kernels in found.items() if kernels} == {}
