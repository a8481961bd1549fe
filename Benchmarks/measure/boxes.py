"""Boxes over a scale of powers of ten, one below the other, as SVG."""

import math

from .plots import text

WIDTH, LEFT, RIGHT, TOP, ROW, BOX = 860, 300, 30, 74, 40, 20
COLOURS = ["#2f6f9f", "#b58a3c", "#888888", "#9f2f4f"]


def quantile(values, part):
    """Between the two values that are nearest to it."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def picture(title, note, groups):
    """Each group is ``(name, [(label, values in milliseconds, colour number), …])``."""
    rows = sum(len(boxes) + 1 for _, boxes in groups)
    height = TOP + rows * ROW + 26
    values = [value for _, boxes in groups for _, found, _ in boxes for value in found]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(value):
        return LEFT + (math.log10(value) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', text(16, 20, title, weight="bold"), text(16, 38, note),
    ]
    for power in range(low, high + 1):
        for factor in (1, 2, 5) if power < high else (1,):
            x = place(factor * 10**power)
            colour = "#bbbbbb" if factor == 1 else "#e6e6e6"
            out.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 16}" stroke="{colour}"/>')
            out.append(text(x, TOP - 14, f"{factor * 10**power:g}", anchor="middle"))
    y = TOP
    for name, boxes in groups:
        y += ROW
        out.append(text(16, y - 12, name, weight="bold"))
        for label, found, colour in boxes:
            out.append(text(LEFT - 12, y + ROW / 2 + 4, label, anchor="end"))
            out += box(place, y + ROW / 2, found, COLOURS[colour])
            y += ROW
    return "\n".join(out + ["</svg>"]) + "\n"


def box(place, y, values, colour):
    """Quartiles as a box with the median, lines to 5 % and 95 %, and a dot for each value beyond."""
    low, first, median, third, high = (place(quantile(values, part)) for part in (0.05, 0.25, 0.5, 0.75, 0.95))
    out = []
    for start, end in ((low, first), (third, high)):
        out.append(f'<line x1="{start:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-width="1.5"/>')
    for x in (low, high):
        out.append(f'<line x1="{x:.1f}" y1="{y - 5:.1f}" x2="{x:.1f}" y2="{y + 5:.1f}" stroke="{colour}" stroke-width="1.5"/>')
    out.append(f'<rect x="{first:.1f}" y="{y - BOX / 2:.1f}" width="{max(third - first, 1):.1f}" height="{BOX}"'
               f' fill="{colour}" fill-opacity="0.35" stroke="{colour}"/>')
    out.append(f'<line x1="{median:.1f}" y1="{y - BOX / 2:.1f}" x2="{median:.1f}" y2="{y + BOX / 2:.1f}"'
               f' stroke="{colour}" stroke-width="3"/>')
    for value in values:
        x = place(value)
        if x < low or x > high:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" fill="{colour}" fill-opacity="0.6"/>')
    return out
