"""Figures of measured matchings (harness.py), as PNG.

`profiles` are those of Deveci, Kaya, Uçar, Çatalyürek (ICPP 2013), Fig. 2 and 3: for each program the share of graphs
on which it is at least x times as fast as a reference, and at most x times as slow as the fastest.

Programs that were stopped count as never fast enough.  Only graphs that were given to every program are counted.
"""

import io
from pathlib import Path

import numpy as np

from benchmarks.harness import STOPPED

SIZE = (11, 4.2)  # inches
STYLES = ("-", "--", ":")
COLOURS = 128  # of an image, including blends of a line with the background


def new_figure(columns: int):
    """A figure and its axes; not by pyplot, which needs a window system and has global state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, layout="constrained")
    return figure, np.atleast_1d(figure.subplots(1, columns))


def profiles(measured, programs, reference):
    """(figure, graphs counted), or (None, 0) if no graph was given to all programs."""
    tried = [{p: m.seconds[p] for p in programs} for m in measured if all(p in m.seconds for p in programs)]
    if not tried:
        return None, 0
    figure, (speedup, performance) = new_figure(2)
    if reference in programs:
        known = [s for s in tried if s[reference] < STOPPED]
        baselines = [p for p in programs if p != reference]
        _profile(speedup, {p: [s[p] / s[reference] for s in known] for p in baselines}, programs, flip=True)
        speedup.axvline(1, color="0.6", linewidth=0.8)
        speedup.set(xlabel=f"at least x times as fast as {reference}", ylabel="share of graphs")
        speedup.set_title(f"Speed-up profile, {len(known)} graphs")
    else:
        speedup.set_axis_off()
    _profile(performance, {p: [s[p] / min(s.values()) for s in tried] for p in programs}, programs)
    performance.set(xlabel="at most x times as slow as the fastest")
    performance.set_title(f"Performance profile, {len(tried)} graphs")
    figure.legend(*performance.get_legend_handles_labels(), fontsize="small", loc="outside right center")
    return figure, len(tried)


def save(figure, path):
    """Write a PNG atomically."""
    from PIL import Image

    path = Path(path)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    image = Image.open(buffer).convert("RGB").quantize(COLOURS)
    buffer = io.BytesIO()
    image.save(buffer, "png", optimize=True)
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".png.part")
    unfinished.write_bytes(buffer.getvalue())
    unfinished.replace(path)
    return path


def _profile(axes, ratios, programs, flip=False):
    """Plot the share of each program's ratios that are at most x; flip: of reciprocals that are at least x.

    The style of a line depends on the program's index in `programs`, so that it is the same in both figures.
    """
    ends = [r for found in ratios.values() for r in found if r < STOPPED] or [1.0]
    for program, found in ratios.items():
        i = programs.index(program)
        x = np.sort([r for r in found if r < STOPPED])
        share = np.arange(len(x) + 1) / max(1, len(found))
        x = np.r_[min(ends), x, max(ends)]
        axes.plot(
            *((1 / x) if flip else x, np.r_[share, share[-1]]),
            drawstyle="steps-post",
            label=program,
            color=f"C{i % 10}",
            linestyle=STYLES[i // 10 % len(STYLES)],
        )
    axes.set(xscale="log", ylim=(0, 1.02))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.grid(alpha=0.3)
