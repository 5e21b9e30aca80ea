"""examples/serving.py in the simulator: pages, lengths of prompts at the borders of pages and chunks, and the check of the results."""

import importlib.util
import pathlib

import numpy as np
import pytest

FILE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "serving.py"


@pytest.fixture(scope="module")
def serving():
    spec = importlib.util.spec_from_file_location("serving", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Run:
    """Requests with prompts of `lengths` tokens and replies of 1, 2, ... tokens, and what serves them."""

    def __init__(self, serving, lengths, seed=0):
        self.serving, self.sizes, self.memory = serving, serving.SMALL, serving.Host()
        dice = np.random.default_rng(seed)
        prompts = [dice.integers(self.sizes.words, size=length).tolist() for length in lengths]
        self.sequences = [serving.Sequence(n, prompt, len(prompt) + n + 1) for n, prompt in enumerate(prompts)]
        turns = np.arange(64)[:, None] / 100.0 ** (np.arange(32) / 32)
        self.angles = np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)
        self.model = serving.Model(self.memory, self.sizes, seed)
        self.attention = serving.PagedAttention(self.memory, self.sizes, 64, self.angles, "sm_90a")

    def serve(self):
        return self.serving.serve(self.model, self.attention, self.sequences, self.sizes, self.memory)

    def worst(self):
        return max(self.serving.check(self.model, sequence, self.angles) for sequence in self.sequences)


@pytest.mark.parametrize(
    "flags, says",
    [
        (["--device=cuda"], "--device=cuda: expected PyTorch, got none; pip install torch, or leave it out"),
        (["--target=sm_75"], "target sm_75 is not supported: it has neither cp.async nor an mma.sync of bf16; expected one of sm_100a"),
    ],
)
def test_flags_that_do_not_fit(serving, monkeypatch, capsys, flags, says):
    monkeypatch.setattr("sys.argv", ["serving.py", *flags])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        serving.main()
    assert says in capsys.readouterr().err


def test_prompts_around_pages_and_chunks(serving):
    """Pages have 8 keys, chunks 16 tokens, and there are more requests than places."""
    lengths = (1, 7, 8, 9, 15, 16, 17, 33)
    run = Run(serving, lengths)
    pages = sorted(run.attention.free)
    _, computed, _ = run.serve()
    assert [len(sequence.tokens) for sequence in run.sequences] == [length + n + 1 for n, length in enumerate(lengths)]
    # The last token of a reply is not computed.
    assert computed == sum(len(sequence.tokens) - 1 for sequence in run.sequences)
    assert sorted(run.attention.free) == pages
    assert run.worst() < 2e-3


def test_the_check_sees_a_wrong_page(serving):
    """A page of another sequence: the order of a sequence's own full pages would not matter."""
    run = Run(serving, (12, 12, 12))
    for sequence in run.sequences:
        sequence.wanted += 4
    plan = run.attention.plan

    def swapped(sequences, tokens):
        lists = plan(sequences, tokens)
        if len(sequences) > 1:
            lists["block_tables"][:2, 0] = lists["block_tables"][1::-1, 0]
        return lists

    run.attention.plan = swapped
    run.serve()
    assert run.worst() > 2e-3
