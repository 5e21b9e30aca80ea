"""cuDNN's custom calls and StableHLO's composites, as JAX emits them, that fmha-raise-named raises."""

import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.cudnn import fused_attention_stablehlo as cudnn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Conversion/Raise"))

import programs  # noqa: E402

MASKS = cudnn.MaskType


def call_cudnn(q, k, v, bias=None, lengths=(None, None), *, scale=0.25, mask=MASKS.NO_MASK, window=None, training=False, layout="BTNH"):
    """What jax.nn.dot_product_attention(implementation="cudnn") lowers to; JAX itself asks for a GPU before."""
    empty = [jnp.zeros((0,), q.dtype)] * 4
    lengths = [jnp.zeros((0,), jnp.int32) if length is None else length for length in lengths]
    made = cudnn._dot_product_attention_fwd_impl(
        q, k, v, jnp.zeros((0,), q.dtype) if bias is None else bias, *lengths, *empty, scale, 42, 0.0, (bias is not None, False),
        mask, cudnn.AttentionLayout[layout].value, window, training,
    )  # fmt: skip
    return made if training else made[:1]


def call_jax(q, k, v, bias=None, lengths=(None, None), *, scale=0.25, mask=MASKS.NO_MASK, window=None, training=False, layout="BTNH"):
    """The same by XLA, in f32."""
    q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
    if layout == "BNTH":
        q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    causal = mask in (MASKS.CAUSAL, MASKS.PADDING_CAUSAL)
    made = jax.nn.dot_product_attention(
        q, k, v, bias=bias, query_seq_lengths=lengths[0], key_value_seq_lengths=lengths[1], scale=scale, is_causal=causal,
        local_window_size=None if window is None else (window - 1, 0), return_residual=True, implementation="xla",
    )  # fmt: skip
    out, lse = made
    if lengths[0] is not None:
        # XLA's rows after the length of a sequence are not zero, cuDNN's are.
        live = jnp.arange(q.shape[1])[None] < lengths[0][:, None]
        out = jnp.where(live[:, :, None, None], out, 0)
    return [out if layout == "BTNH" else out.swapaxes(1, 2), *([lse.swapaxes(1, 2)] if training else [])]


def sdpa(q, k, v, *mask, scale, logit_cap=None):
    """PyTorch's function on [batch, heads, length, dim], with a soft cap."""
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) * scale
    if logit_cap is not None:
        scores = logit_cap * jnp.tanh(scores / logit_cap)
    if mask:
        scores = jnp.where(mask[0], scores, -jnp.inf) if mask[0].dtype == bool else scores + mask[0]
    return jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(scores), v)


def sdpa_blhd(q, k, v, *mask, **attributes):
    return sdpa(*(x.swapaxes(1, 2) for x in (q, k, v)), *mask, **attributes).swapaxes(1, 2)


def composite(function, name):
    """JAX's composite of a function, and the function."""
    made = jax.lax.composite(function, name=f"{name}.scaled_dot_product_attention")
    return lambda *operands, **attributes: [made(*operands, **attributes)], lambda *operands, **attributes: [function(*operands, **attributes)]


BY_CUDNN = (call_cudnn, call_jax)
ODML, TENSTORRENT = composite(sdpa_blhd, "odml"), composite(sdpa, "tenstorrent")


def qkv(rows=5, keys=7, heads=4, kv_heads=4, layout="BTNH", dtype=np.float16):
    shapes = [(2, rows, heads, 16), (2, keys, kv_heads, 16), (2, keys, kv_heads, 16)]
    return [(tuple(s if layout == "BTNH" else (s[0], s[2], s[1], s[3])), dtype) for s in shapes]


def array(*shape, dtype=np.float16):
    return (shape, dtype)


