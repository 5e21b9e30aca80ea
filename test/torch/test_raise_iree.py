"""iree_linalg_ext.attention that fmha-raise-named raises, against its decomposition: products over the loops that the maps name."""

import dataclasses
import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Conversion/Raise"))

import programs  # noqa: E402

SIZES = {"b": 2, "h": 3, "g": 2, "m": 5, "n": 7, "k": 16, "v": 24}
# By loop indices: keeps keys up to the row, or hides those of another parity than the head.
REGIONS = {
    "causal": ("%i, %j", "sge", "m", "n"),
    "heads": ("%j, %i", "sle", "g", "n"),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """The loops of each operand, a letter each; those of q, in order, then the others, are the op's."""

    q: str = "bmk"
    k: str = "bnk"
    v: str = "bnv"
    o: str = "bmv"
    mask: str | None = None
    element: str = "i1"
    region: str | None = None
    rows: int = 5
    keys: int = 7
    dynamic: bool = False
    scale: float = 0.25

    def loops(self):
        return "".join(dict.fromkeys(self.q + self.o + self.k))

    def size(self, letter):
        return {"m": self.rows, "n": self.keys}.get(letter, SIZES[letter])

    def shape(self, letters):
        return tuple(self.size(letter) for letter in letters)


CASES = {
    "rank3": Case(),
    "rank4": Case("bhmk", "bhnk", "bhnv", "bhmv"),
    "rank4_order": Case("bmhk", "bnhk", "bnhv", "bmhv"),
    "transposed_k": Case(k="bkn"),
    "transposed_v": Case(v="bvn"),
    "transposed_o": Case(o="bvm"),
    "grouped": Case("bhgmk", "bhnk", "bhnv", "bhgmv"),
    "grouped_order": Case("bmhgk", "bnhk", "bnhv", "bhgmv"),
    "one_kv_head": Case("bgmk", "bnk", "bnv", "bgmv"),
    "mask": Case(mask="bmn"),
    "mask_of_all": Case("bhmk", "bhnk", "bhnv", "bhmv", mask="mn"),
    "mask_of_heads": Case("bhmk", "bhnk", "bhnv", "bhmv", mask="hmn", element="f32"),
    "mask_of_groups": Case("bhgmk", "bhnk", "bhnv", "bhgmv", mask="hgmn", element="f16"),
    "mask_of_kv_heads": Case("bhgmk", "bhnk", "bhnv", "bhgmv", mask="hn"),
    "mask_transposed": Case(mask="nm", element="f32"),
    "mask_bytes": Case(mask="bmn", element="i8"),
    "region": Case(region="causal"),
    "region_of_groups": Case("bhgmk", "bhnk", "bhnv", "bhgmv", region="heads"),
    "region_and_mask": Case(region="causal", mask="bmn"),
    "dynamic": Case(dynamic=True, mask="mn"),
    "dynamic_groups": Case("bhgmk", "bhnk", "bhnv", "bhgmv", dynamic=True),
    "one": Case(rows=1, keys=1),
    "odd": Case(rows=17, keys=131),
    "negative_scale": Case(scale=-0.5),
}


def type_of(case, letters, element="f16"):
    words = ["?" if case.dynamic and letter in "mn" else str(case.size(letter)) for letter in letters]
    return f"tensor<{'x'.join([*words, element])}>"


def map_of(case, letters):
    loops = case.loops()
    return f"affine_map<({', '.join(loops)}) -> ({', '.join(letters)})>"


def region_text(case):
    if case.region is None:
        return '  ^bb0(%s: f32):\n    "iree_linalg_ext.yield"(%s) : (f32) -> ()\n'
    _, predicate, left, right = REGIONS[case.region]
    loops = case.loops()
    return f"""  ^bb0(%s: f32):
    %i = "iree_linalg_ext.index"() {{dim = {loops.index(left)} : i64}} : () -> index
    %j = "iree_linalg_ext.index"() {{dim = {loops.index(right)} : i64}} : () -> index
    %seen = arith.cmpi {predicate}, %i, %j : index
    %hidden = arith.constant 0xFF800000 : f32
    %t = arith.select %seen, %s, %hidden : f32
    "iree_linalg_ext.yield"(%t) : (f32) -> ()
"""


def function(name, case):
    operands = [(letters, "f16") for letters in (case.q, case.k, case.v)]
    operands += [(case.mask, case.element)] if case.mask else []
    types = [type_of(case, *operand) for operand in operands]
    maps = [map_of(case, letters) for letters in (case.q, case.k, case.v, "", *([case.mask] if case.mask else []), case.o)]
    result = type_of(case, case.o)
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate([*types, result]))
    uses = ["%a0", "%a1", "%a2", "%scale", *(["%a3"] if case.mask else []), f"%a{len(types)}"]
    all_types = [*types[:3], "f16", *types[3:], result]
    return f"""func.func @{name}({arguments}) -> ({result}) {{
  %scale = arith.constant {case.scale} : f16
  %o = "iree_linalg_ext.attention"({", ".join(uses)}) <{{indexing_maps = [{", ".join(maps)}]}}> ({{
{region_text(case)}  }}) : ({", ".join(all_types)}) -> {result}
  return %o : {result}
}}
"""


