"""The arguments of a rotary embedding: how columns are paired, and the angles of positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._arguments import word
from ._dlpack import float32_of

Rotary = Literal["half", "interleaved"]
# float32 [positions, rotary_dim / 2], both.
ANGLES = ("rotary_cos", "rotary_sin")


def check_rotary_word(value: Any) -> None:
    """Checks that `value` is a way to pair columns."""
    word(value, "rotary", ("half", "interleaved"))


def check_rotary(given: dict[str, Any]) -> None:
    """Checks that rotary and both tables are there, or none of them."""
    if given.get("rotary") is not None:
        check_rotary_word(given["rotary"])
    for name in ANGLES:
        is_given, is_wanted = given.get(name) is not None, given.get("rotary") is not None
        if is_given and not is_wanted:
            raise ValueError(f"{name}: expected None without rotary, got an array; pass rotary, 'half' or 'interleaved', too")
        if is_wanted and not is_given:
            raise ValueError(f"{name}: expected an array with rotary, got None")


def rotary_dim_of(shape: Sequence[int], head_dim: int) -> int:
    """Returns the number of columns that rotate with a table of cosines of `shape`."""
    most = head_dim // 2
    if len(shape) != 2 or not 1 <= shape[1] <= most:
        raise ValueError(f"rotary_cos: expected [positions, n] with n from 1 to {most}, half of the head dim, got {tuple(shape)}; a column is the angle of a pair")
    return 2 * shape[1]


def angles_of(given: dict[str, Any]) -> dict[str, npt.NDArray[np.float32]]:
    """Returns the tables of host memory by their names; none without rotary."""
    tables = {name: np.ascontiguousarray(float32_of(given[name], name)) for name in ANGLES if given.get(name) is not None}
    for name, table in tables.items():
        if table.ndim != 2:
            raise ValueError(f"{name}: expected the shape [positions, rotary_dim / 2], got {table.shape}")
    return tables
