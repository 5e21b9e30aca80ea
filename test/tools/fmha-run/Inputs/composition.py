"""composition.py FMHA_RUN [--hopper | --mma-sync | --pairs | --refused | --whole] [--decompose] [--share=N] [--jobs=N] [--seed=N] [--only=N,M] [--flags=WORDS]: runs the
compiled kernel of every case of the covering array (covering.py), with --hopper of that of sm_90a, with --mma-sync of that of the targets
of mma.sync, with --pairs of that of pairs of CTAs, with --whole of that whose features meet all head dims on both targets; the words of --flags follow the case's own in every
run. With --share=N the seed chooses one case in N. With --refused no kernel runs: each level that pairs of CTAs do not take is refused
by the rule that covering.py names.

Each kernel is within the tolerance of float64, without findings, and writes the same bits under the eager, late and
random policies. With --decompose its results also agree with fmha-decompose-to-linalg on the CPU, on the same files.

Rows and keys that a sequence does not have are NaN in q, k, v and bias."""

import concurrent.futures
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import covering  # noqa: E402
import decomposed  # noqa: E402
import matrix  # noqa: E402

HEADS = {"grouped": (4, 2), "one": (1, 1), "many queries": (4, 1)}
# Queries and keys of three sequences. Without lists all are as the first one.
LENGTHS = {
    "long": ((130, 70, 257), (300, 129, 400)),
    "edges": ((128, 129, 127), (129, 127, 257)),
    "decode": ((1, 1, 1), (300, 1, 129)),
    "some empty": ((65, 0, 5), (0, 300, 65)),
    "short": ((70, 40, 129), (130, 65, 200)),
    "short edges": ((64, 65, 63), (65, 63, 129)),
    "short decode": ((1, 1, 1), (130, 1, 65)),
}
WINDOWS = {"none": {}, "left": dict(window_left=40), "right": dict(window_right=30), "both": dict(window_left=100, window_right=20)}
TILES = {"auto": {}, "one": dict(q_tiles=1), "two": dict(q_tiles=2), "half": dict(q_tile_rows=64), "whole": dict(q_tile_rows=128)}
# Factors whose level is the value of a flag, those of all arrays and those of some.
FIELDS = ("v_in_k", "p_placement", "pack_heads", "scheduler", "splits", "exp2_emulated", "mma_order", "s_stages", "p_offset", "dtype", "layout")
FIELDS_OF_SOME = ("mma_k", "kv_block", "kv_stages", "ctas_per_sm", "cta_group")
LISTS = ("kv_lens", "cu_seqlens_q", "cu_seqlens_k")
# The factors of the array, and the pairs that are left out, by flag.
ARRAYS = {
    None: (),
    "--hopper": (covering.HOPPER_FACTORS, covering.HOPPER_FORBIDDEN),
    "--mma-sync": (covering.MMA_SYNC_FACTORS, covering.MMA_SYNC_FORBIDDEN),
    "--pairs": (covering.PAIR_FACTORS, covering.PAIRED_FORBIDDEN),
    "--whole": (covering.WHOLE,),
}
# Keys of a second source, and those of them that each sequence has where it says so.
SECOND, OWN = 129, (129, 0, 64)


