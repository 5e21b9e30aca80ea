"""Steps of vLLM as its runner makes them, and what attention gives in float64. For any device."""

import types

import torch
from vllm.v1.attention.backend import CommonAttentionMetadata

UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
# What a layer and its cache have, in any combination with the batches below.
LAYER = dict(heads=4, kv_heads=2, dim=64, page=16, dtype=torch.bfloat16, cache="auto", order="NHD")


def empty_cache(pages, layer, device):
    """A cache [pages, kv_heads, page, key and value] that is NaN everywhere, in an order of memory; others' layers lie between the blocks
    of order BLNHC."""
    heads, rows, columns = layer["kv_heads"], layer["page"], 2 * layer["dim"]
    in_bytes = layer["cache"].startswith("fp8")
    filled = dict(dtype=torch.uint8 if in_bytes else layer["dtype"], device=device, fill_value=127 if in_bytes else torch.nan)
    if layer["order"] == "HND":
        return torch.full((pages, heads, rows, columns), **filled)
    layers = 3 if layer["order"] == "BLNHC" else 1
    return torch.full((pages, layers, rows, heads, columns), **filled)[:, -1].transpose(1, 2)


class Step:
    """A step with requests of `lengths` (queries, keys); `padding` more requests and `rows` more rows belong to none of them."""

    def __init__(self, lengths, normal, device="cpu", padding=0, rows=0, max_blocks=None, **layer):
        self.layer, self.lengths, self.device = LAYER | layer, lengths, device
        page, heads, kv_heads, dim = (self.layer[name] for name in ("page", "heads", "kv_heads", "dim"))
        self.scales = types.SimpleNamespace(_k_scale=torch.tensor(0.25, device=device), _v_scale=torch.tensor(0.5, device=device))
        self.tokens = sum(queries for queries, _ in lengths)
        self.normal = lambda *shape: normal(*shape).to(device)
        # Whatever padding holds, no request may see it.
        self.query = self.normal(self.tokens + rows, heads, dim).to(self.layer["dtype"])
        self.query[self.tokens :] = torch.nan
        self.keys, self.values = ([self.normal(keys, kv_heads, dim).to(self.layer["dtype"]) for _, keys in lengths] for _ in "kv")
        blocks = [-(-keys // page) for _, keys in lengths]
        count = sum(blocks) + 3
        self.cache = empty_cache(count, self.layer, device)
        # Pages in any order; other entries name no page.
        pages = (torch.randperm(count - 1, generator=torch.Generator().manual_seed(count)) + 1).tolist()
        self.table = torch.full((len(lengths) + padding, max_blocks or max(blocks) + 2), 2**30, dtype=torch.int32)
        for request, needed in enumerate(blocks):
            self.table[request, :needed] = torch.tensor([pages.pop() for _ in range(needed)], dtype=torch.int32)
        self.slots = torch.full((self.tokens + rows,), -1, dtype=torch.int64)
        starts = [0]
        for request, (queries, keys) in enumerate(lengths):
            self.slots[starts[-1] : starts[-1] + queries] = self.slots_of(request)[keys - queries :]
            starts.append(starts[-1] + queries)
        self.starts = torch.tensor(starts + [starts[-1]] * padding, dtype=torch.int32)
        self.seq_lens = torch.tensor([keys for _, keys in lengths] + [0] * padding, dtype=torch.int32)

    def slots_of(self, request):
        """The slots of all keys of a request."""
        page, keys = self.layer["page"], torch.arange(self.lengths[request][1])
        return self.table[request, keys // page].long() * page + keys % page

    def common(self, **changed):
        """What the runner hands to the builder."""
        queries = [queries for queries, _ in self.lengths]
        fields = dict(
            query_start_loc=self.starts.to(self.device), query_start_loc_cpu=self.starts, seq_lens=self.seq_lens.to(self.device), num_reqs=len(self.seq_lens),
            num_actual_tokens=self.tokens, max_query_len=max(queries), max_seq_len=int(self.seq_lens.max()),
            block_table_tensor=self.table.to(self.device), slot_mapping=self.slots.to(self.device),
        )  # fmt: skip
        return CommonAttentionMetadata(**fields | changed)

    def rows(self):
        """The request and the rows of each request that has some."""
        begins = self.starts.tolist()
        return [(request, slice(begins[request], begins[request + 1])) for request in range(len(self.lengths)) if self.lengths[request][0]]

    def new(self):
        """Keys and values of the tokens of the step, with NaN in rows of padding."""
        found = []
        for whole in (self.keys, self.values):
            rows = torch.full((len(self.query), *whole[0].shape[1:]), torch.nan, dtype=self.layer["dtype"], device=self.device)
            for request, place in self.rows():
                rows[place] = whole[request][self.lengths[request][1] - (place.stop - place.start) :]
            found.append(rows)
        return found

    def content(self, request):
        """What the cache has to hold for each key of a request."""
        pairs = ((self.keys[request], self.scales._k_scale), (self.values[request], self.scales._v_scale))
        if not self.layer["cache"].startswith("fp8"):
            return torch.cat([one for one, _ in pairs], -1)
        return torch.cat([(one.float() / scale).to(torch.float8_e4m3fn).view(torch.uint8) for one, scale in pairs], -1)

    def fill(self, until):
        """Writes keys and values of each request to the cache, up to its key number until(queries, keys)."""
        page = self.layer["page"]
        for request, lengths in enumerate(self.lengths):
            slots = self.slots_of(request)[: until(*lengths)].to(self.device)
            self.cache.transpose(1, 2)[slots // page, slots % page] = self.content(request)[: len(slots)]

    def read(self, request):
        """Keys and values of a request in float64, as the cache has them."""
        parts = self.content(request).split(self.layer["dim"], -1)
        if not self.layer["cache"].startswith("fp8"):
            return [part.double() for part in parts]
        scales = (self.scales._k_scale, self.scales._v_scale)
        return [part.view(torch.float8_e4m3fn).double() * scale.double() for part, scale in zip(parts, scales)]


def attention_of(q, k, v, scale, window=None, softcap=None, slopes=None, sink=None):
    """(O, softmax |V|) of the last rows of a sequence: q [rows, heads, dim], k and v [keys, kv_heads, dim], in float64."""
    q, k, v = (t.double().transpose(0, 1) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[0] // t.shape[0], dim=0) for t in (k, v))
    scores = scale * q @ k.transpose(-1, -2)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    behind_own = torch.arange(k.shape[1], device=q.device) - (torch.arange(q.shape[1], device=q.device)[:, None] + k.shape[1] - q.shape[1])
    if slopes is not None:
        scores = scores + torch.tensor(slopes, dtype=torch.float64, device=q.device)[:, None, None] * behind_own
    hidden = behind_own > 0
    if window is not None:
        hidden = hidden | (behind_own <= -window)
    scores = scores.masked_fill(hidden, -torch.inf)
    logits = scores if sink is None else torch.cat([scores, sink.double()[:, None, None].expand(-1, q.shape[1], 1)], -1)
    weights = torch.softmax(logits, -1)[..., : k.shape[1]]
    return (weights @ v).transpose(0, 1), (weights @ v.abs()).transpose(0, 1)


def excess(out, expected, dtype):
    """Returns the largest error in units of its tolerance; NaN counts as infinite."""
    want, spread = expected
    errors = (out.double() - want).abs() / (UNIT[dtype] * 1.1 * (want.abs() + spread) + 1e-6)
    return errors.nan_to_num(nan=torch.inf).max().item()


def impl_of(backend, step, scale=None, window=None, softcap=None, slopes=None, sink=None):
    """The implementation of a layer, made as vLLM's layer makes it."""
    layer, extra = step.layer, {} if sink is None else {"sinks": sink}
    scale = layer["dim"] ** -0.5 if scale is None else scale
    made = backend.get_impl_cls()(layer["heads"], layer["dim"], scale, layer["kv_heads"], slopes, window, layer["cache"], softcap, "decoder", None, **extra)
    made.process_weights_after_loading(layer["dtype"])
    return made


def run(backend, step, scale=None, **features):
    """A layer's step: keys of earlier steps are in the cache, those of this one are written, then attention runs. Returns the output."""
    step.fill(lambda queries, keys: keys - queries)
    impl = impl_of(backend, step, scale, **features)
    builder = backend.get_builder_cls()(None, ["layer"], None, torch.device(step.device))
    metadata = builder.build(0, step.common())
    key, value = step.new()
    impl.do_kv_cache_update(step.scales, key, value, step.cache, metadata.slot_mapping)
    output = torch.full_like(step.query, 7.0)
    assert impl.forward(step.scales, step.query, key, value, step.cache, metadata, output) is output
    return output


def worst(output, step, scale=None, **features):
    """Returns the largest error of a step in units of its tolerance."""
    scale = step.layer["dim"] ** -0.5 if scale is None else scale
    errors = []
    for request, rows in step.rows():
        expected = attention_of(step.query[rows], *step.read(request), scale, **features)
        errors.append(excess(output[rows], expected, step.layer["dtype"]))
    return max(errors)
