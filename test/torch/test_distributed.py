"""Attention on the ranks of process groups: rings, gathered keys, DTensors, and torch's context parallelism.

Run as a program, this file is the ranks: it forks them, so that they share the time of its imports, and writes what each case raised."""

import json
import os
import pathlib
import random as numbers
import re
import subprocess
import sys
import traceback

import fmha.torch
import pytest
import torch
from conftest import UNIT, assert_close, reference

CASES = {}  # By name: the number of ranks, and the function that each of them calls.
# Lengths of queries and keys, then: causal, strategy, order, query heads and KV heads, dims of Q and V, layout and type.
RING = {
    "zigzag": ((128, 128), True, "ring", "zigzag", (2, 1), (64, 64), "bshd", torch.bfloat16),
    "zigzag of 128 columns": ((72, 72), True, "ring", "zigzag", (2, 2), (128, 128), "bhsd", torch.float16),
    "no mask": ((64, 130), False, "ring", "zigzag", (4, 2), (64, 32), "bhsd", torch.bfloat16),
    "contiguous": ((128, 128), True, "ring", "contiguous", (2, 1), (64, 64), "bshd", torch.float16),
    "uneven": ((131, 131), True, "ring", "zigzag", (2, 1), (64, 64), "bhsd", torch.bfloat16),
    "more keys": ((65, 131), True, "ring", "zigzag", (2, 2), (64, 64), "bshd", torch.bfloat16),
    "rows without keys": ((70, 9), True, "ring", "contiguous", (2, 1), (64, 64), "bshd", torch.bfloat16),
    "one token": ((1, 1), True, "ring", "zigzag", (2, 1), (64, 64), "bshd", torch.bfloat16),
    "ranks without keys": ((5, 1), False, "ring", "contiguous", (2, 2), (64, 64), "bshd", torch.bfloat16),
    "no keys": ((5, 0), False, "ring", "zigzag", (2, 1), (64, 64), "bshd", torch.bfloat16),
    "gathered": ((128, 128), True, "all_gather", "zigzag", (4, 2), (128, 64), "bshd", torch.bfloat16),
    "gathered, uneven": ((65, 131), True, "all_gather", "zigzag", (2, 1), (64, 64), "bhsd", torch.float16),
    "gathered, no mask": ((3, 66), False, "all_gather", "contiguous", (2, 2), (64, 64), "bshd", torch.bfloat16),
}
RING_OF_FOUR = {
    "four zigzag": ((96, 96), True, "ring", "zigzag", (2, 1), (64, 64), "bshd", torch.bfloat16),
    "four uneven": ((67, 75), True, "ring", "contiguous", (1, 1), (64, 64), "bhsd", torch.float16),
}


def case(world):
    def add(function):
        CASES[function.__name__] = world, function
        return function

    return add


def drawn(name, *shapes, dtype=torch.bfloat16):
    generator = torch.Generator().manual_seed(sum(name.encode()))
    return [torch.randn(*shape, generator=generator).to(dtype) for shape in shapes]


def check_ring(name, lengths, causal, strategy, order, heads, dims, layout, dtype):
    """That ranks together have what float64 and one rank have."""
    from fmha.torch.distributed import ring_attention, shard, unshard

    (rows, keys), dim = lengths, 1 if layout == "bshd" else 2
    q, k, v = drawn(name, (2, rows, heads[0], dims[0]), (2, keys, heads[1], dims[0]), (2, keys, heads[1], dims[1]), dtype=dtype)
    given = [t if layout == "bshd" else t.transpose(1, 2).contiguous() for t in (q, k, v)]
    own = [shard(t, order=order, dim=dim) for t in given]
    words = dict(causal=causal, layout=layout, scale=0.2, lse=True)
    out, lse = ring_attention(*own, strategy=strategy, order=order, q_len=rows, kv_len=keys, **words)
    assert out.dtype == dtype and out.shape == (*own[0].shape[:-1], dims[1]) and out.stride()[-1] == 1
    out, lse = unshard(out, length=rows, order=order, dim=dim), unshard(lse, length=rows, order=order, dim=2)
    alone, alone_lse = fmha.torch.attention(*given, **words)
    assert torch.equal(lse == -torch.inf, alone_lse == -torch.inf) and (strategy == "ring" or torch.equal(out, alone))
    if keys:
        expected = reference(q, k, v, "causal" if causal else "none", scale=0.2)
        for found in ((out, lse), (alone, alone_lse)):
            assert_close(found[0] if layout == "bshd" else found[0].transpose(1, 2), found[1], expected, UNIT[dtype])
    else:
        assert not out.any() and (lse == -torch.inf).all()