class Files:
    """The tensors of one case, its flags, and where its sequences are."""

    def __init__(self, case, number, folder, seed):
        self.case, self.number, self.folder = case, number, folder
        self.rng = np.random.default_rng((seed, number))
        self.flags, self.arrays = {}, {}
        self.batch = 3
        self.q_heads, self.kv_heads = HEADS[case["heads"]]
        dims = case["dims"].split("/")
        self.dims = int(dims[0]), int(dims[-1])
        queries, keys = LENGTHS[case["lengths"]]
        self.queries = queries if case["cu_seqlens_q"] else queries[:1] * 3
        self.keys = keys if case["kv_lens"] or case["cu_seqlens_k"] else keys[:1] * 3
        self.write_lists()
        self.write_tensors()
        if case["source2"] != "none":
            self.write_second()
        self.write_scores()

    def write(self, name, values):
        path = os.path.join(self.folder, f"{name}{self.number}.npy")
        np.save(path, values)
        self.flags[name] = path
        self.arrays[name] = values

    def write_lists(self):
        held = self.keys
        if self.case["kv_lens"]:
            self.write("kv_lens", np.array(self.keys, np.int32))
            held = [count + 7 * b for b, count in enumerate(held)]
        for name, counts in (("cu_seqlens_q", self.queries), ("cu_seqlens_k", held)):
            if self.case[name]:
                self.write(name, np.array([0, *itertools.accumulate(counts)], np.int32))
        self.most_keys = max(held)
        packed_q, packed_k = self.case["cu_seqlens_q"], self.case["cu_seqlens_k"]
        # Some rows and keys after the last sequence.
        self.q_rows = sum(self.queries) + 3 if packed_q else self.queries[0]
        self.k_rows = sum(held) + 2 if packed_k else max(held) + self.case["kv_lens"]
        self.starts_q = self.arrays["cu_seqlens_q"][:-1] if packed_q else [0] * 3
        self.starts_k = self.arrays["cu_seqlens_k"][:-1] if packed_k else [0] * 3
        self.batch_q, self.batch_k = (1 if packed_q else 3), (1 if packed_k else 3)

    def tensor(self, batch, rows, heads, dim, starts, counts):
        values = self.rng.standard_normal((batch, rows, heads, dim), np.float32)
        live = np.zeros((batch, rows), bool)
        for b, (start, count) in enumerate(zip(starts, counts)):
            live[b if batch > 1 else 0, start : start + count] = True
        values[~live] = np.nan
        if self.case["layout"] == "bhsd":
            values = values.transpose(0, 2, 1, 3)
        # A packed tensor has no batch.
        return np.ascontiguousarray(values[0] if batch == 1 else values)

    def write_tensors(self):
        dim, dim_v = self.dims
        self.write("q", self.tensor(self.batch_q, self.q_rows, self.q_heads, dim, self.starts_q, self.queries))
        self.write("k", self.tensor(self.batch_k, self.k_rows, self.kv_heads, dim, self.starts_k, self.keys))
        if not self.case["v_in_k"]:
            self.write("v", self.tensor(self.batch_k, self.k_rows, self.kv_heads, dim_v, self.starts_k, self.keys))

    def write_second(self):
        counts = (SECOND,) * 3
        if self.case["source2"] != "all keys":
            counts = OWN
            self.write("source2_lens", np.array(OWN, np.int32))
        for name, dim in zip(("source2_k", "source2_v"), self.dims):
            if name == "source2_k" or not self.case["v_in_k"]:
                self.write(name, self.tensor(3, SECOND, self.kv_heads, dim, [0] * 3, counts))

    def write_scores(self):
        rng, heads = self.rng, self.q_heads
        most_k = self.most_keys if self.case["cu_seqlens_k"] else self.k_rows
        extents = np.maximum(1, [3, heads, max(self.queries), most_k])
        if self.case["alibi"]:
            self.write("alibi", (2.0 ** -np.arange(1, heads + 1)).astype(np.float32))
        if self.case["bias"]:
            self.write("bias", self.bias(extents))
        if self.case["mask_file"]:
            self.write("mask_file", rng.random(np.where([0, 1, 0, 0], 1, extents)) < 0.7)
        if self.case["sink"]:
            self.write("sink", (2.5 - rng.integers(0, 6, heads)).astype(np.float32))

    def bias(self, extents):
        if self.case["bias"] == "broadcast":
            return self.rng.standard_normal((1, extents[1], 1, 1), np.float32)
        bias = self.rng.standard_normal(extents, np.float32)
        for b, (queries, keys) in enumerate(zip(self.queries, self.keys)):
            bias[b, :, queries:] = np.nan
            bias[b, :, :, keys:] = np.nan
        return bias

    def words(self):
        """The flags of fmha-run, but for files of results, as a dictionary."""
        case, (dim, dim_v) = self.case, self.dims
        words = dict(self.flags, target=case["target"], head_dim=dim, head_dim_v=dim_v, batch=self.batch, q_heads=self.q_heads,
                     kv_heads=self.kv_heads, q_len=self.q_rows, kv_len=self.k_rows, mask=case["mask"], lse=case["lse"])
        words.update({name: case[name] for name in FIELDS})
        words.update({name: case[name] for name in FIELDS_OF_SOME if case.get(name, "auto") != "auto"})
        words.update(WINDOWS[case["window"]], **TILES[case["tiles"]])
        if case["scheduler"] == "static":
            words["max_ctas"] = 3  # Several tiles each.
        if case["mma_order"] == "issue":
            words["conformance"] = "practice"  # The manual promises less than the kernel needs.
        if case["softcap"]:
            words["softcap"] = 3
        if case["outputs"] == "unnormalised in f32":
            words.update(unnormalised=True, out_dtype="f32")
        if case["source2"] == "causal":
            words["source2_mask"] = "causal"
        return words


