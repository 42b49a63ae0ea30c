"""Compiled kernels that came with the installed package, in the folder gridcut/_kernels of a wheel.

They are compiled for x86-64-v3, the instructions that x86 processors have had since about 2015, or for every ARM
processor with Linux, so one wheel serves all of them.  numba names machine code by the processor it is for;
`portable_key` is the name under which these were compiled.  A folder fits one version each of Python, numba, llvmlite
and NumPy, and one state of the sources: its file about.json says which, so that a folder that does not fit costs no
search and its reason can be shown.

The folder is part of the package, where the sources are: a user who can alter it can alter the sources as well.
`cutmatch warmup --portable` compiles such a folder, and setup.py puts it into a wheel.
"""

import json
import platform
from functools import cache
from pathlib import Path

from gridcut.device.kernel_digest import versions

X86 = "x86-64-v3"
PROCESSORS = {"x86_64": X86, "AMD64": X86, "aarch64": "generic"}  # by LLVM's names; Linux, Windows, Linux on ARM
CPU = PROCESSORS.get(platform.machine(), "")  # not macOS, where numba's names of kernels contain the system's release
X86_FEATURES = frozenset(("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"))  # beyond x86-64-v2, by LLVM's names
FOLDER = Path(__file__).resolve().parents[1] / "_kernels"
ABOUT = "about.json"


def portable_key(key: tuple) -> tuple:
    """The key of numba's cache for this kernel and these types, compiled for `CPU` instead of this processor."""
    types, (triple, _, _), code = key
    return types, (triple, CPU, ""), code


def about() -> dict:
    """Content of about.json for kernels that this process compiles."""
    return {"versions": versions(), "system": platform.system(), "machine": platform.machine(), "cpu": CPU}


@cache
def obstacle() -> str:
    """Why the kernels of the package cannot be used here; an empty string if they can."""
    try:
        made_for = json.loads((FOLDER / ABOUT).read_bytes())
        known = made_for["versions"]
        if (made_for["system"], made_for["machine"]) != (platform.system(), platform.machine()):
            return f"the compiled kernels of this package are for {made_for['system']} on {made_for['machine']}"
        for name, here in versions().items():
            if known[name] != here:
                return f"the compiled kernels of this package are for {name} {known[name]}; this is {name} {here}"
    except FileNotFoundError:
        return "this installation came without compiled kernels"
    except (OSError, ValueError, KeyError, TypeError):
        return f"{FOLDER / ABOUT} is damaged; reinstall cutmatch"
    if missing := missing_features():
        return f"the compiled kernels of this package need {CPU}; this processor lacks {', '.join(missing)}"
    return ""


def missing_features() -> list[str]:
    """Instructions of `CPU` that this processor lacks, by LLVM's names."""
    if CPU != X86:
        return []
    from llvmlite import binding

    found = binding.get_host_cpu_features()
    return sorted(name for name in X86_FEATURES if not found.get(name, False))
