"""Whole models of Hugging Face transformers on the simulator, with seeded random weights: hidden states compared with torch's own attention."""

import fmha.transformers
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, BertConfig, LlamaConfig

BERT = BertConfig(
    vocab_size=97, hidden_size=64, num_attention_heads=2, num_hidden_layers=2, intermediate_size=128, max_position_embeddings=64,
    attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0,
)  # fmt: skip
LLAMA = LlamaConfig(
    vocab_size=97, hidden_size=128, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, intermediate_size=128, max_position_embeddings=64,
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def registered():
    fmha.transformers.register()


def saved(kind, config, folder):
    """The folder of a model with random weights, as safetensors."""
    torch.manual_seed(7)
    kind.from_config(config).save_pretrained(folder)
    assert (folder / "model.safetensors").exists()
    return folder


def loaded(kind, folder, attention):
    return kind.from_pretrained(folder, attn_implementation=attention, dtype=torch.bfloat16).eval()


def cosine(got, want):
    return torch.nn.functional.cosine_similarity(got.double().flatten(), want.double().flatten(), dim=0)


def tokens(random, *shape):
    return random(*shape, dtype=torch.float32).abs().mul(1000).long() % 97


@torch.no_grad()
def test_encoder_with_padding(random, tmp_path):
    folder = saved(AutoModel, BERT, tmp_path)
    ids, mask = tokens(random, 3, 20), torch.ones(3, 20, dtype=torch.long)
    mask[0, 5:] = mask[1, 1:] = 0
    ours, torchs = (loaded(AutoModel, folder, name)(ids, attention_mask=mask).last_hidden_state for name in ("fmha", "sdpa"))
    assert cosine(ours[mask.bool()], torchs[mask.bool()]) >= 0.9999


@torch.no_grad()
def test_encoder_of_sentences_in_one_packed_batch(random, tmp_path):
    """Each sentence has the hidden states that it has alone."""
    folder, lengths = saved(AutoModel, BERT, tmp_path), [5, 1, 17, 20]
    sentences = [tokens(random, 1, length) for length in lengths]
    starts = torch.tensor([0, *lengths]).cumsum(0).int()
    places = torch.cat([torch.arange(length) for length in lengths])[None]
    packed = loaded(AutoModel, folder, "fmha")(
        torch.cat(sentences, 1), position_ids=places, cu_seq_lens_q=starts, cu_seq_lens_k=starts, max_length_q=20, max_length_k=20
    ).last_hidden_state[0]
    alone = loaded(AutoModel, folder, "sdpa")
    for n, sentence in enumerate(sentences):
        assert cosine(packed[starts[n] : starts[n + 1]], alone(sentence).last_hidden_state[0]) >= 0.9999


@torch.no_grad()
@pytest.mark.parametrize("padded", [False, True])
def test_decoder_with_a_cache(random, tmp_path, padded):
    """A prompt, then a token at a time with grouped heads; padded prompts begin with padding."""
    folder = saved(AutoModelForCausalLM, LLAMA, tmp_path)
    ids, mask = tokens(random, 2, 9), torch.ones(2, 9, dtype=torch.long)
    if padded:
        mask[0, :4] = 0
    chosen = tokens(random, 3, 2, 1)
    results = []
    for name in ("fmha", "sdpa"):
        model, cache, seen, logits = loaded(AutoModelForCausalLM, folder, name), None, mask, []
        for step in (ids, *chosen):
            out = model(step, attention_mask=seen, past_key_values=cache, use_cache=True)
            cache, seen = out.past_key_values, torch.cat([seen, torch.ones(2, 1, dtype=torch.long)], 1)
            logits.append(out.logits[:, -1])
        results.append(torch.stack(logits))
    assert cosine(*results) >= 0.9999


@torch.no_grad()
def test_generation(random, tmp_path):
    model = loaded(AutoModelForCausalLM, saved(AutoModelForCausalLM, LLAMA, tmp_path), "fmha")
    reply = model.generate(tokens(random, 1, 5), max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert reply.shape == (1, 8)


def test_what_it_cannot_do_is_an_error(random, tmp_path):
    folder = saved(AutoModel, BERT, tmp_path)
    model = AutoModel.from_pretrained(folder, attn_implementation="fmha", dtype=torch.float32)
    with pytest.raises(TypeError, match="query: expected float16 or bfloat16, got torch.float32; load the model with dtype=torch.bfloat16"):
        model(tokens(random, 1, 4))
    model = loaded(AutoModel, folder, "fmha").train()
    model.config.attention_probs_dropout_prob = 0.1
    for module in model.modules():
        if hasattr(module, "dropout") and "SelfAttention" in type(module).__name__:
            module.dropout.p = 0.1
    with pytest.raises(NotImplementedError, match="dropout: expected 0 in training, got 0.1"):
        model(tokens(random, 1, 4))
