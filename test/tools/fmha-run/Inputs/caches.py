"""caches.py FMHA_RUN [--share=N] [--jobs=N] [--seed=N] [--only=N,M] [--target=T]: runs the cases of CACHE_FACTORS (covering.py), caches, lists and copies of all targets.

Each kernel is within the tolerance of float64, without findings, and writes the same bits under the eager, late and random policies. What
lists name is random; rows that nothing names are NaN. With --share=N the seed chooses one case in N, with --target those of a target."""

import concurrent.futures
import os
import random
import shutil
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import covering  # noqa: E402
import matrix  # noqa: E402

HEADS = {"grouped": (4, 2), "one": (1, 1), "many queries": (8, 1)}
STORED = {
    "16 bits": {},
    "e4m3": dict(kv_dtype="e4m3", k_scale=0.5, v_scale=True),
    "e4m3 per head": dict(kv_dtype="e4m3", k_scale=True, v_scale=True, scale_per_head=True),
    "e4m3 per page": dict(kv_dtype="e4m3", k_scale=True, v_scale=True, scale_per_page=True),
}
KEYS = {
    "dense": {},
    "lengths": dict(kv_lens=True),
    "pages of 1": dict(kv_lens=True, block_tables=True, page_size=1),
    "pages of 16": dict(kv_lens=True, block_tables=True, page_size=16, cache_layout="hnd"),
    "pages of 64": dict(kv_lens=True, block_tables=True, page_size=64),
}
BLOCKS = dict(kv_num_blocks=True, kv_indices=True, block_rows=64, block_keys=32)
LISTED = {"none": {}, "topk": dict(topk=True), "blocks": BLOCKS, "full blocks": dict(BLOCKS, full_kv_num_blocks=True, full_kv_indices=True)}
APPENDED = dict(key_new=True, value_new=True)
NEW_KEYS = {
    "none": {},
    "appended": APPENDED,
    "rotary half": dict(APPENDED, rotary="half"),
    "rotary interleaved": dict(APPENDED, rotary="interleaved", rotary_dim=32),
}
COPIES = {"auto": {}, "tma": dict(kv_copy="tma"), "cp_async": dict(kv_copy="cp_async"), "gather4": dict(kv_copy="gather4")}
SPLITS = {"1": dict(splits=1), "3": dict(splits=3), "3 by length": dict(splits=3, split_by="length")}
MASKS = {"none": {}, "causal": dict(causal=True), "window": dict(window_left=40, window_right=9)}
OUTPUTS = {
    "plain": {},
    "lse": dict(lse=True),
    "row_max and row_sum": dict(row_max=True, row_sum=True),
    "unnormalised in f32": dict(unnormalised=True, out_dtype="f32"),
}
# The first sequence has this many keys: one more than two blocks of 64.
KEYS_OF_FIRST = 129


def words_of(case, number, folder):
    """The flags of fmha-run."""
    head_dim, _, head_dim_v = case["dims"].partition("/")
    q_heads, kv_heads = HEADS[case["heads"]]
    words = dict(target=case["target"], family=None if case["target"] in covering.MMA_SYNC_TARGETS else "mma", head_dim=head_dim, head_dim_v=head_dim_v or head_dim,
                 dtype=case["dtype"], batch=3, q_heads=q_heads, kv_heads=kv_heads, q_len=case["queries"], kv_len=KEYS_OF_FIRST, v_in_k=case["v_in_k"],
                 layout=case["layout"], scheduler=case["scheduler"], seed=number)
    for name, levels in (("stored", STORED), ("keys", KEYS), ("listed", LISTED), ("new_keys", NEW_KEYS), ("kv_copy", COPIES), ("split", SPLITS), ("mask", MASKS), ("outputs", OUTPUTS)):
        words.update(levels[case[name]])
    if case["score"] == "softcap":
        words["softcap"] = 3
    for name, values in (("alibi", 2.0 ** -np.arange(1, q_heads + 1)), ("sink", np.linspace(-2, 3, q_heads))):
        if case.get(name) or case["score"] == name:
            words[name] = os.path.join(folder, f"{name}{number}.npy")
            np.save(words[name], values.astype(np.float32))
    if case["scheduler"] == "static":
        words["max_ctas"] = 3  # Several tiles each.
    return words


def main():
    tool = shutil.which(sys.argv[1])
    options = dict(word[2:].split("=", 1) for word in sys.argv[2:])
    seed, jobs = int(options.get("seed", 0)), int(options.get("jobs", os.cpu_count()))
    array = covering.CoveringArray(covering.CACHE_FACTORS, covering.CACHE_FORBIDDEN, seed=seed)
    numbered = list(enumerate(array.cases))
    if "only" in options:
        numbered = [numbered[int(number)] for number in options["only"].split(",")]
    if "target" in options:
        numbered = [item for item in numbered if item[1]["target"] == options["target"]]
    if "share" in options:
        numbered = random.Random(seed).sample(numbered, len(numbered) // int(options["share"]))
    print(f"seed {seed}: {array.size()}")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:

        def check(item):
            words = words_of(item[1], item[0], folder)
            failure = matrix.verdict([tool, "--json", *matrix.flags(**words, policy="eager", every_policy=True)])
            return f"case {item[0]}: {failure}" if failure else None

        failures = [failure for failure in pool.map(check, numbered) if failure]
    print(f"{len(numbered) - len(failures)} of {len(numbered)} cases are right, with the same bits under three policies", *failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
