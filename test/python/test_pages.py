"""The Python of README.md runs as it is printed."""

import pathlib
import re

import fmha
import numpy as np

README = pathlib.Path(__file__).parents[2] / "README.md"


def test_example_of_readme():
    (example,) = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    draw = np.random.default_rng(1).standard_normal
    given = {name: draw((1, 5, heads, 64)).astype(np.float16) for name, heads in (("q", 2), ("k", 1), ("v", 1))}
    given["slopes"] = np.float32([0.5, 0.25])
    names = dict(given)
    exec(example, names)  # noqa: S102
    assert names["kernel"].manifest["mask"] == "causal" and names["lse"].shape == (1, 2, 5)
    wanted = fmha.attention(**{name: given[name] for name in "qkv"}, softcap=50.0, alibi=given["slopes"])
    assert np.array_equal(names["out"], wanted)
