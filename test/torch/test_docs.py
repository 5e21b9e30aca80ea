"""The Python of docs/pytorch.md, executed with the arrays that it speaks of."""

import pathlib
import re

import torch

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/pytorch.md"


def test_blocks_of_the_page(random):
    lens = torch.tensor([3, 17], dtype=torch.int32)
    names = {
        **{name: random(2, 20, 4, 64) for name in "qkv"},
        **{f"{name}_rows": random(24, 4, 64) for name in "qkv"},
        **{f"{name}_heads": random(2, 4, 20, 64) for name in "qkv"},
        "cu_seqlens_q": torch.tensor([0, 4, 24], dtype=torch.int32),
        "cu_seqlens_k": torch.tensor([0, 4, 24], dtype=torch.int32),
        "query": random(2, 1, 4, 64),
        **{f"{name}_cache": random(4, 16, 4, 64) for name in "kv"},
        **{f"new_{name}": random(2, 1, 4, 64) for name in "kv"},
        "block_tables": torch.tensor([[1, -1], [3, 2]], dtype=torch.int32),
        "kv_lens": lens,
        "slopes": torch.tensor([0.5, 0.25, 0.125, 0.0625]),
        "documents": torch.arange(20) // 7,
        "torch": torch,
    }
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)  # noqa: S102
    for name in ("out", "lse", "packed", "decoded", "flexible"):
        assert torch.isfinite(names[name].float()).all()
