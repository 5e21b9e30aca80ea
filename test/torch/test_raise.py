"""Attention of PyTorch, and of StableHLO's composites, that fmha-raise-named raises, against PyTorch's function."""

import dataclasses
import pathlib
import sys

import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Conversion/Raise"))

import programs  # noqa: E402

DTYPES = {"f16": torch.float16, "f32": torch.float32}


@dataclasses.dataclass(frozen=True)
class Case:
    """One op; q, k and v are [batch, heads, length, dim] of PyTorch, or of rank 3 or 2."""

    form: str
    batch: tuple = (2,)
    heads: tuple = (4,)
    kv_heads: tuple = (4,)
    rows: int = 5
    keys: int = 7
    dim: int = 16
    dim_v: int = 16
    dtype: str = "f16"
    mask: tuple = ()
    bool_mask: bool = False
    hide_row: bool = False
    causal: bool = False
    scale: float | None = None
    int_scale: bool = False
    dynamic: bool = False

    def shapes(self):
        """q, k, v and the output, as PyTorch has them."""
        kv = (*self.batch, *self.kv_heads, self.keys)
        q = (*self.batch, *self.heads, self.rows)
        return (*q, self.dim), (*kv, self.dim), (*kv, self.dim_v), (*q, self.dim_v)


def torch_cases():
    yield "plain", Case("torch")
    yield "f32", Case("torch", dtype="f32")
    yield "rank3", Case("torch", batch=())
    yield "rank2", Case("torch", batch=(), heads=(), kv_heads=())
    yield "grouped", Case("torch", heads=(6,), kv_heads=(2,))
    yield "length1", Case("torch", rows=1, keys=1)
    yield "odd", Case("torch", rows=17, keys=131, dim_v=24)
    yield "causal", Case("torch", causal=True, rows=9, keys=9)
    yield "causal_more_keys", Case("torch", causal=True)
    yield "causal_more_rows", Case("torch", causal=True, rows=9, keys=4)
    yield "scale", Case("torch", scale=0.7)
    yield "mask2", Case("torch", mask=(5, 7))
    yield "mask_row", Case("torch", mask=(5, 1))
    yield "mask_heads", Case("torch", mask=(4, 5, 7))
    yield "mask_batch", Case("torch", mask=(2, 1, 1, 7))
    yield "mask_rank3", Case("torch", batch=(), mask=(4, 5, 7))
    yield "bool", Case("torch", mask=(2, 4, 5, 7), bool_mask=True, hide_row=True)
    yield "hidden", Case("torch", mask=(5, 7), hide_row=True)
    yield "dynamic", Case("torch", mask=(5, 7), dynamic=True)
    yield "dynamic_causal", Case("torch", causal=True, dynamic=True)


def other_cases():
    yield "tm", Case("tm_tensor", batch=(), heads=(6,), kv_heads=(6,))
    yield "tm_rank4", Case("tm_tensor")
    yield "tm_scale", Case("tm_tensor", batch=(), scale=0.3)
    yield "tm_mask", Case("tm_tensor", batch=(), mask=(4, 5, 7))
    yield "tm_bool", Case("tm_tensor", mask=(2, 4, 5, 7), bool_mask=True, hide_row=True)
    yield "tm_dynamic", Case("tm_tensor", batch=(), mask=(4, 5, 7), dynamic=True)
    yield "tm_one", Case("tm_tensor", batch=(), rows=1, keys=1)
    for name, form in (("tt", "tenstorrent"), ("odml", "odml")):
        yield name, Case(form)
        yield f"{name}_one", Case(form, rows=1, keys=1)
        yield f"{name}_odd", Case(form, rows=17, keys=131)
        yield f"{name}_grouped", Case(form, heads=(6,), kv_heads=(2,))
        yield f"{name}_scale", Case(form, scale=0.7)
        yield f"{name}_int_scale", Case(form, scale=1.0, int_scale=True)
        yield f"{name}_mask", Case(form, mask=(2, 1, 5, 7))
        yield f"{name}_bool", Case(form, mask=(1, 4, 5, 7), bool_mask=True, hide_row=True)
        yield f"{name}_hidden", Case(form, mask=(1, 1, 5, 7), hide_row=True)
    yield "tt_causal", Case("tenstorrent", causal=True)
    yield "tt_rank3", Case("tenstorrent", batch=(), mask=(4, 5, 7))
    yield "odml_f32", Case("odml", dtype="f32", dynamic=True)


CASES = dict(torch_cases()) | dict(other_cases())


def extents(shape, dynamic, at=-2):
    """A shape as a list of words, with a dynamic length if asked for."""
    return ["?" if dynamic and i == len(shape) + at else str(extent) for i, extent in enumerate(shape)]


def tensor(shape, element, dynamic=False, at=-2):
    return f"tensor<{'x'.join([*extents(shape, dynamic, at), element])}>"


def mask_type(case):
    words = ["?" if case.dynamic else str(extent) for extent in case.mask]
    return f"tensor<{'x'.join([*words, 'i1' if case.bool_mask else case.dtype])}>"


def vtensor(builtin):
    """PyTorch's type of a builtin tensor."""
    *shape, element = builtin[len("tensor<") : -1].split("x")
    return f"!torch.vtensor<[{','.join(shape)}],{element}>"