for world, some in ((2, RING), (4, RING_OF_FOUR)):
    for name, arguments in some.items():
        CASES[name] = world, lambda name=name, arguments=arguments: check_ring(name, *arguments)


def raises(error, message, call, **given):
    with pytest.raises(error, match=message):
        call(**given)


@case(2)
def errors_on_all_ranks():
    import torch.distributed as dist
    from fmha.torch.distributed import ring_attention, unshard
    from torch.distributed.tensor import DTensor, init_device_mesh

    rank = dist.get_rank()
    q, k = drawn("errors", (1, 8, 2, 64), (1, 8, 2, 64))
    some = q[:, : 8 - rank]
    raises(ValueError, "q_len: expected the same on all ranks, got 16 on rank 0 and 14 on rank 1; .* pass q_len and kv_len", ring_attention, q=some, k=k, v=k)
    raises(ValueError, "causal: expected the same on all ranks, got True on rank 0 and False on rank 1", ring_attention, q=q, k=k, v=k, causal=rank == 0)
    raises(ValueError, r"kv_len: expected 10 of 20 tokens on rank . of 2 in zigzag order, got 8; .*shard\(\)", ring_attention, q=q, k=k, v=k, kv_len=20)
    raises(NotImplementedError, "k: expected a tensor whose gradient is not needed, .* got requires_grad=True", ring_attention, q=q, k=k.requires_grad_(), v=q)
    raises(TypeError, "q: expected float16 or bfloat16, got torch.float32", ring_attention, q=q.float(), k=q, v=q)
    raises(TypeError, "v: expected torch.bfloat16 on cpu, as q, got torch.float16", ring_attention, q=q, k=q, v=q.half())
    raises(ValueError, "strategy: expected 'ring' or 'all_gather', got 'tree'", ring_attention, q=q, k=q, v=q, strategy="tree")
    raises(ValueError, "length: expected the same on all ranks", unshard, tensor=some)
    mesh = init_device_mesh("cpu", (2,))
    raises(TypeError, "q: expected the tokens of this rank, got a DTensor", ring_attention, q=DTensor.from_local(q, mesh), k=q, v=q)
    raises(ValueError, "group: expected a mesh of one dimension, got 2", ring_attention, q=q, k=q, v=q, group=init_device_mesh("cpu", (1, 2)))
    with torch.no_grad():
        assert ring_attention(q, k, q, group=mesh).shape == q.shape


def counted(call):
    """Returns what a call returns, and how often it communicates."""
    from torch.distributed.tensor.debug import CommDebugMode

    with CommDebugMode() as mode:
        result = call()
    return result, mode.get_total_counts()


