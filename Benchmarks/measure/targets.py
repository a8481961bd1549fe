"""What is to be reached, beside what was measured."""


def targets(results):
    """Rows of a table: the target, the figure, and whether it is met."""
    rows = []

    def add(words, value, limit, shown):
        if value is not None:
            rows.append([words, shown, "met" if value <= limit else f"**missed by {value / limit:.2f}×**"])

    files = {table["size"]: table for table in results.get("files", [])}
    large = files.get(1 << 30)
    if large:
        for way, words in (
            ("out", "encrypt, hash and disperse 1 GiB within 1.5× the wall time of `age -r`"),
            ("back", "decode, verify and decrypt 1 GiB with two data fragments lost within 1.5× `age -d`"),
        ):
            ratio = named(large[way], "vault, no peers").ratio(named(large[way], "age"))
            add(words, ratio, 1.5, f"{ratio:.2f}×")
    peaks = [peak for table in files.values() for row in ours(table) for peak in (row.peak, row.daemon_peak) if peak]
    if peaks:
        words = "peak memory of each process at most 64 MiB for any file size, daemons included"
        add(words, max(peaks), 64, f"{max(peaks):.0f} MiB")
    if 1000 in files:
        row = named(files[1000]["back"], "vault, loopback")
        words = "a note of 1 kB recovered 3 of 5 within 50 ms of the start of the process"
        shown = f"{row.wall * 1000:.0f} ms (CPU: {row.cpu * 1000:.0f} ms, and {row.daemon_cpu * 1000:.0f} ms in daemons)"
        add(words, row.wall, 0.05, shown)
    if len(results.get("start", [])) == 2:
        ratio = results["start"][1].ratio(results["start"][0])
        add("`vault --version` within 3× `age --version`", ratio, 3, f"{ratio:.2f}×")
    parts = {part["part"]: part for part in results.get("micro", [])}
    for part, words in (("split 128 of 255", "split"), ("verify and combine, 128 of 255", "verify and combine")):
        if part in parts:
            wall, cpu = parts[part]["wall"], parts[part]["cpu"]
            add(f"{words} 128 of 255 within 100 ms", wall, 0.1, f"{wall * 1000:.0f} ms (CPU: {cpu * 1000:.0f} ms)")
    for figure in results.get("daemon", []):
        if figure["bound"]:
            rows.append([figure["name"] + ", " + figure["bound"], f"{figure['value']:.0f} {figure['unit']}", verdict(figure)])
    return rows


def verdict(figure):
    """Whether a figure keeps its bound, which is `at least` or `at most` a number."""
    limit = float(figure["bound"].split()[-1])
    excess = limit / figure["value"] if figure["bound"].startswith("at least") else figure["value"] / limit
    return "met" if excess <= 1 else f"**missed by {excess:.2f}×**"


def ours(table):
    rows = table["out"] + table["back"] + [table["lossy"][0]]
    return [row for row in rows if row.name.startswith("vault")]


def named(rows, name):
    return next(row for row in rows if row.name == name)
