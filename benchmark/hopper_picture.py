"""Draws what benchmark/hopper.py measured: a panel a head dim and mask, TFLOP/s over lengths, one line a candidate."""

COLORS = {"fmha": "#1b6ca8", "cudnn": "#3a8f3a", "triton": "#b0682c"}
NAMES = {"fmha": "fmha", "cudnn": "cuDNN", "triton": "Triton"}
WIDTH, HEIGHT, LEFT, TOP, STEP_X, STEP_Y = 250, 170, 46, 54, 310, 240


def flops(cell):
    dim, causal, length = cell
    return 4 * 16384 * length * 2048 // (2 if causal else 1)


def panel(cells, place, most):
    """The axes and lines of one column of the table."""
    dim, causal, _ = cells[0]["cell"]
    x0, y0 = LEFT + STEP_X * (place // 2), TOP + STEP_Y * (place % 2)
    lengths = [entry["cell"][2] for entry in cells]
    across = lambda n: x0 + WIDTH * (n + 0.5) / len(lengths)
    up = lambda rate: y0 + HEIGHT - HEIGHT * rate / most
    parts = [f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">head dim {dim}{", causal" if causal else ""}</text>']
    for rate in range(0, int(most) + 1, 200):
        parts.append(f'<line x1="{x0}" y1="{up(rate):.1f}" x2="{x0 + WIDTH}" y2="{up(rate):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{x0 - 6}" y="{up(rate) + 4:.1f}" text-anchor="end">{rate}</text>')
    for n, length in enumerate(lengths):
        label = f"{length // 1024}k" if length >= 1024 else length
        parts.append(f'<text x="{across(n):.1f}" y="{y0 + HEIGHT + 16}" text-anchor="middle">{label}</text>')
    for who, color in COLORS.items():
        points = [
            (across(n), up(flops(entry["cell"]) / entry["measured"][who]["us"] * 1e-6))
            for n, entry in enumerate(cells)
            if who in entry["measured"]
        ]
        if points:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
    return parts


def draw(results):
    columns = {}
    for entry in results["cells"]:
        columns.setdefault(tuple(entry["cell"][:2]), []).append(entry)
    rates = [flops(e["cell"]) / t["us"] * 1e-6 for e in results["cells"] for t in e["measured"].values()]
    most = 100 * (int(max(rates) / 100) + 1)
    wide, high = LEFT + STEP_X * ((len(columns) + 1) // 2), TOP + STEP_Y * min(2, len(columns)) - 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{wide}" height="{high}" fill="white"/>')
    machine = results["machine"]
    parts.append(f'<text x="{LEFT}" y="18">TFLOP/s over length, bf16, 16k tokens; {machine["gpu"]}, {results["date"]}</text>')
    for n, (who, color) in enumerate(COLORS.items()):
        if any(who in entry["measured"] for entry in results["cells"]):
            parts.append(f'<rect x="{wide - 230 + 75 * n}" y="8" width="12" height="12" fill="{color}"/>')
            parts.append(f'<text x="{wide - 214 + 75 * n}" y="18">{NAMES[who]}</text>')
    for place, cells in enumerate(columns.values()):
        parts += panel(cells, place, most)
    return "\n".join([*parts, "</svg>"]) + "\n"