@pytest.fixture(scope="module")
def functions():
    module = programs.raised("".join(function(name, case) for name, case in CASES.items()), "--fmha-raise-named")
    assert "iree_linalg_ext" not in module
    return programs.compiled(module)


def decomposition(case, q, k, v, mask):
    """softmax(region(scale q k) + mask) v over the loops, in float64, with zeros for rows of zeros."""
    scores_of = "".join(letter for letter in case.loops() if letter not in "kv")
    scores = case.scale * torch.einsum(f"{case.q},{case.k}->{scores_of}", q.double(), k.double())
    position = {letter: torch.arange(case.size(letter)).reshape([-1 if x == letter else 1 for x in scores_of]) for letter in scores_of}
    if case.region:
        _, predicate, left, right = REGIONS[case.region]
        seen = position[left] >= position[right] if predicate == "sge" else position[left] <= position[right]
        scores = torch.where(seen, scores, -torch.inf)
    if mask is not None:
        order = "".join(letter for letter in scores_of if letter in case.mask)
        spread = torch.einsum(f"{case.mask}->{order}", mask.double())
        spread = spread.reshape([case.size(x) if x in case.mask else 1 for x in scores_of])
        integer = case.element.startswith("i")
        scores = scores + (torch.where(spread % 2 == 1, 0.0, -torch.inf) if integer else spread)
    weights = scores.softmax(scores_of.index("n")).nan_to_num(0.0)
    return torch.einsum(f"{scores_of},{case.v}->{case.o}", weights, v.double())


def make_mask(case, random):
    """A random mask, the third row of which is hidden if there are rows."""
    if case.mask is None:
        return None
    mask = random(*case.shape(case.mask), dtype=torch.float32)
    kind = {"i1": lambda x: x > 0, "i8": lambda x: (x > 0).to(torch.int8) + 2, "f16": torch.Tensor.half, "f32": torch.Tensor.float}
    mask = kind[case.element](mask)
    if "m" in case.mask and case.rows > 2:
        row = mask.select(case.mask.index("m"), 2)
        row.fill_({"i1": False, "i8": 2}.get(case.element, -torch.inf))
    return mask


@pytest.mark.parametrize("name", CASES)
def test_equals_the_decomposition(functions, random, name):
    case = CASES[name]
    q, k, v = (random(*case.shape(letters), dtype=torch.float16) for letters in (case.q, case.k, case.v))
    mask = make_mask(case, random)
    out = torch.full(case.shape(case.o), torch.nan, dtype=torch.float16)
    got = functions[name](*(x.numpy() for x in (q, k, v, mask, out) if x is not None))
    want = decomposition(case, q, k, v, mask)
    torch.testing.assert_close(torch.from_numpy(got).double(), want, rtol=2e-3, atol=2e-3)
    if case.mask and "m" in case.mask and case.rows > 2:
        assert (want.select(case.o.index("m"), 2) == 0).all()
