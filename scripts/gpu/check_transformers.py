#!/usr/bin/env python3
"""Checks fmha.transformers on a GPU against torch's own attention in whole models, and times a layer of each.

    scripts/gpu/check_transformers.py                 all of it
    scripts/gpu/check_transformers.py --rounds=50     more rounds

A BERT-like encoder with head dim 32 and a Llama-like decoder with grouped heads are made from their configurations, with seeded random weights,
saved and loaded as safetensors. Prints a line per case: the cosine of hidden states with those of attn_implementation="sdpa" (of FlashAttention's
varlen call, one sentence at a time by sdpa, for packed batches), and medians of milliseconds per layer, where both take turns. Exit status 0 if
each cosine is at least 0.9999.
"""

from __future__ import annotations

import argparse
import sys
import tempfile

import fmha.transformers
import torch
import transformers
from timing import medians
from transformers import AutoModel, AutoModelForCausalLM, BertConfig, LlamaConfig

LAYERS = 4
BERT = BertConfig(
    hidden_size=384, num_attention_heads=12, num_hidden_layers=LAYERS, intermediate_size=1536, max_position_embeddings=1024,
    attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0,
)  # fmt: skip
LLAMA = LlamaConfig(
    vocab_size=32000, hidden_size=2048, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=LAYERS, intermediate_size=5504,
    max_position_embeddings=8192,
)  # fmt: skip


def models(kind, config):
    """Returns the model with our attention and that with torch's, of the same weights."""
    with tempfile.TemporaryDirectory() as folder:
        torch.manual_seed(7)
        kind.from_config(config).save_pretrained(folder)
        return [kind.from_pretrained(folder, attn_implementation=name, dtype=torch.bfloat16).cuda().eval() for name in ("fmha", "sdpa")]


def cosine(got, want):
    return torch.nn.functional.cosine_similarity(got.double().flatten(), want.double().flatten(), dim=0).item()


def report(name, similarity, functions, rounds):
    ours, torchs = (milliseconds / LAYERS for milliseconds in medians(functions, rounds))
    print(f"{name:46}{similarity:12.7f}{ours:10.3f}{torchs:10.3f}{ours / torchs:8.2f}", flush=True)
    return similarity >= 0.9999


def encoder_cases(rounds):
    ours, torchs = models(AutoModel, BERT)
    for batch, length in ((16, 512), (64, 128)):
        ids = torch.randint(0, BERT.vocab_size, (batch, length), device="cuda")
        lengths = torch.linspace(length // 8, length, batch, device="cuda").int()
        mask = (torch.arange(length, device="cuda") < lengths[:, None]).long()
        run = [lambda model=model: model(ids, attention_mask=mask).last_hidden_state for model in (ours, torchs)]
        got, want = (one()[mask.bool()] for one in run)
        yield report(f"encoder, {batch} x {length}, padded", cosine(got, want), run, rounds)

        starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)).int()
        places = torch.cat([torch.arange(int(n), device="cuda") for n in lengths])[None]
        keywords = {"cu_seq_lens_q": starts, "cu_seq_lens_k": starts, "max_length_q": length, "max_length_k": length}
        packed = ids[mask.bool()][None]
        run[0] = lambda: ours(packed, position_ids=places, **keywords).last_hidden_state
        yield report("encoder, the same, packed; torch padded", cosine(run[0]()[0], want), run, rounds)


def decoder_cases(rounds):
    ours, torchs = models(AutoModelForCausalLM, LLAMA)
    for batch, length in ((1, 8192), (8, 2048)):
        ids = torch.randint(0, LLAMA.vocab_size, (batch, length), device="cuda")
        run = [lambda model=model: model.model(ids, use_cache=False).last_hidden_state for model in (ours, torchs)]
        got, want = (one() for one in run)
        yield report(f"decoder, prompts of {batch} x {length}", cosine(got, want), run, rounds)
    ids = torch.randint(0, LLAMA.vocab_size, (16, 2000), device="cuda")
    token = torch.randint(0, LLAMA.vocab_size, (16, 1), device="cuda")
    caches = [model(ids, use_cache=True).past_key_values for model in (ours, torchs)]

    def step(model, cache):
        cache.crop(2000)
        return model.model(token, past_key_values=cache, use_cache=True).last_hidden_state

    run = [lambda pair=pair: step(*pair) for pair in zip((ours, torchs), caches)]
    got, want = (one() for one in run)
    yield report("decoder, a token of 16 after 2000", cosine(got, want), run, rounds)


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    fmha.transformers.register()
    print(f"fmha {fmha.__version__}, torch {torch.__version__}, transformers {transformers.__version__}, {torch.cuda.get_device_name()}, bf16")
    print(f"{'case':46}{'cosine':>12}{'fmha':>10}{'sdpa':>10}{'ratio':>8}   milliseconds per layer, medians of {options.rounds}")
    fine = [*encoder_cases(options.rounds), *decoder_cases(options.rounds)]
    print("all at least 0.9999" if all(fine) else "NOT all at least 0.9999")
    return not all(fine)


if __name__ == "__main__":
    sys.exit(main())