def check_sharded(mesh, tensors, placements, expected, silent=True, **options):
    """That DTensors give what tensors give, with placements of the output, and without communication if it is `silent`."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    given = [distribute_tensor(t, mesh, placed) for t, placed in zip(tensors, placements)]
    (out, lse), count = counted(lambda: fmha.torch.attention(*given, lse=True, **options))
    assert isinstance(out, DTensor) and (list(out.placements), count == 0) == (expected, silent), (out.placements, count)
    whole = {name: value.full_tensor() if isinstance(value, DTensor) else value for name, value in options.items()}
    for got, want in zip((out, lse), fmha.torch.attention(*tensors, lse=True, **whole)):
        assert torch.equal(got.full_tensor(), want)


@case(2)
def dtensors_are_sharded_without_communication():
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

    mesh, whole = init_device_mesh("cpu", (2,)), Replicate()
    tensors = drawn("dtensors", (2, 12, 4, 64), (2, 12, 2, 64), (2, 12, 2, 64))
    turned = [t.transpose(1, 2) for t in tensors]
    lens = distribute_tensor(torch.tensor([3, 12], dtype=torch.int32), mesh, [whole])
    sink = distribute_tensor(torch.tensor([0.5, 1, 2, -3]), mesh, [Shard(0)])
    bias = distribute_tensor(torch.randn(1, 4, 12, 12, generator=torch.Generator().manual_seed(1)), mesh, [Shard(1)])
    # The same shapes with another mask have other shardings.
    for mask in ("none", "causal"):
        for placed in ([Shard(0)], [Shard(2)]):
            check_sharded(mesh, tensors, [placed] * 3, placed, mask=mask)
    check_sharded(mesh, turned, [[Shard(1)]] * 3, [Shard(1)], mask="causal", layout="bhsd")
    check_sharded(mesh, tensors, [[Shard(0)]] * 3, [Shard(0)], kv_lens=lens)
    check_sharded(mesh, tensors, [[Shard(2)]] * 3, [Shard(2)], sink=sink, bias=bias, window=(3, 0))
    queries = [[Shard(1)], [whole], [whole]]
    check_sharded(mesh, tensors, queries, [Shard(1)])
    # Rows of a causal mask are counted from the first one.
    check_sharded(mesh, tensors, queries, [whole], silent=False, mask="causal")


@case(2)
def dtensors_of_odd_heads_are_gathered():
    from torch.distributed.tensor import Replicate, Shard, init_device_mesh

    mesh = init_device_mesh("cpu", (2,))
    tensors = drawn("odd", (1, 9, 6, 64), (1, 9, 3, 64), (1, 9, 3, 64))
    check_sharded(mesh, tensors, [[Shard(2)]] * 3, [Replicate()], silent=False, mask="causal")


@case(2)
def packed_dtensors_by_heads():
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

    mesh = init_device_mesh("cpu", (2,))
    tensors = drawn("packed", (20, 4, 64), (20, 2, 64), (20, 2, 64))
    starts = torch.tensor([0, 7, 20], dtype=torch.int32)
    places = distribute_tensor(starts, mesh, [Replicate()])
    given = [distribute_tensor(t, mesh, [Shard(1)]).requires_grad_() for t in tensors]
    leaves = [t.clone().requires_grad_() for t in tensors]
    out, count = counted(lambda: fmha.torch.varlen_attention(*given, places, places, causal=True))
    assert out.placements == (Shard(1),) and count == 0
    wanted = fmha.torch.varlen_attention(*leaves, starts, starts, causal=True)
    assert torch.equal(out.full_tensor(), wanted)
    out.sum().backward()
    wanted.sum().backward()
    for got, want in zip(given, leaves):
        assert got.grad.placements == (Shard(1),) and torch.equal(got.grad.full_tensor(), want.grad)


@case(2)
def gradients_of_dtensors():
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    mesh = init_device_mesh("cpu", (2,))
    tensors = drawn("gradients", (2, 9, 4, 64), (2, 9, 2, 64), (2, 9, 2, 64))
    for placed in (Shard(0), Shard(2)):
        given = [distribute_tensor(t, mesh, [placed]).requires_grad_() for t in tensors]
        leaves = [t.clone().requires_grad_() for t in tensors]
        _, count = counted(lambda: fmha.torch.attention(*given, causal=True).sum().backward())
        assert count == 0
        fmha.torch.attention(*leaves, causal=True).sum().backward()
        for got, want in zip(given, leaves):
            assert got.grad.placements == (placed,) and torch.equal(got.grad.full_tensor(), want.grad)


@case(2)
def blocks_of_the_page():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs/pytorch.md"
    q, k, v = drawn("page", (1, 16, 4, 64), (1, 16, 2, 64), (1, 16, 2, 64))
    names = dict(q=q, k=k, v=v, fmha=fmha)
    blocks = re.findall(r"^```python ranks\n(.*?)^```", page.read_text(), re.M | re.S)
    assert len(blocks) == 2
    for block in blocks:
        exec(block, names)  # noqa: S102
    for found in (names["whole"], names["by_heads"].full_tensor()):
        assert_close(found, None, reference(q, k, v, "causal"), UNIT[q.dtype])


@case(4)
def dtensors_of_two_dimensions():
    from torch.distributed.tensor import Replicate, Shard, init_device_mesh

    mesh = init_device_mesh("cpu", (2, 2))
    tensors = drawn("mesh", (2, 9, 4, 64), (2, 9, 2, 64), (2, 9, 2, 64))
    both = [Shard(0), Shard(2)]
    check_sharded(mesh, tensors, [both] * 3, both, mask="causal")
    # Four ranks cannot share two KV heads.
    check_sharded(mesh, tensors, [[Shard(2), Shard(2)], *[[Replicate(), Shard(2)]] * 2], [Replicate(), Shard(2)], silent=False)


@case(2)
def torch_context_parallel():
    """torch's ring of scaled_dot_product_attention, which it runs on its flash kernel for GPUs alone, on the kernel of the slot."""
    import torch.distributed as dist
    import torch.nn.functional as F
    from fmha.torch.distributed import shard, unshard
    from torch.distributed.tensor import init_device_mesh
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._context_parallel._attention import _templated_ring_attention

    q, k, v = drawn("context", *[(1, 2, 64, 64)] * 3)
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    fmha.torch.activate()
    own = [shard(t, dim=2) for t in (q, k, v)]
    out, lse = _templated_ring_attention(dist.group.WORLD, 2, flash, *own, is_causal=True, scale=0.2)
    expected = reference(*(t.transpose(1, 2) for t in (q, k, v)), "causal", scale=0.2)
    # The parts are rounded, then the output.
    assert_close(unshard(out, dim=2).transpose(1, 2), unshard(lse, dim=2), expected, 2 * UNIT[q.dtype])
    buffers = [q, k, v]
    with context_parallel(init_device_mesh("cpu", (2,)), buffers=buffers, buffer_seq_dims=[2] * 3):
        raises(NotImplementedError, "flash_attention_for_cpu", lambda: F.scaled_dot_product_attention(*buffers, is_causal=True))


