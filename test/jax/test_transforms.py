"""jit, vmap, shard_map, loops and derivatives."""

import fmha.jax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import STATIC, assert_close, reference
from jax.experimental.serialize_executable import deserialize_and_load, serialize
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

attention = fmha.jax.dot_product_attention


def with_arrays(function):
    """A function of all arrays."""

    def call(q, k, v, bias, mask, lengths):
        return function(q, k, v, bias, mask, query_seq_lengths=lengths, key_value_seq_lengths=lengths)

    return call


def test_jit_takes_what_is_known_while_tracing(problem):
    operands = problem(9, 9)
    jitted = jax.jit(attention, static_argnames=(*STATIC, "masked_rows"))
    assert (jitted(*operands, is_causal=True) == attention(*operands, is_causal=True)).all()


def test_an_executable_runs_again_and_again(problem):
    compiled = jax.jit(attention).lower(*problem(9, 9)).compile()
    for seed in range(2):
        operands = [array + seed for array in problem(9, 9)]
        assert_close(compiled(*operands), reference(*operands))


def test_an_executable_outlives_its_bytes(problem):
    operands = problem(9, 9)
    compiled = jax.jit(attention).lower(*operands).compile()
    loaded = deserialize_and_load(*serialize(compiled), execution_devices=jax.devices()[:1])
    assert (loaded(*operands) == compiled(*operands)).all()


@pytest.mark.parametrize("axes", [(0, 0, 0), (0, None, None), (None, 0, 0), (3, 1, 2)], ids=str)
def test_vmap_folds_its_axis_into_the_batch(problem, axes):
    sizes = [3 if axis is not None else 1 for axis in axes]
    q, k, v = problem(5, 9, batch=6)
    split = [array.reshape(3, 2, *array.shape[1:])[:size] for array, size in zip((q, k, v), sizes)]
    given = [array[0] if axis is None else jnp.moveaxis(array, 0, axis) for array, axis in zip(split, axes)]
    out = jax.jit(jax.vmap(attention, axes))(*given)
    want = [jnp.broadcast_to(array, (3, *array.shape[1:])).reshape(6, *array.shape[2:]) for array in split]
    assert_close(out.reshape(6, *out.shape[2:]), reference(*want))


@pytest.mark.parametrize("batch_of_bias", [1, 2])
def test_vmap_of_all_arrays(problem, random, batch_of_bias):
    q, k, v = problem(5, 9, batch=6)
    bias = random(batch_of_bias, 4, 1, 9, dtype=jnp.float32)
    mask = random(3, 2, 1, 5, 9, dtype=jnp.float32) > -0.5
    lengths = jnp.array([[1, 9], [3, 4], [0, 2]], jnp.int32)
    split = [array.reshape(3, 2, *array.shape[1:]) for array in (q, k, v)]
    out = jax.vmap(with_arrays(attention), (0, 0, 0, None, 0, 0))(*split, bias, mask, lengths)
    bias = jnp.broadcast_to(bias, (3, 2, *bias.shape[1:])).reshape(6, *bias.shape[1:])
    want = with_arrays(reference)(q, k, v, bias, mask.reshape(6, 1, 5, 9), lengths.reshape(6))
    assert_close(out.reshape(q.shape), want)


def test_vmap_of_vmap_and_of_operands_without_a_batch(problem):
    q, k, v = problem(5, 9, batch=4)
    split = [array.reshape(2, 2, *array.shape[1:]) for array in (q, k, v)]
    assert_close(jax.vmap(jax.vmap(attention))(*split).reshape(q.shape), reference(q, k, v))


SPECS = {
    "batch": (P("x"), P("x"), P("x")),
    "heads": (P(None, None, "x"),) * 3,
    "rows": (P(None, "x"), P(), P()),  # Keys and values are the same on both devices.
}


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("specs", SPECS.values(), ids=SPECS)
def test_shard_map_on_two_devices(problem, specs, check_vma):
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    operands = problem(6, 9)
    mapped = jax.shard_map(attention, mesh=mesh, in_specs=specs, out_specs=specs[0], check_vma=check_vma)
    out = jax.jit(mapped)(*(jax.device_put(array, NamedSharding(mesh, spec)) for array, spec in zip(operands, specs)))
    assert len(out.sharding.device_set) == 2
    assert_close(out, reference(*operands))


def test_shard_map_of_a_residual_and_a_mask(problem, random):
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    operands = problem(5, 9)
    mask = random(1, 1, 5, 9, dtype=jnp.float32) > -0.5

    def attend(q, k, v, mask):
        return attention(q, k, v, mask=mask, return_residual=True)

    mapped = jax.shard_map(attend, mesh=mesh, in_specs=(*SPECS["batch"], P()), out_specs=(P("x"), P("x")))
    out, lse = jax.jit(mapped)(*operands, mask)
    assert_close(out, reference(*operands, None, mask), lse)


def test_scan_and_remat(problem):
    q, k, v = problem(5, 9)
    _, out = jax.lax.scan(lambda carry, row: (carry, jax.checkpoint(attention)(row, k, v)), 0, jnp.stack([q, q + 1]))
    assert_close(out[1], reference(q + 1, k, v))


def loss(*operands):
    return attention(*operands).astype(jnp.float32).sum()


@pytest.mark.parametrize(
    "derivative",
    [
        jax.grad(loss),
        jax.jit(jax.grad(loss, 2)),
        jax.grad(lambda q, k, v: jax.vmap(loss)(q[None], k[None], v[None]).sum(), 1),
        lambda q, k, v: jax.jvp(lambda q: attention(q, k, v), (q,), (q,)),
        lambda q, k, v: jax.grad(lambda bias: loss(q, k, v, bias))(jnp.zeros((1, 1, 5, 9))),
    ],
    ids=["grad", "jit", "vmap", "jvp", "bias"],
)
def test_derivatives_are_refused_while_tracing(problem, derivative):
    with pytest.raises(NotImplementedError, match="no backward kernel.*call jax.nn.dot_product_attention where gradients are needed"):
        jax.eval_shape(derivative, *problem(5, 9))


def test_a_gradient_that_does_not_pass_through_is_no_error(problem):
    operands = problem(5, 9)
    gradient = jax.grad(lambda factor: factor * loss(*map(jax.lax.stop_gradient, operands)))(1.0)
    assert np.isclose(gradient, loss(*operands))
