#!/usr/bin/env python3
"""Serves a small language model from a paged KV cache: every step decodes one token of each running sequence and computes a chunk of
the prompt of a waiting one.

  PYTHONPATH=build/python .venv/bin/python examples/serving.py                  # in the simulator, small
  PYTHONPATH=build/python python3 examples/serving.py --device=cuda             # on a Hopper GPU, with torch
  PYTHONPATH=build/python python3 examples/serving.py --device=cuda --attention=sdpa     # the same loop on torch's attention

The model is random: layers of attention with rotary embeddings, residual connections and no feed-forward network, in float16. A
sequence that is done is checked against attention in float32, computed at once. docs/serving.md explains the loop."""

import argparse
import dataclasses
import importlib.util
import sys
import time

import fmha
import numpy as np


@dataclasses.dataclass
class Sizes:
    layers: int
    q_heads: int
    kv_heads: int
    dim: int
    page: int
    chunk: int
    batch: int
    prompts: tuple
    replies: tuple
    words: int = 512

    @property
    def width(self):
        return self.q_heads * self.dim


SMALL = Sizes(layers=1, q_heads=2, kv_heads=1, dim=64, page=8, chunk=16, batch=3, prompts=(5, 40), replies=(1, 4))
LARGE = Sizes(layers=8, q_heads=32, kv_heads=8, dim=128, page=16, chunk=2048, batch=64, prompts=(512, 8192), replies=(64, 256))


@dataclasses.dataclass
class Sequence:
    """Tokens of the prompt and the reply, and how many of them are in the cache."""

    number: int
    tokens: list
    wanted: int
    length: int = 0
    pages: list = dataclasses.field(default_factory=list)
    slot: int = -1
    last: object = None

    @property
    def done(self):
        return len(self.tokens) == self.wanted


class Host:
    """NumPy arrays, and kernels in the simulator."""

    def array(self, values, kind):
        return np.asarray(values, kind)

    def empty(self, shape, kind):
        return np.full(shape, np.nan, kind)

    def join(self, parts):
        return np.concatenate(parts)

    def wait(self):
        pass

    def target(self):
        return "sm_100a"

    def options(self, target):
        return {"target": target}


class Gpu:
    """torch tensors on a GPU."""

    def __init__(self):
        import torch

        self.torch = torch

    def array(self, values, kind):
        return self.torch.from_numpy(np.asarray(values, kind)).cuda()

    def empty(self, shape, kind):
        return self.torch.empty(shape, dtype=getattr(self.torch, kind), device="cuda")

    def join(self, parts):
        return self.torch.cat(parts)

    def wait(self):
        self.torch.cuda.synchronize()

    def target(self):
        major, minor = self.torch.cuda.get_device_capability()
        return f"sm_{major}{minor}" + ("a" if major in (9, 10) else "")

    def options(self, target):
        return {"target": target, "stream": self.torch.cuda.current_stream().cuda_stream}


