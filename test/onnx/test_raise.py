"""onnx.Attention that fmha-raise-named raises, against the reference evaluator of ONNX."""

import dataclasses
import zlib

import numpy as np
import onnx
import programs
import pytest
from onnx.reference import ReferenceEvaluator

NUMBERS = {"f16": onnx.TensorProto.FLOAT16, "f32": onnx.TensorProto.FLOAT}


@dataclasses.dataclass(frozen=True)
class Case:
    """An op: extents, attributes, and the shapes of its optional operands."""

    rows: int = 5
    keys: int = 7
    past: int = 0
    heads: int = 4
    kv_heads: int = 2
    dim: int = 16
    dim_v: int = 16
    batch: int = 2
    rank: int = 4
    opset: int = 24
    dtype: str = "f16"
    mask: tuple = ()
    bool_mask: bool = False
    hide_row: bool = False
    lengths: tuple = ()
    attributes: tuple = ()
    outputs: int = 1
    dynamic: bool = False

    def shapes(self):
        if self.rank == 4:
            q = (self.batch, self.heads, self.rows, self.dim)
            k, v = ((self.batch, self.kv_heads, self.keys, d) for d in (self.dim, self.dim_v))
        else:
            q = (self.batch, self.rows, self.heads * self.dim)
            k, v = ((self.batch, self.keys, self.kv_heads * d) for d in (self.dim, self.dim_v))
        return q, k, v

    def all_attributes(self):
        named = dict(self.attributes)
        if self.rank == 3:
            named |= {"q_num_heads": self.heads, "kv_num_heads": self.kv_heads}
        return named


ROWS = {"causal": (("is_causal", 1),), "cap": (("softcap", 2.0),), "scale": (("scale", 0.5),)}
CASES = {
    "plain": Case(),
    "one_head": Case(heads=1, kv_heads=1),
    "rank3": Case(rank=3, dim_v=24),
    "rank3_mask": Case(rank=3, mask=(5, 7)),
    "length1": Case(rows=1, keys=1),
    "one_row": Case(rows=1, keys=33),
    "odd": Case(rows=17, keys=131, heads=2),
    "f32": Case(dtype="f32"),
    "scale": Case(attributes=ROWS["scale"]),
    "softcap": Case(attributes=ROWS["cap"]),
    "softcap_mask": Case(attributes=ROWS["cap"], mask=(2, 4, 5, 7)),
    "causal_square": Case(rows=7, attributes=ROWS["causal"]),
    "causal_more_keys": Case(attributes=ROWS["causal"]),
    "causal_more_rows": Case(rows=9, keys=4, attributes=ROWS["causal"]),
    "causal_mask": Case(attributes=ROWS["causal"], mask=(5, 7)),
    "causal_bool": Case(attributes=ROWS["causal"], mask=(5, 7), bool_mask=True, hide_row=True),
    "mask_ij": Case(mask=(5, 7)),
    "mask_hij": Case(mask=(4, 5, 7)),
    "mask_bhij": Case(mask=(2, 1, 5, 7)),
    "mask_row_broadcast": Case(mask=(2, 1, 1, 7)),
    "mask_bool": Case(mask=(2, 4, 5, 7), bool_mask=True, hide_row=True),
    "mask_inf_row": Case(mask=(5, 7), hide_row=True),
    "mask_short": Case(mask=(5, 4)),
    "mask_short_bool": Case(mask=(5, 4), bool_mask=True),
    "mask_one_column": Case(mask=(5, 1)),
    "past": Case(past=6, outputs=3),
    "past_causal": Case(rows=7, past=6, attributes=ROWS["causal"], outputs=3),
    "past_causal_other_rows": Case(rows=3, keys=5, past=4, attributes=ROWS["causal"]),
    "past_rank3": Case(rank=3, past=6, rows=7, attributes=ROWS["causal"], outputs=3),
    "past_mask": Case(past=6, mask=(5, 13), outputs=3),
    "past_decode": Case(rows=1, keys=1, past=12, attributes=ROWS["causal"], outputs=3),
    "past_dynamic": Case(rows=3, keys=5, past=4, attributes=ROWS["causal"], dynamic=True, outputs=3),
    "present_rank3": Case(rank=3, outputs=3),
    "lengths": Case(lengths=(7, 4)),
    "lengths_none": Case(lengths=(0, 7)),
    "lengths_causal": Case(lengths=(7, 6), attributes=ROWS["causal"]),
    "lengths_causal_few": Case(lengths=(2, 7), attributes=ROWS["causal"]),
    "lengths_mask": Case(lengths=(7, 3), mask=(2, 4, 5, 7)),
    "dynamic": Case(dynamic=True, mask=(5, 7)),
    "dynamic_short_mask": Case(dynamic=True, mask=(5, 4)),
    "dynamic_causal": Case(dynamic=True, attributes=ROWS["causal"]),
    "opset23": Case(opset=23, attributes=ROWS["causal"], rows=7),
    "window": Case(opset=25, rows=9, keys=9, attributes=(("left_window_size", 2), ("right_window_size", 1))),
    "window_causal": Case(opset=25, rows=9, keys=9, attributes=(("left_window_size", 2), *ROWS["causal"])),
    "window_lengths": Case(opset=25, lengths=(7, 6), attributes=(("left_window_size", 3),)),
    "window_past": Case(opset=25, rows=7, past=3, attributes=(("left_window_size", 3), *ROWS["causal"])),
    "everything": Case(rank=3, rows=7, past=9, mask=(2, 4, 7, 16), attributes=sum(ROWS.values(), ()), outputs=3),
}