def results_of(files):
    """The flags that name the files of results."""
    names = ["out"] + ["lse_out"] * files.case["lse"]
    if files.case["outputs"].startswith("row_"):
        names.append(files.case["outputs"] + "_out")
    return {name: os.path.join(files.folder, f"{name}{files.number}.npy") for name in names}


def check_policies(tool, files):
    """The files of results by name, and what is wrong or None. One run compares the bits under the eager, the late and the random policy."""
    results = results_of(files)
    command = [tool, "--json", *matrix.flags(**files.words(), **results, policy="eager", every_policy=True)]
    return results, matrix.verdict(command)


def check_decomposition(tool, files, results):
    """How the results differ from the decomposition's, or None."""
    arrays = {name: np.load(path) for name, path in results.items()}
    wrong = decomposed.disagreement(os.path.dirname(tool), files, arrays)
    return f"{' '.join(matrix.flags(**files.words(), **results))}\n  {wrong}" if wrong else None


def run_cases(tool, numbered, jobs, folder, seed, decompose):
    """The failures of all cases, as messages."""

    def check(number, case):
        files = Files(case, number, folder, seed)
        results, failure = check_policies(tool, files)
        if not failure and decompose:
            failure = check_decomposition(tool, files, results)
        return f"case {number}: {failure}" if failure else None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        failures = [failure for failure in pool.map(lambda item: check(*item), numbered) if failure]
    right = len(numbered) - len(failures)
    print(f"{right} of {len(numbered)} cases are right, with the same bits under three policies"
          + ", and agree with the decomposition" * decompose)
    return failures


def check_refusals(tool, folder):
    """What is not refused as PAIR_FORBIDDEN says, as messages; the levels join a case of plain ones."""
    plain = {name: levels[0] for name, levels in covering.PAIR_FACTORS.items()}
    failures = []
    for *together, why in covering.PAIR_FORBIDDEN:
        choices = [[(factor, level) for level in (sorted(levels) if isinstance(levels, set) else [levels])] for factor, levels in together]
        for number, chosen in enumerate(itertools.product(*choices)):
            files = Files(plain | dict(chosen), number, folder, 0)
            done = subprocess.run([tool, *matrix.flags(**files.words())], capture_output=True, text=True)
            rule = why.split(":")[0]
            if done.returncode != 2 or rule not in done.stderr:
                failures.append(f"{chosen}: expected {rule}, got exit code {done.returncode}: {done.stderr}")
    print(f"{len(failures)} of the levels that pairs of CTAs do not take are not refused by their rule")
    return failures


def main():
    tool = shutil.which(sys.argv[1])
    decompose = "--decompose" in sys.argv
    options = dict(word[2:].split("=", 1) for word in sys.argv[2:] if "=" in word)
    matrix.EXTRA.extend(options.get("flags", "").split())
    seed, jobs = int(options.get("seed", 0)), int(options.get("jobs", os.cpu_count()))
    if "--refused" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit("\n".join(check_refusals(tool, folder)) or 0)
    kind = next((word for word in ARRAYS if word in sys.argv), None)
    array = covering.CoveringArray(*ARRAYS[kind], seed=seed)
    numbered = list(enumerate(array.cases))
    if "only" in options:
        numbered = [numbered[int(number)] for number in options["only"].split(",")]
    if "share" in options:
        numbered = random.Random(seed).sample(numbered, len(numbered) // int(options["share"]))
    print(f"seed {seed}: {array.size()}")
    with tempfile.TemporaryDirectory() as folder:
        failures = run_cases(tool, numbered, jobs, folder, seed, decompose)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