# The ranks.


def call(world, rank, folder):
    """Calls all cases of a number of ranks, and writes what they raised."""
    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store{world}", rank=rank, world_size=world)
    found = {}
    for name, (wanted, function) in CASES.items():
        if wanted == world:
            try:
                function()
                found[name] = ""
            except BaseException:
                found[name] = traceback.format_exc()
            (folder / f"{world}-{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def main():
    import fmha.torch.distributed  # Before ranks are forked.
    import torch.distributed.tensor.debug  # noqa: F401
    import torch.multiprocessing as processes

    folder = pathlib.Path(sys.argv[1])
    for world in (2, 4):
        ranks = [processes.get_context("fork").Process(target=call, args=(world, rank, folder)) for rank in range(world)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What each rank's cases raised, by names and ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    done = subprocess.run([sys.executable, __file__, str(folder)], capture_output=True, text=True, timeout=300)
    print(done.stdout[-3000:], done.stderr[-3000:])
    assert done.returncode == 0
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.mark.parametrize("name", list(CASES))
def test_on_ranks(outcomes, name):
    world, _ = CASES[name]
    raised = [outcomes.get(f"{world}-{rank}", {}).get(name, "did not end") for rank in range(world)]
    assert raised == [""] * world, "\n".join(raised)


def test_without_a_group():
    from fmha.torch.distributed import ring_attention

    q = torch.zeros(1, 4, 2, 64, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="group: expected an initialized process group, got none"):
        ring_attention(q, q, q)


def seen_by(calls, rows, keys):
    """How often each row sees each key, where the last row of a causal call sees its last key."""
    times = torch.zeros(rows, keys, dtype=torch.int64)
    for one in calls:
        (top, bottom), (first, last) = one.rows, one.keys
        ahead = (last - first) - (bottom - top) if one.causal else last - first
        times[top:bottom, first:last] += torch.ones(bottom - top, last - first, dtype=torch.int64).tril(ahead)
    return times


def test_calls_see_each_key_once():
    from fmha.torch.distributed._plan import ORDERS, calls_of, share, size_of

    draw = numbers.Random(4)
    for _ in range(80):
        world, order, causal = draw.randint(1, 4), draw.choice(ORDERS), draw.random() < 0.7
        q_len = draw.randint(0, 20)
        kv_len = draw.choice([q_len, draw.randint(0, 24)])
        shares = [[share(order, length, world, rank) for rank in range(world)] for length in (q_len, kv_len)]
        assert sorted(p for some in shares[1] for one in some for p in range(*one)) == list(range(kv_len))
        for rows in shares[0]:
            for keys in shares[1]:
                calls = calls_of(rows, keys, causal, kv_len - q_len)
                places = [torch.tensor([p for one in some for p in range(*one)], dtype=torch.int64) for some in (rows, keys)]
                wanted = (places[1] <= places[0][:, None] + kv_len - q_len) | (not causal)
                assert torch.equal(seen_by(calls, size_of(rows), size_of(keys)), wanted.long()), (order, q_len, kv_len, rows, keys, calls)
                even = causal and order == "zigzag" and q_len == kv_len and q_len % (2 * world) == 0 and q_len > 2 * world
                assert len(calls) <= (1 if even or not causal else 4)


if __name__ == "__main__":
    main()