def tensor(shape, element, dynamic):
    """The type of a tensor; lengths, the third dimension of four and the second of three, may be dynamic."""
    at = {4: 2, 3: 1}.get(len(shape))
    extents = ["?" if dynamic and i == at else str(extent) for i, extent in enumerate(shape)]
    return f"tensor<{'x'.join([*extents, element])}>"


def operand_types(case):
    """The MLIR types of the operands; None for those that are absent."""
    q, k, v = case.shapes()
    past = [(case.batch, case.kv_heads, case.past, d) for d in (case.dim, case.dim_v)] if case.past else [None, None]
    types = [tensor(shape, case.dtype, case.dynamic) for shape in (q, k, v)]
    mask = "x".join("?" if case.dynamic else str(extent) for extent in case.mask)
    types.append(f"tensor<{mask}x{'i1' if case.bool_mask else case.dtype}>" if case.mask else None)
    types += [shape and tensor(shape, case.dtype, case.dynamic) for shape in past]
    return [*types, f"tensor<{case.batch}xi64>" if case.lengths else None]


def result_types(case):
    q, _, v = case.shapes()
    y = (*q[:-1], q[-1] // case.dim * case.dim_v)
    present = [(case.batch, case.kv_heads, case.past + case.keys, d) for d in (case.dim, case.dim_v)]
    return [tensor(shape, case.dtype, case.dynamic) for shape in [y, *present][: case.outputs]]


def function(name, case):
    """The op in the generic form of onnx-mlir, in a function."""
    types = operand_types(case)
    arguments = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types) if type)
    operands = ", ".join(f"%a{i}" if type else "%none" for i, type in enumerate(types))
    words = [f"{key} = {value} : {'si64' if isinstance(value, int) else 'f32'}" for key, value in case.all_attributes().items()]
    results = result_types(case)
    produced = results + ["none"] * (4 - len(results))
    returned = ", ".join(f"%r#{i}" for i in range(len(results)))
    return f"""func.func @{name}({arguments}) -> ({", ".join(results)}) {{
  %none = "onnx.NoValue"() {{value}} : () -> none
  %r:4 = "onnx.Attention"({operands}) {{{", ".join(words)}}} : ({", ".join(type or "none" for type in types)}) -> ({", ".join(produced)})
  return {returned} : {", ".join(results)}
}}
"""


