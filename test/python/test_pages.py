"""The Python of README.md and of docs/ runs as it is printed."""

import pathlib
import re

import fmha
import numpy as np
import pytest
from conftest import assert_close, reference

ROOT = pathlib.Path(__file__).parents[2]
SERVING = "docs/serving.md"
# Pages that other programs execute: test_docs.py of test/torch and test/jax, and scripts/check/bare.py.
ELSEWHERE = {"docs/pytorch.md", "docs/jax.md", "docs/install.md"}
# The other pages with Python, and what each of them leaves in these names.
PAGES = {"README.md": {"out"}, "docs/python.md": {"kernel", "out", "lse", "decoded", "sparse", "listed", "decoded8"}}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


def test_no_page_is_left_out():
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    assert {page.relative_to(ROOT).as_posix() for page in pages if "```python" in page.read_text()} == {*PAGES, *ELSEWHERE, SERVING}


def paged(draw):
    """Queries of two sequences, their caches and new tokens."""
    cached = {"query": draw((2, 1, 2, 64)).astype(np.float16), "cache": draw((3, 2, 16, 1, 64)).astype(np.float16)}
    cached |= {"tables": np.int32([[2, 0], [1, -1]]), "lens": np.int32([20, 7])}
    angle = np.random.default_rng(2).uniform(-4, 4, (32, 32))
    tokens = {"new_k": draw((2, 1, 1, 64)).astype(np.float16), "new_v": draw((2, 1, 1, 64)).astype(np.float16)}
    tokens |= {"cos": np.cos(angle).astype(np.float32), "sin": np.sin(angle).astype(np.float32)}
    return cached, tokens


@pytest.mark.parametrize("page", PAGES)
def test_example(page):
    names = {}
    for example in blocks(page):
        exec(example, names)  # noqa: S102
    assert PAGES[page] == {"kernel", "out", "lse", "decoded", "sparse", "listed", "decoded8"} & names.keys()
    q, k, v = (names[name] for name in "qkv")
    options = {"causal": True}
    if "kernel" in names:
        assert names["kernel"].manifest["mask"] == "causal" and names["lse"].shape == (1, 2, 100)
        options = {"softcap": 50.0, "alibi": names["slopes"]}
    assert np.array_equal(names["out"], fmha.attention(q, k, v, **options))
    if "decoded" in names:
        cached = {name: names[name] for name in ("query", "cache", "tables", "lens")}
        assert names["kernel_of_pages"].manifest["page_size"] == cached["cache"].shape[2]
        assert not np.array_equal(names["rotated"], cached["query"])
        assert np.array_equal(cached["cache"][1, 1, 6], names["new_v"][1, 0])
        check_decoded(names["decoded"], **cached | {"query": names["rotated"]})
        # The example appends the last token of each sequence after it reads the caches by lists.
        check_decoded(names["sparse"], **cached, listed=([3, 18, 3], [5]))
        assert_close(names["listed"], None, reference(q, k[:, :64], v[:, :64]), 2.0**-11)
        scales = np.stack([names["k_scale"], names["v_scale"]], 1)[:, :, None, None, None]
        check_decoded(names["decoded8"], **cached | {"cache": names["cache8"].astype(np.float32) * scales})


def test_example_of_serving():
    cached, tokens = paged(np.random.default_rng(1).standard_normal)
    names = cached | tokens | {"q": cached["query"], "k": tokens["new_k"], "v": tokens["new_v"]}
    before = cached["cache"].copy()
    for example in blocks(SERVING):
        exec(example, names)  # noqa: S102
    rotated = fmha.append(
        names["k"], names["v"], before[:, 0], before[:, 1], names["lens"], block_tables=names["tables"], rotary="half",
        rotary_cos=names["cos"], rotary_sin=names["sin"], q=names["q"],
    )  # fmt: skip
    assert not np.array_equal(rotated, cached["query"])
    check_decoded(names["out"], **cached | {"query": rotated, "cache": before})


def check_decoded(out, query, cache, tables, lens, listed=None):
    for b, keys in enumerate(lens):
        rows = slice(keys) if listed is None else listed[b]
        k, v = (cache[tables[b], half].reshape(1, -1, *cache.shape[3:])[:, rows] for half in (0, 1))
        assert_close(out[b : b + 1], None, reference(query[b : b + 1], k, v), 2.0**-11)
