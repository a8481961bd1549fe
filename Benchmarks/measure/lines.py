"""Lines over a scale, side by side in panels, as SVG."""

import math

from .plots import nice, text

PANEL, GAP, LEFT, TOP, BASE, HEIGHT = 300, 60, 60, 84, 320, 392
COLOURS = ["#b9cfe0", "#7fa9c9", "#2f6f9f", "#173e5c"]
OTHERS = ["#9f2f4f", "#b58a3c"]


def panels(title, axis, charts, unit="%", top=None):
    """One picture. Each chart is ``(name, {line: [(x, y), …]}, {level: y})``: lines over x, and levels for comparison, which are
    dashed."""
    width = len(charts) * (LEFT + PANEL) + (len(charts) - 1) * (GAP - LEFT) + 30
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>', text(16, 20, title, weight="bold"),
    ]
    left = 16
    names = [*zip(charts[0][1], COLOURS), *zip(charts[0][2], OTHERS)]
    for name, colour in names:
        out.append(f'<rect x="{left}" y="34" width="11" height="11" fill="{colour}"/>')
        out.append(text(left + 16, 44, name))
        left += 34 + 7 * len(name)
    values = [y for _, lines, levels in charts for y in [*levels.values(), *(y for line in lines.values() for _, y in line)]]
    top = top or max(values)
    for number, chart in enumerate(charts):
        out += panel(LEFT + number * (PANEL + GAP), axis, top, unit, *chart)
    return "\n".join(out + ["</svg>"]) + "\n"


def panel(left, axis, top, unit, name, lines, levels):
    step = nice(top / 5)
    top = math.ceil(top / step * 0.999) * step

    def height(value):
        return BASE - (BASE - TOP) * value / top

    points = sorted({x for line in lines.values() for x, _ in line})
    space = PANEL / len(points)
    place = {x: left + (number + 0.5) * space for number, x in enumerate(points)}
    out = [text(left + PANEL / 2, TOP - 14, name, anchor="middle", weight="bold")]
    for number in range(round(top / step) + 1):
        y = height(number * step)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(text(left - 6, y + 4, f"{number * step:g} {unit}", anchor="end"))
    for x, at in place.items():
        out.append(text(at, BASE + 16, str(x), anchor="middle"))
    for value, colour in zip(levels.values(), OTHERS):
        y = height(value)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}" stroke="{colour}" stroke-width="1.5"'
                   ' stroke-dasharray="6 4"/>')
    for line, colour in zip(lines.values(), COLOURS):
        path = " ".join(f"{place[x]:.1f},{height(y):.1f}" for x, y in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{place[x]:.1f}" cy="{height(y):.1f}" r="3" fill="{colour}"/>' for x, y in line]
    return [*out, text(left + PANEL / 2, BASE + 38, axis, anchor="middle")]
