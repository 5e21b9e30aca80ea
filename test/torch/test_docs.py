"""The Python of docs/pytorch.md, executed; test_distributed.py executes the blocks for several ranks."""

import pathlib
import re

import torch

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/pytorch.md"


def test_blocks_of_the_page():
    torch.manual_seed(1)
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)  # noqa: S102
    for name in ("out", "lse", "packed", "decoded", "flexible"):
        assert torch.isfinite(names[name].float()).all()