LENGTHS = (np.array([5, 2], np.int32), np.array([3, 7], np.int32))
# The functions, the operands (shapes, or arrays), and keywords.
CASES = {
    "plain": (BY_CUDNN, qkv(), {}),
    "heads_first": (BY_CUDNN, qkv(layout="BNTH"), {"layout": "BNTH"}),
    "grouped": (BY_CUDNN, qkv(heads=6, kv_heads=2), {}),
    "scale": (BY_CUDNN, qkv(), {"scale": 0.7}),
    "residual": (BY_CUDNN, qkv(), {"training": True}),
    "causal": (BY_CUDNN, qkv(9, 9), {"mask": MASKS.CAUSAL}),
    "causal_more_keys": (BY_CUDNN, qkv(), {"mask": MASKS.CAUSAL}),
    "window": (BY_CUDNN, qkv(9, 9), {"mask": MASKS.CAUSAL, "window": 3}),
    "window_of_one": (BY_CUDNN, qkv(9, 9), {"mask": MASKS.CAUSAL, "window": 1}),
    "bias": (BY_CUDNN, [*qkv(), array(1, 4, 5, 7)], {}),
    "bias_of_batches": (BY_CUDNN, [*qkv(), array(2, 1, 5, 7)], {"training": True}),
    "bias_causal": (BY_CUDNN, [*qkv(7, 7), array(2, 4, 7, 7)], {"mask": MASKS.CAUSAL}),
    "padding": (BY_CUDNN, [*qkv(), None, LENGTHS], {"mask": MASKS.PADDING}),
    "padding_causal": (BY_CUDNN, [*qkv(7, 7), None, LENGTHS], {"mask": MASKS.PADDING_CAUSAL}),
    "padding_bias": (BY_CUDNN, [*qkv(), array(2, 4, 5, 7), LENGTHS], {"mask": MASKS.PADDING}),
    "one": (BY_CUDNN, qkv(1, 1), {}),
    "odd": (BY_CUDNN, qkv(17, 131), {}),
    "odml": (ODML, qkv(), {"scale": 0.25}),
    "odml_mask": (ODML, [*qkv(), array(1, 1, 5, 7)], {"scale": 0.25}),
    "odml_bool": (ODML, [*qkv(), array(2, 1, 5, 7, dtype=np.bool_)], {"scale": 0.25}),
    "odml_cap": (ODML, [*qkv(), array(1, 1, 5, 7)], {"scale": 1.5, "logit_cap": 2.0}),
    "odml_odd": (ODML, qkv(17, 131, dtype=np.float32), {"scale": 1}),
    "tenstorrent": (TENSTORRENT, qkv(layout="BNTH"), {"scale": 0.25}),
    "tenstorrent_mask": (TENSTORRENT, [*qkv(layout="BNTH"), array(2, 4, 5, 7)], {"scale": 1}),
}


def fill(operand, generator):
    """A random array of a shape; lengths and absent operands as they are."""
    if operand is None or isinstance(operand[0], np.ndarray):
        return operand
    shape, dtype = operand
    values = generator.standard_normal(shape)
    return values > -0.5 if dtype == np.bool_ else values.astype(dtype)


@pytest.fixture(scope="module")
def inputs():
    seed = 20261127
    print(f"seed {seed}")
    generator = np.random.default_rng(seed)
    return {name: [fill(operand, generator) for operand in operands] for name, (_, operands, _) in CASES.items()}


def lowered(inputs):
    """The module that JAX emits for all cases together, for CUDA."""

    def everything(inputs):
        return {name: CASES[name][0][0](*operands, **CASES[name][2]) for name, operands in inputs.items()}

    made = jax.jit(everything).trace(inputs).lower(lowering_platforms=("cuda",))
    return made.compiler_ir().operation.get_asm(print_generic_op_form=True)


@pytest.fixture(scope="module")
def results(inputs):
    """The outputs of the raised program, by case."""
    module = programs.raised(lowered(inputs), "--fmha-raise-named=compute=keep", "--symbol-dce")
    assert "custom_call" not in module and "composite" not in module
    module = module.replace('"stablehlo.transpose"', '"fmha.transpose"').replace("func.func public", "func.func")
    module = re.sub(r' \{jax\.result_info = "[^"]*"\}', "", module)
    kept = "\n".join(line for line in module.splitlines() if "stablehlo." not in line)
    leaves, structure = jax.tree.flatten(inputs)
    made = programs.compiled(kept)["main"](*(np.asarray(leaf) for leaf in leaves))
    counts = {name: 2 if CASES[name][2].get("training") else 1 for name in sorted(CASES)}
    taken = iter(made)
    return {name: [next(taken) for _ in range(count)] for name, count in counts.items()}


@pytest.mark.parametrize("name", CASES)
def test_equals_jax(results, inputs, name):
    (_, reference), _, keywords = CASES[name]
    operands = [x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float16 else x for x in inputs[name]]
    for got, want in zip(results[name], reference(*operands, **keywords), strict=True):
        want = np.asarray(want, np.float64)
        assert np.isfinite(want).all()
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=2e-3, atol=2e-3)


def test_rows_after_the_length_of_a_sequence_are_zero(results):
    out = results["padding"][0]
    assert (out[1, 2:] == 0).all() and (out[1, :2] != 0).any() and (out[0] != 0).any()
