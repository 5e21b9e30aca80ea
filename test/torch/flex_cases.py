"""Functions on scores and masks, as PyTorch's documentation, attention-gym and models have them, for problems of given lengths."""

import functools

import torch
from torch.nn.attention.flex_attention import and_masks, or_masks

ROWS, KEYS, HEADS, BATCH = 97, 97, 2, 1


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def alibi(slopes):
    return lambda score, b, h, q_idx, kv_idx: score + slopes[h] * (kv_idx - q_idx)


def alibi_of_heads(score, b, h, q_idx, kv_idx):
    return score + (kv_idx - q_idx) * torch.exp2(-((h + 1) * 8.0 / HEADS))


def soft_cap(score, b, h, q_idx, kv_idx):
    return 20 * torch.tanh(score / 20)


def window(left, right=0):
    return lambda b, h, q_idx, kv_idx: (q_idx - kv_idx <= left) & (kv_idx - q_idx <= right)


def distance(width):
    return lambda b, h, q_idx, kv_idx: torch.abs(q_idx - kv_idx) < width


def documents(ids):
    return lambda b, h, q_idx, kv_idx: ids[q_idx] == ids[kv_idx]


def prefix(lengths):
    return or_masks(causal, lambda b, h, q_idx, kv_idx: kv_idx < lengths[b])


def padding(lengths):
    return lambda b, h, q_idx, kv_idx: kv_idx < lengths[b]


def natten(width, radius):
    """Windows of rows and columns of an image, shifted where they would leave it."""

    def mask(b, h, q_idx, kv_idx):
        rows = ROWS // width + 1
        center_y = (q_idx // width).clamp(radius, rows - 1 - radius)
        center_x = (q_idx % width).clamp(radius, width - 1 - radius)
        return ((center_y - kv_idx // width).abs() <= radius) & ((center_x - kv_idx % width).abs() <= radius)

    return mask


def dilated(width, step):
    def mask(b, h, q_idx, kv_idx):
        away = torch.abs(q_idx - kv_idx)
        return (away <= width) & (away % step == 0)

    return mask


def offset_documents(lengths, inner):
    """The mask `inner` of positions in each document of a packed batch."""
    ids = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
    starts = lengths.cumsum(0) - lengths

    def mask(b, h, q_idx, kv_idx):
        document = ids[q_idx]
        return (document == ids[kv_idx]) & inner(b, h, q_idx - starts[document], kv_idx - starts[ids[kv_idx]])

    return mask


def bits_of_words(words):
    """32 keys a word."""
    return lambda b, h, q_idx, kv_idx: (words[q_idx, kv_idx // 32] >> (kv_idx % 32)) & 1 == 1


def masked_score(score, b, h, q_idx, kv_idx):
    return torch.where(q_idx >= kv_idx, score * 0.5, -float("inf"))


def filled_score(score, b, h, q_idx, kv_idx):
    return (score + 1).masked_fill((q_idx < kv_idx) | (kv_idx < 3), -float("inf"))


def scaled(score, b, h, q_idx, kv_idx, *, factor):
    return score * factor


def cases(draw, device="cpu"):
    """Returns {name: (score_mod, mask_mod)} for tensors on a device, where `draw` makes normal numbers of a shape."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.arange(ROWS, device=device) // 30
    lengths, heads = torch.tensor([40], device=device), torch.tensor([0.5, 0.125], device=device)
    words = torch.randint(-(2**31), 2**31, (ROWS, 4), dtype=torch.int32, generator=generator).to(device)
    bias, relative = draw(HEADS, ROWS, KEYS), draw(HEADS, ROWS + KEYS)
    seen = (torch.rand(ROWS, KEYS, generator=generator) < 0.6).to(device)
    seen[5] = False
    return {
        "nothing": (None, None),
        "causal": (None, causal),
        "strictly causal": (None, lambda b, h, q_idx, kv_idx: q_idx > kv_idx),
        "anticausal": (None, lambda b, h, q_idx, kv_idx: q_idx <= kv_idx),
        "diagonal": (None, lambda b, h, q_idx, kv_idx: q_idx == kv_idx),
        "all but the diagonal": (None, lambda b, h, q_idx, kv_idx: q_idx != kv_idx),
        "sliding window": (None, and_masks(causal, lambda b, h, q_idx, kv_idx: q_idx - kv_idx < 16)),
        "window of both sides": (None, window(20, 3)),
        "window by the distance": (None, distance(9)),
        "documents": (None, documents(ids)),
        "causal documents": (None, and_masks(causal, documents(ids.int()))),
        "positions in documents": (None, offset_documents(torch.tensor([1, 60, 36], device=device), causal)),
        "prefix": (None, prefix(lengths)),
        "padding": (None, padding(lengths)),
        "causal padding": (None, and_masks(causal, padding(lengths.int()))),
        "no keys": (None, padding(torch.tensor([0], device=device))),
        "alibi": (alibi(heads), causal),
        "alibi of heads": (alibi_of_heads, None),
        "soft cap": (soft_cap, window(30)),
        "soft cap and bias": (lambda s, b, h, q_idx, kv_idx: soft_cap(s, b, h, q_idx, kv_idx) + bias[h, q_idx, kv_idx], None),
        "relative bias": (lambda s, b, h, q_idx, kv_idx: s + relative[h, q_idx - kv_idx + KEYS], causal),
        "indices from the end": (lambda s, b, h, q_idx, kv_idx: s + relative[h, q_idx - kv_idx], None),
        "bias of a batch of 1": (lambda s, b, h, q_idx, kv_idx: s + bias[None][0, h, q_idx, kv_idx], None),
        "bias in two steps": (lambda s, b, h, q_idx, kv_idx: s + bias[h][q_idx][kv_idx], None),
        "bias of columns": (lambda s, b, h, q_idx, kv_idx: s + bias[h, :, 7][q_idx] - bias.transpose(1, 2)[h, q_idx, kv_idx], None),
        "image": (None, natten(10, 2)),
        "dilated window": (None, dilated(24, 3)),
        "bits": (None, bits_of_words(words)),
        "table": (None, lambda b, h, q_idx, kv_idx: seen[q_idx, kv_idx]),
        "heads with masks of their own": (None, lambda b, h, q_idx, kv_idx: (h == 0) | (q_idx >= kv_idx)),
        "sinks and a window": (None, or_masks(window(12), lambda b, h, q_idx, kv_idx: kv_idx < 4)),
        "not causal": (None, lambda b, h, q_idx, kv_idx: ~(q_idx >= kv_idx)),
        "score is masked": (masked_score, None),
        "score is filled": (filled_score, distance(40)),
        "partial function": (functools.partial(scaled, factor=0.25), causal),
        "constant": (lambda s, b, h, q_idx, kv_idx: torch.full_like(s, 1.5), None),
        "checkerboard": (None, lambda b, h, q_idx, kv_idx: (q_idx // 16 + kv_idx // 16) % 2 == 0),
    }
