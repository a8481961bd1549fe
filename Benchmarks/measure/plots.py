"""Bars on top of each other over a scale, side by side in panels, as SVG."""

import math
from xml.sax.saxutils import escape

PANEL, GAP, LEFT, TOP, BASE, HEIGHT = 400, 60, 60, 64, 300, 372
COLOURS = ["#2f6f9f", "#b58a3c", "#bbbbbb"]
LINE = "#9f2f4f"


def panels(title, axis, charts, parts):
    """One picture. Each chart is ``(name, [(x, [seconds of each part, …]), …], (slope, intercept) or None)``; ``parts`` names the
    parts. The line is drawn over the bars."""
    width = len(charts) * (LEFT + PANEL) + (len(charts) - 1) * (GAP - LEFT) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>', text(16, 20, title, weight="bold"),
    ]
    left = 16
    legend = [*zip(parts, COLOURS)]
    if any(len(bars) > 1 for _, bars, _ in charts):
        legend.append(("straight line through the sums", LINE))
    for name, colour in legend:
        out.append(f'<rect x="{left}" y="28" width="11" height="11" fill="{colour}"/>')
        out.append(text(left + 16, 38, name))
        left += 30 + 7 * len(name)
    top = max(sum(values) for _, bars, _ in charts for _, values in bars)
    for number, chart in enumerate(charts):
        out += panel(LEFT + number * (PANEL + GAP), axis, top, *chart)
    return "\n".join(out + ["</svg>"]) + "\n"


def panel(left, axis, top, name, bars, line):
    step = nice(top / 4)
    top = math.ceil(top / step * 1.02) * step
    unit, factor = ("s", 1) if top >= 2 else ("ms", 1e3)

    def height(value):
        return (BASE - TOP) * value / top

    out = [text(left + PANEL / 2, TOP - 10, name, anchor="middle", weight="bold")]
    for number in range(round(top / step) + 1):
        y = BASE - height(number * step)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(text(left - 6, y + 4, f"{number * step * factor:g} {unit}", anchor="end"))
    space = PANEL / len(bars)
    bar = min(0.6 * space, 60)
    for number, (x, values) in enumerate(bars):
        y = BASE
        for value, colour in zip(values, COLOURS):
            y -= height(value)
            out.append(f'<rect x="{left + (number + 0.5) * space - bar / 2:.1f}" y="{y:.1f}" width="{bar:.1f}"'
                       f' height="{height(value):.1f}" fill="{colour}"/>')
        out.append(text(left + (number + 0.5) * space, BASE + 16, str(x), anchor="middle"))
    if line and len(bars) > 1:
        (slope, intercept), (first, last) = line, (bars[0][0], bars[-1][0])
        out.append(f'<line x1="{left + space / 2:.1f}" y1="{BASE - height(slope * first + intercept):.1f}"'
                   f' x2="{left + PANEL - space / 2:.1f}" y2="{BASE - height(slope * last + intercept):.1f}"'
                   f' stroke="{LINE}" stroke-width="1.5" stroke-dasharray="5 4"/>')
    return [*out, text(left + PANEL / 2, BASE + 36, axis, anchor="middle")]


def nice(value):
    """The next larger of 1, 2, 5, 10, … times a power of ten."""
    power = 10 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999)


def text(x, y, words, anchor="start", weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="#222222">{escape(words)}</text>'