@pytest.fixture(scope="module")
def functions():
    text = "".join(function(name, case) for name, case in CASES.items())
    # The op "onnx.NoValue" stays and has no lowering; nothing uses it any more.
    module = programs.raised(text, "--fmha-raise-named=compute=keep")
    assert "onnx.Attention" not in module
    kept = "\n".join(line for line in module.splitlines() if "onnx.NoValue" not in line)
    return programs.compiled(kept)


def inputs(name, case):
    """The arrays of the operands that are there."""
    seed = zlib.crc32(name.encode())
    print(f"seed {seed}")
    generator = np.random.default_rng(seed)
    element = programs.DTYPES[case.dtype]
    arrays = [generator.standard_normal(shape).astype(element) for shape in case.shapes()]
    mask = None
    if case.mask:
        mask = generator.random(case.mask) < 0.6 if case.bool_mask else generator.standard_normal(case.mask).astype(element)
        if case.hide_row:
            mask[..., 2, :] = False if case.bool_mask else -np.inf
    past = [None, None]
    if case.past:
        shapes = [(case.batch, case.kv_heads, case.past, d) for d in (case.dim, case.dim_v)]
        past = [generator.standard_normal(shape).astype(element) for shape in shapes]
    return [*arrays, mask, *past, np.array(case.lengths, np.int64) if case.lengths else None]


def reference(case, arrays, dtype=np.float64):
    """The results of ONNX's evaluator in float64, in which its roundings are small."""
    names = ["Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"]
    feeds = {}
    for name, array in zip(names, arrays):
        if array is not None:
            feeds[name] = array.astype(dtype) if array.dtype in (np.float16, np.float32) else array
    present = ["Y", "present_key", "present_value"][: case.outputs]
    node = onnx.helper.make_node("Attention", [n if n in feeds else "" for n in names], present, **case.all_attributes())
    info = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()]
    outputs = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, None) for n in present]
    graph = onnx.helper.make_graph([node], "attention", info, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", case.opset)])
    return ReferenceEvaluator(model).run(None, feeds)


@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference(functions, name):
    case = CASES[name]
    arrays = inputs(name, case)
    got = functions[name](*(array for array in arrays if array is not None))
    got = got if isinstance(got, list) else [got]
    want = reference(case, arrays)
    tolerance = 2e-3 if case.dtype == "f16" else 1e-5
    assert np.isfinite(want[0]).all()
    np.testing.assert_allclose(got[0].astype(np.float64), want[0], rtol=tolerance, atol=tolerance)
    for present, expected in zip(got[1:], want[1:]):
        np.testing.assert_array_equal(present.astype(np.float64), expected)


def test_a_fully_masked_row_is_zero(functions):
    name = "mask_bool"
    arrays = inputs(name, CASES[name])
    got = functions[name](*(array for array in arrays if array is not None))
    assert (got[:, :, 2] == 0).all() and (got[:, :, 1] != 0).any()


def test_softcap_after_the_mask():
    """With the other order a key that a finite mask hides has the score of the cap."""
    case = CASES["softcap_mask"]
    text = function("main", case)
    module = programs.raised(text, "--fmha-raise-named=compute=keep onnx-softcap=after-mask")
    kept = "\n".join(line for line in module.splitlines() if "onnx.NoValue" not in line)
    arrays = inputs("softcap_after", case)
    q, k, v, mask = (array.astype(np.float64) for array in arrays[:4])
    k, v = (np.repeat(x, 2, axis=1) for x in (k, v))
    scores = 2.0 * np.tanh((q @ k.swapaxes(-1, -2) / 4.0 + mask) / 2.0)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ v
    got = programs.compiled(kept)["main"](*(array for array in arrays if array is not None))
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2e-3, atol=2e-3)
