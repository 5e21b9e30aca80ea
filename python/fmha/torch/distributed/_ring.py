"""Attention to a sequence whose tokens are sharded over the ranks of a process group."""

from __future__ import annotations

import torch

from ..._arguments import flag, word
from ._exchange import Ring, gathered
from ._parts import Merged, Result, clear_unseen
from ._plan import ORDERS, covers, pieces_of, share
from ._sequence import Group, Sequence, agree, check_tensors, group_of, length_dim, whole_length


def _attend_in_ring(sequence: Sequence, result: Result, k: torch.Tensor, v: torch.Tensor) -> None:
    dim = length_dim(result.layout)
    calls = {rank: sequence.calls(*sequence.keys(rank)) for rank in range(sequence.world)}
    every = [call for some in calls.values() for call in some]
    clear_unseen(result, every)
    # A row whose keys are all in one call needs no parts.
    most = max((sum(covers(call, piece) for call in every) for piece in pieces_of(every, result.q.shape[dim])), default=0)
    write = Merged(result, every).add if most > 1 else result.write
    for source, key, value in Ring(sequence, (k, v), dim).blocks():
        for call in calls[source]:
            write(call, key, value)


def _attend_to_all(sequence: Sequence, result: Result, k: torch.Tensor, v: torch.Tensor) -> None:
    """Gathers keys and values, so that one call has all the keys that a row sees."""
    shares = [sequence.keys(rank) for rank in range(sequence.world)]
    keys, values = (gathered(tensor, length_dim(result.layout), shares, sequence.group) for tensor in (k, v))
    calls = sequence.calls((0, sequence.kv_len))
    clear_unseen(result, calls)
    for call in calls:
        result.write(call, keys, values)


STRATEGIES = {"ring": _attend_in_ring, "all_gather": _attend_to_all}


def ring_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    group: Group = None,
    causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    softcap_approx: bool = False,
    strategy: str = "ring",
    order: str = "zigzag",
    q_len: int | None = None,
    kv_len: int | None = None,
    layout: str = "bshd",
    lse: bool = False,
    target: str | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Returns softmax(scale * q k^T) v of sequences whose tokens are sharded over the ranks of a group. All ranks call it.

    q, k and v are the tokens of this rank, float16 or bfloat16 [batch, tokens, heads, dim], or with heads before tokens (layout
    'bhsd'); the ranks have the same heads. group is a process group, a mesh of one dimension, or None for all ranks. q and k may be
    sequences of different lengths; causal is then aligned bottom-right, as in attention(), whose scale, softcap,
    softcap_approx, lse and target these are.

    order says which tokens a rank has. With 'zigzag' the sequence is cut into 2 n chunks for n ranks, and rank r has chunks r and
    2 n - 1 - r, so that ranks have about as much work with a causal mask; with 'contiguous' rank r has chunk r of n. shard() cuts
    tensors so, unshard() joins them. Where the length is no multiple of the number of chunks, the first chunks have one token
    more, and q_len and kv_len, the lengths of the whole sequences, have to be given.

    strategy 'ring' sends each block of K and V around the ranks while attention to another one runs, and merges the
    parts in float32; it needs memory for two blocks and three parts. 'all_gather' first gathers K and V on each rank, and runs attention
    once for each chunk of queries.

    Returns the output of this rank's queries, with lse=True also their LSE, float32 [batch, heads, tokens]. Ranks compare their
    arguments in the first call with them; a later call whose arguments differ on some rank may hang. There are
    no gradients: NotImplementedError is raised if an input requires one.
    """
    word(strategy, "strategy", tuple(STRATEGIES))
    word(order, "order", ORDERS)
    word(layout, "layout", ("bshd", "bhsd"))
    flag(causal, "causal")
    check_tensors(q, k, v)
    ranks, dim = group_of(group), length_dim(layout)
    lengths = whole_length(q_len, "q_len", q.shape[dim], ranks, order), whole_length(kv_len, "kv_len", k.shape[dim], ranks, order)
    options = dict(scale=scale, softcap=softcap, softcap_approx=softcap_approx)
    shapes = {name: [*t.shape[:dim], *t.shape[dim + 1 :]] for name, t in (("q", q), ("k", k), ("v", v))}
    agree(ranks, dict(q_len=lengths[0], kv_len=lengths[1], causal=causal, strategy=strategy, order=order, layout=layout, dtype=str(q.dtype)) | shapes | options)
    result = Result(q, v.shape[-1], layout, target or "", options)
    STRATEGIES[strategy](Sequence(ranks, order, causal, *lengths), result, k, v)
    return (result.out, result.lse) if lse else result.out


def shard(tensor: torch.Tensor, *, group: Group = None, order: str = "zigzag", dim: int = 1) -> torch.Tensor:
    """Returns a copy of the tokens that this rank has of a sequence, which lie along `dim`: an input of ring_attention()."""
    word(order, "order", ORDERS)
    ranks = group_of(group)
    ranges = share(order, tensor.shape[dim], ranks.size(), ranks.rank())
    return torch.cat([tensor.narrow(dim, start, stop - start) for start, stop in ranges], dim)


def unshard(tensor: torch.Tensor, *, length: int | None = None, group: Group = None, order: str = "zigzag", dim: int = 1) -> torch.Tensor:
    """Returns the sequence on all ranks that have its tokens along `dim`, as shard() cuts it. `length` is that of the sequence, and
    has to be given where ranks have different numbers of tokens."""
    word(order, "order", ORDERS)
    ranks = group_of(group)
    whole = whole_length(length, "length", tensor.shape[dim], ranks, order)
    agree(ranks, dict(length=whole, order=order, dim=dim, dtype=str(tensor.dtype), rank=tensor.dim()))
    shares = [share(order, whole, ranks.size(), rank) for rank in range(ranks.size())]
    return gathered(tensor, dim, shares, ranks)