class PagedAttention:
    """A cache [pages, 2, page, kv_heads, dim] for each layer, on fmha.attention()."""

    def __init__(self, memory, sizes, longest, angles, target):
        self.memory, self.sizes = memory, sizes
        self.most = -(-longest // sizes.page)
        count = sizes.batch * self.most
        self.free = list(np.random.default_rng(1).permutation(count))
        self.caches = [memory.empty((count, 2, sizes.page, sizes.kv_heads, sizes.dim), "float16") for _ in range(sizes.layers)]
        self.rotary = dict(zip(("rotary_cos", "rotary_sin"), angles), rotary="half")
        self.options = memory.options(target)

    def plan(self, sequences, tokens):
        """Gives each of `sequences` pages for `tokens` more keys. Returns the lists that the kernels read."""
        tables = np.full((len(sequences), self.most), -1, np.int32)
        for row, sequence in zip(tables, sequences):
            while len(sequence.pages) * self.sizes.page < sequence.length + tokens:
                sequence.pages.append(self.free.pop())
            row[: len(sequence.pages)] = sequence.pages
        lengths = [sequence.length + tokens for sequence in sequences]
        return {"kv_lens": self.memory.array(lengths, "int32"), "block_tables": self.memory.array(tables, "int32")}

    def run(self, layer, lists, q, k, v):
        """Appends k and v [batch, tokens, kv_heads, dim] and returns attention of q, all at the ends of their sequences."""
        keys, values = self.caches[layer][:, 0], self.caches[layer][:, 1]
        return fmha.attention(q, keys, values, key_new=k, value_new=v, causal=True, **lists, **self.rotary, **self.options)

    def release(self, sequence):
        self.free += sequence.pages
        sequence.pages = []


class DenseAttention:
    """A cache [batch, kv_heads, longest, dim] for each layer, on torch's scaled_dot_product_attention."""

    def __init__(self, memory, sizes, longest, angles, target):
        self.torch, self.memory, self.sizes = memory.torch, memory, sizes
        shape = (sizes.batch, sizes.kv_heads, longest, sizes.dim)
        self.caches = [(memory.empty(shape, "float16").zero_(), memory.empty(shape, "float16").zero_()) for _ in range(sizes.layers)]
        self.angles = angles
        self.free = list(range(sizes.batch))

    def plan(self, sequences, tokens):
        for sequence in sequences:
            if sequence.slot < 0:
                sequence.slot = self.free.pop()
        slots = self.memory.array([sequence.slot for sequence in sequences], "int64")
        first = self.memory.array([sequence.length for sequence in sequences], "int64")
        places = first[:, None] + self.torch.arange(tokens, device="cuda")
        longest = max(sequence.length for sequence in sequences) + tokens
        seen = self.torch.arange(longest, device="cuda") <= places[:, None, :, None]
        return {"slots": slots, "places": places, "longest": longest, "seen": seen}

    def rotate(self, x, places):
        cos, sin = (angle[places][:, :, None] for angle in self.angles)
        low, high = x.float().chunk(2, -1)
        return self.torch.cat((low * cos - high * sin, high * cos + low * sin), -1).half()

    def run(self, layer, lists, q, k, v):
        slots, places, longest = lists["slots"], lists["places"], lists["longest"]
        held = []
        for cache, new in zip(self.caches[layer], (self.rotate(k, places), v)):
            cache[slots[:, None], :, places] = new
            held.append(cache[slots, :, :longest])
        query = self.rotate(q, places).transpose(1, 2)
        attend = self.torch.nn.functional.scaled_dot_product_attention
        return attend(query, *held, attn_mask=lists["seen"], enable_gqa=True).transpose(1, 2)

    def release(self, sequence):
        self.free.append(sequence.slot)


class Model:
    def __init__(self, memory, sizes, seed):
        numbers = np.random.default_rng(seed)
        self.memory, self.sizes = memory, sizes
        kv = sizes.kv_heads * sizes.dim

        def draw(*shape):
            """A matrix of numbers that float16 holds."""
            return (numbers.standard_normal(shape, np.float32) / np.sqrt(shape[0])).astype(np.float16).astype(np.float32)

        self.exact = [{"q": draw(sizes.width, sizes.width), "k": draw(sizes.width, kv), "v": draw(sizes.width, kv), "o": draw(sizes.width, sizes.width)}
                      for _ in range(sizes.layers)]  # fmt: skip
        self.exact_words = draw(sizes.words, sizes.width) * np.float32(16)
        self.layers = [{name: memory.array(matrix, "float16") for name, matrix in layer.items()} for layer in self.exact]
        self.words = memory.array(self.exact_words, "float16")

    def forward(self, attention, groups):
        """Computes `groups` of (sequences, tokens [batch, count]) together. Returns the hidden state of the last token of each sequence."""
        sizes = self.sizes
        plans = [attention.plan(sequences, tokens.shape[1]) for sequences, tokens in groups]
        hidden = self.words[self.memory.array(np.concatenate([tokens.reshape(-1) for _, tokens in groups]), "int64")]
        for number, layer in enumerate(self.layers):
            q, k, v = (hidden @ layer[name] for name in "qkv")
            results, begin = [], 0
            for (_, tokens), lists in zip(groups, plans):
                batch, count = tokens.shape
                part = slice(begin, begin + batch * count)
                rows = [x[part].reshape(batch, count, -1, sizes.dim) for x in (q, k, v)]
                results.append(as_array(attention.run(number, lists, *rows), hidden).reshape(batch * count, -1))
                begin = part.stop
            hidden = hidden + self.memory.join(results) @ layer["o"]
        lasts, begin = [], 0
        for sequences, tokens in groups:
            rows = hidden[begin : begin + tokens.size].reshape(*tokens.shape, -1)
            lasts.append(rows[:, -1])
            begin += tokens.size
            for sequence in sequences:
                sequence.length += tokens.shape[1]
        return self.memory.join(lasts)

    def reply(self, hidden):
        """The most likely token after each hidden state."""
        return [int(token) for token in (hidden @ self.words.T).argmax(-1)]

    def reference(self, tokens, angles):
        """The hidden state of the last of `tokens`, in float32, computed at once."""
        sizes, hidden = self.sizes, self.exact_words[np.asarray(tokens)]
        cos, sin = (angle[: len(tokens), None] for angle in angles)
        seen = np.tri(len(tokens), dtype=bool)
        for layer in self.exact:
            q, k, v = ((hidden @ layer[name]).reshape(len(tokens), -1, sizes.dim) for name in "qkv")
            q, k = (np.concatenate((x[..., : sizes.dim // 2] * cos - x[..., sizes.dim // 2 :] * sin,
                                    x[..., sizes.dim // 2 :] * cos + x[..., : sizes.dim // 2] * sin), -1) for x in (q, k))  # fmt: skip
            k, v = (np.repeat(x, sizes.q_heads // sizes.kv_heads, 1) for x in (k, v))
            q, k, v = (x.transpose(1, 0, 2) for x in (q, k, v))
            scores = np.where(seen, q @ k.transpose(0, 2, 1) * sizes.dim**-0.5, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            out = (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2)
            hidden = hidden + out.reshape(len(tokens), -1) @ layer["o"]
        return hidden[-1]


def as_array(result, like):
    """A result of fmha.attention() as an array of the kind of `like`, without a copy."""
    if isinstance(result, type(like)):
        return result
    import torch

    return torch.from_dlpack(result)


def step(model, attention, running, waiting, sizes):
    """One step. Returns the sequences that got a token, and the tokens that were computed."""
    groups = []
    if running:
        groups.append((running, np.array([[sequence.tokens[-1]] for sequence in running])))
    entering = waiting[0] if waiting and len(running) < sizes.batch else None
    if entering:
        chunk = entering.tokens[entering.length : entering.length + sizes.chunk]
        groups.append(([entering], np.array([chunk])))
    hidden = model.forward(attention, groups)
    spoke = list(running)
    if entering and entering.length == len(entering.tokens):
        spoke.append(waiting.pop(0))
    for sequence, token, last in zip(spoke, model.reply(hidden), hidden):
        sequence.tokens.append(token)
        sequence.last = last
    return spoke, sum(tokens.size for _, tokens in groups)


def check(model, sequence, angles):
    """The relative error of the last hidden state of a sequence that is done."""
    wanted = model.reference(sequence.tokens[:-1], angles)
    got = sequence.last if isinstance(sequence.last, np.ndarray) else sequence.last.cpu().numpy()
    return np.linalg.norm(got.astype(np.float32) - wanted) / np.linalg.norm(wanted)


def serve(model, attention, sequences, sizes, memory):
    """Runs all sequences. Returns seconds, tokens of prompts and replies, and steps."""
    waiting, running, computed, steps = list(sequences), [], 0, 0
    memory.wait()
    begin = time.perf_counter()
    while waiting or running:
        spoke, count = step(model, attention, running, waiting, sizes)
        running = [sequence for sequence in spoke if not sequence.done]
        for sequence in spoke:
            if sequence.done:
                attention.release(sequence)
        computed, steps = computed + count, steps + 1
        if sys.stderr.isatty():
            print(f"\r{len(waiting)} waiting, {len(running)} running, {computed} tokens ", end="", file=sys.stderr)
    memory.wait()
    return time.perf_counter() - begin, computed, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("sim", "cuda"), default="sim", help="the simulator, or a GPU (needs torch)")
    parser.add_argument("--attention", choices=("fmha", "sdpa"), default="fmha", help="this package, or torch's attention on a dense cache")
    parser.add_argument("--target", default=None, help="target of the kernels; default: sm_100a in the simulator, on a GPU its own")
    parser.add_argument("--sequences", type=int, default=None, help="requests to serve (5, on a GPU 128)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checked", type=int, default=3, help="sequences that are compared with float32 (3)")
    flags = parser.parse_args()
    if flags.attention == "sdpa" and flags.device == "sim":
        parser.error("--attention=sdpa: expected --device=cuda with it, got sim")
    if flags.device == "cuda" and importlib.util.find_spec("torch") is None:
        parser.error("--device=cuda: expected PyTorch, got none; pip install torch, or leave it out")
    if flags.sequences is not None and flags.sequences < 1:
        parser.error(f"--sequences: expected at least 1, got {flags.sequences}")
    on_gpu = flags.device == "cuda"
    sizes, memory = (LARGE, Gpu()) if on_gpu else (SMALL, Host())
    dice = np.random.default_rng(flags.seed)
    sequences = []
    for number in range(flags.sequences or (128 if on_gpu else 5)):
        prompt = dice.integers(sizes.words, size=dice.integers(*sizes.prompts, endpoint=True)).tolist()
        sequences.append(Sequence(number, prompt, len(prompt) + int(dice.integers(*sizes.replies, endpoint=True))))
    longest = max(sequence.wanted for sequence in sequences)
    turns = np.arange(longest)[:, None] * 10000.0 ** (-np.arange(sizes.dim // 2) * 2 / sizes.dim)
    angles = np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)
    model = Model(memory, sizes, flags.seed)
    kind = PagedAttention if flags.attention == "fmha" else DenseAttention
    target = flags.target or memory.target()
    prompts = sum(len(sequence.tokens) for sequence in sequences)
    try:
        attention = kind(memory, sizes, longest, [memory.array(angle, "float32") for angle in angles], target)
        seconds, computed, steps = serve(model, attention, sequences, sizes, memory)
    except fmha.CompileError as error:
        parser.error(f"--target={target}: {error}")
    replies = sum(len(sequence.tokens) for sequence in sequences) - prompts
    print(f"{len(sequences)} sequences, seed {flags.seed}: {prompts} tokens of prompts, {replies} of replies, {steps} steps in {seconds:.2f} s")
    if on_gpu:
        print(f"{flags.attention}: {computed / seconds:.0f} tokens/s, {replies / seconds:.0f} of them of replies")
    worst = max(check(model, sequence, angles) for sequence in sorted(sequences, key=lambda one: len(one.tokens))[: flags.checked])
    print(f"largest relative error of a hidden state: {worst:.1e}")
    return 0 if worst < 2e-2 else 1


if __name__ == "__main__":
    sys.exit(main())