def write_torch(name, case):
    types = [tensor(shape, case.dtype, case.dynamic) for shape in case.shapes()]
    inputs = types[:3] + ([mask_type(case)] if case.mask else [])
    lines = [f'  %v{i} = "torch_c.from_builtin_tensor"(%a{i}) : ({t}) -> {vtensor(t)}' for i, t in enumerate(inputs)]
    scale = "!torch.float" if case.scale is not None else "!torch.none"
    mask, mask_text = ("%v3", vtensor(mask_type(case))) if case.mask else ("%none", "!torch.none")
    operands = f"%v0, %v1, %v2, {mask}, %p, %causal, {'%scale' if case.scale is not None else '%none'}, %gqa"
    qkv = ", ".join(vtensor(t) for t in types[:3])
    return f"""func.func @{name}({", ".join(f"%a{i}: {t}" for i, t in enumerate(inputs))}) -> ({types[3]}) {{
{chr(10).join(lines)}
  %none = "torch.constant.none"() : () -> !torch.none
  %p = "torch.constant.float"() {{value = 0.0 : f64}} : () -> !torch.float
  %scale = "torch.constant.float"() {{value = {case.scale or 0.0} : f64}} : () -> !torch.float
  %causal = "torch.constant.bool"() {{value = {str(case.causal).lower()}}} : () -> !torch.bool
  %gqa = "torch.constant.bool"() {{value = {str(case.heads != case.kv_heads).lower()}}} : () -> !torch.bool
  %o = "torch.aten.scaled_dot_product_attention"({operands}) : ({qkv}, {mask_text}, !torch.float, !torch.bool, {scale}, !torch.bool) -> {vtensor(types[3])}
  %r = "torch_c.to_builtin_tensor"(%o) : ({vtensor(types[3])}) -> {types[3]}
  return %r : {types[3]}
}}
"""


def header(name, inputs, result):
    return f"func.func @{name}({', '.join(f'%a{i}: {t}' for i, t in enumerate(inputs))}) -> ({result}) {{\n"


def write_tm_tensor(name, case):
    types = [tensor(shape, case.dtype, case.dynamic) for shape in case.shapes()]
    inputs = types[:3] + ([mask_type(case)] if case.mask else [])
    attributes = f"operandSegmentSizes = array<i32: {len(inputs)}, 1>"
    if case.scale is not None:
        attributes += f", scale = {case.scale} : f64"
    operands = ", ".join([*(f"%a{i}" for i in range(len(inputs))), "%e"])
    return f"""{header(name, [*inputs, types[3]], types[3])}  %e = tensor.cast %a{len(inputs)} : {types[3]} to {types[3]}
  %o = "tm_tensor.attention"({operands}) {{{attributes}}} : ({", ".join([*inputs, types[3]])}) -> {types[3]}
  return %o : {types[3]}
}}
"""


def write_composite(name, case):
    callee = f"{case.form}.scaled_dot_product_attention"
    shapes = case.shapes()
    at = -2
    if case.form == "odml":
        shapes = [(*s[:-3], s[-2], s[-3], s[-1]) for s in shapes]
        at = -3
    types = [tensor(shape, case.dtype, case.dynamic, at) for shape in shapes]
    inputs = types[:3] + ([mask_type(case)] if case.mask else [])
    attributes = [f"is_causal = {str(case.causal).lower()}"] if case.form == "tenstorrent" else []
    if case.scale is not None:
        attributes.append("scale = 1 : i64" if case.int_scale else f"scale = {case.scale} : f32")
    operands = ", ".join(f"%a{i}" for i in range(len(inputs)))
    properties = f'name = "{callee}", composite_attributes = {{{", ".join(attributes)}}}, decomposition = @impl'
    return f"""{header(name, inputs, types[3])}  %o = "stablehlo.composite"({operands}) <{{{properties}}}> : ({", ".join(inputs)}) -> {types[3]}
  return %o : {types[3]}
}}
"""


WRITERS = {"torch": write_torch, "tm_tensor": write_tm_tensor, "tenstorrent": write_composite, "odml": write_composite}


@pytest.fixture(scope="module")
def functions():
    text = "".join(WRITERS[case.form](name, case) for name, case in CASES.items())
    module = programs.raised(text, "--fmha-raise-named=compute=keep")
    assert not any(op in module for op in ('"torch.aten', '"tm_tensor', '"stablehlo', '"torch_c'))
    return programs.compiled("\n".join(line for line in module.splitlines() if '"torch.constant' not in line))


@pytest.mark.parametrize("name", CASES)
def test_equals_pytorch(functions, random, name):
    case = CASES[name]
    dtype = DTYPES[case.dtype]
    *shapes, out_shape = case.shapes()
    q, k, v = (random(*shape, dtype=dtype) for shape in shapes)
    mask = None
    if case.mask:
        mask = random(*case.mask, dtype=torch.float32) > -0.3 if case.bool_mask else random(*case.mask, dtype=dtype)
        if case.hide_row:
            mask[..., 2, :] = False if case.bool_mask else -torch.inf
    arrays = [x.transpose(-2, -3).contiguous() if case.form == "odml" else x for x in (q, k, v)]
    arrays += [mask] if mask is not None else []
    arrays += [torch.full(out_shape, torch.nan, dtype=dtype)] if case.form == "tm_tensor" else []
    got = torch.from_numpy(functions[name](*(x.numpy() for x in arrays)))
    if case.form == "odml":
        got = got.transpose(-2, -3)
    wide = mask.double() if mask is not None and not case.bool_mask else mask
    want = torch.nn.functional.scaled_dot_product_attention(
        *(x.double() for x in (q, k, v)), attn_mask=wide, is_causal=case.causal, scale=case.scale, enable_gqa=case.heads != case.kv_heads
    )
    # PyTorch gives rows that see no key as zeros, from a mask of bool, or NaN, from one of -inf.
    if case.hide_row:
        assert (got[..., 2, :] == 0).all()
    seen = want.isfinite()
    assert seen.all() or case.hide_row
    tolerance = 2e-3 if case.dtype == "f16" else 1e-5
    torch.testing.assert_close(got.double()[seen], want[seen], rtol=tolerance, atol=tolerance)
