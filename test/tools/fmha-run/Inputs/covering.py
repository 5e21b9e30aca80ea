"""covering.py [table | check PAGE]: pairwise covering arrays of what fmha-run can be asked for.

Each factor has levels; a case takes one level of each. The array is generated so that every two levels of two factors
meet in some case, but for the combinations in FORBIDDEN, each of which the op's constraints or the planner's rules refuse by
number. Head dims and targets are factors of their own; with WHOLE they are one, so that a level meets all head dims on both targets.
sm_90a has an array of its own, with HOPPER_FACTORS, and so have the targets of mma.sync, with MMA_SYNC_FACTORS, and pairs of CTAs, which take few
levels, with PAIR_FACTORS; composition.py runs these. CACHE_FACTORS are those of caches, lists and copies on all targets, which caches.py runs. Alone it prints the first array and its size; `table` prints how many
cases each feature has at each head dim and on each target, and `check` compares that with the table in docs/features.md."""

import itertools
import random
import sys

# The levels of each factor, the plain one first.
FACTORS = {
    "dims": ["128", "64", "256", "512", "192/128", "40/72"],
    "target": ["sm_100a", "sm_103a"],
    "mask": ["none", "causal", "causal-top-left"],
    "window": ["none", "left", "right", "both"],
    "kv_lens": [False, True],
    "cu_seqlens_q": [False, True],
    "cu_seqlens_k": [False, True],
    "softcap": [False, True],
    "alibi": [False, True],
    "bias": [False, "whole", "broadcast"],
    "mask_file": [False, True],
    "sink": [False, True],
    "source2": ["none", "all keys", "own lengths", "causal"],
    "lse": [False, True],
    "outputs": ["plain", "row_max", "row_sum", "unnormalised in f32"],
    "splits": ["1", "3"],
    "heads": ["grouped", "one", "many queries"],
    "lengths": ["long", "edges", "decode", "some empty"],
    "v_in_k": [False, True],
    "p_placement": ["tmem", "smem"],
    "tiles": ["auto", "one", "half"],
    "exp2_emulated": [0, 12],
    "mma_order": ["commit", "issue"],
    "s_stages": ["1", "2"],
    "p_offset": [0, 7],
    "pack_heads": ["off", "on", "16"],
    "scheduler": ["single", "static", "dynamic"],
    "dtype": ["bf16", "f16"],
    "layout": ["bshd", "bhsd"],
}

# Levels of factors that are rejected together: (factor, level), where a set stands for any of its levels, and the rule that rejects them.
FORBIDDEN = [
    (("dims", "40/72"), ("v_in_k", True), "V has more columns than K"),
    (("s_stages", "2"), ("p_placement", "smem"), "plan.C8: with two S, P lies in S"),
]

# Levels that pairs of CTAs do not take. Two tiles are asked for as well, since the planner takes one where there are no registers for two.
WHOLE_TILES = {"auto", "one", "two"}
PAIR_FORBIDDEN = [
    (("cta_group", "2"), ("dims", "40/72"), "plan.C4: a head_dim_v that is a multiple of 32"),
    (("cta_group", "2"), ("p_placement", "tmem"), ("dims", "512"), "plan.C4: a head_dim_v up to 256, with 64 rows and P in shared memory up to 512"),
    *((("cta_group", "2"), half, unpacked, what, "plan.C4: masks with 64 rows of packed heads alone")
      for half in (("tiles", "half"), ("dims", "512")) for unpacked in (("pack_heads", "off"), ("heads", "one")) for what in (("mask", {"causal", "causal-top-left"}), ("window", {"left", "right", "both"}))),
    (("cta_group", "2"), ("cu_seqlens_q", True), "plan.C4: no packed sequences"),
    (("cta_group", "2"), ("cu_seqlens_k", True), "plan.C4: no packed sequences"),
    *((("cta_group", "2"), unpacked, ("splits", "3"), "plan.C4: expected splits = 1 without packed heads") for unpacked in (("pack_heads", "off"), ("heads", "one"))),
    (("cta_group", "2"), ("source2", {"all keys", "own lengths", "causal"}), "plan.C4: one KV segment"),
    *((("cta_group", "2"), whole, what, "plan.C4: expected splits and pack_heads = 1 with tiles of 128 rows")
      for whole in (("tiles", WHOLE_TILES), ("p_placement", "tmem")) for what in (("splits", "3"), ("pack_heads", {"on", "16"}))),
    (("cta_group", "2"), ("tiles", "half"), ("p_placement", "tmem"), "plan.C4: expected p_placement = smem"),
    (("cta_group", "2"), ("tiles", WHOLE_TILES), ("s_stages", "2"), ("p_placement", "smem"), "plan.C8: with two S, P lies in S"),
    (("cta_group", "2"), ("tiles", "two"), ("s_stages", "2"), "plan.C8: two S of one query tile"),
    (("cta_group", "2"), ("tiles", "two"), ("dims", {"256", "512"}), "plan.C4: expected o_columns = 0, but S and O of two tiles do not fit"),
    (("cta_group", "2"), ("tiles", "two"), ("exp2_emulated", 12), ("dims", "192/128"), "plan.C8: no registers for two tiles"),
    *((("cta_group", "2"), ("tiles", "two"), what, "plan.C8: no registers for two tiles") for what in (("bias", {"whole", "broadcast"}), ("mask_file", True))),
    (("cta_group", "2"), ("scheduler", "dynamic"), "plan.C4: expected scheduler = single or static"),
    *((("cta_group", "2"), ("scheduler", "static"), what, "plan.C4: expected scheduler = single with tiles of 64 rows")
      for what in (("tiles", "half"), ("pack_heads", {"on", "16"}), ("splits", "3"))),
    (("cta_group", "2"), ("scheduler", "static"), ("dims", {"256", "512"}), "plan.C4: expected scheduler = single, since shared memory has no room for an output"),
    (("cta_group", "2"), ("scheduler", "static"), ("tiles", "two"), ("exp2_emulated", 12), ("outputs", "unnormalised in f32"), "plan.C8: no registers for two tiles"),
    *((("cta_group", "2"), ("tiles", tiles), ("mma_order", "issue"), ("dims", dims), "plan.C8: too few registers for descriptors of whole keys")
      for tiles, dims in (({"auto", "one"}, {"256", "192/128"}), ("two", "192/128"))),
]

# The factors of sm_90a that differ: the planner chooses the tiles, and exponentials are emulated on P in registers.
HOPPER_FACTORS = FACTORS | {
    "target": ["sm_90a"],
    "p_placement": ["auto", "smem"],
    "tiles": ["auto"],
    "mma_order": ["commit"],
    "s_stages": ["1"],
}
HOPPER_FORBIDDEN = FORBIDDEN + [
    (("p_placement", "smem"), ("exp2_emulated", 12), "plan.C8: exponentials are emulated where P waits in registers"),
]

MMA_SYNC_TARGETS = ["sm_80", "sm_86", "sm_89", "sm_120"]
# Those of mma.sync, whose four warps have one tile: its rows, keys, stages and instructions.
MMA_SYNC_FACTORS = {name: levels for name, levels in FACTORS.items() if name != "source2"} | {
    "target": MMA_SYNC_TARGETS,
    "p_placement": ["auto"],
    "tiles": ["auto", "half", "whole"],
    "mma_order": ["commit"],
    "s_stages": ["1"],
    "scheduler": ["single"],
    "source2": ["none"],
    "exp2_emulated": [0, 25],
    "lengths": ["short", "short edges", "short decode", "some empty"],
    "mma_k": ["16", "8"],
    "kv_block": ["auto", "16", "48"],
    "kv_stages": ["auto", "2", "3"],
    "ctas_per_sm": ["auto", "1", "3"],
}
MMA_SYNC_FORBIDDEN = [
    *FORBIDDEN[:1],
    (("tiles", "whole"), ("ctas_per_sm", "3"), "plan.C2: 168 registers per thread"),
    (("tiles", "whole"), ("mma_k", "8"), "plan.C2: with code on scores that reads per key"),
    (("tiles", "whole"), ("kv_block", "48"), "plan.C2: with code on scores that reads per key"),
    (("tiles", "whole"), ("dims", {"256", "512"}), "plan.C6: on targets of 100 KiB"),
    (("ctas_per_sm", "3"), ("dims", {"256", "512", "192/128"}), "plan.C6: on targets of 100 KiB"),
    (("ctas_per_sm", "3"), ("kv_block", "48"), "plan.C2 or plan.C6"),
    (("ctas_per_sm", "3"), ("mma_k", "8"), "plan.C2: 168 registers per thread"),
    (("ctas_per_sm", "3"), ("bias", {"whole", "broadcast"}), "plan.C2: 168 registers per thread"),
    (("ctas_per_sm", "3"), ("mask_file", True), "plan.C2: 168 registers per thread"),
    (("ctas_per_sm", "3"), ("alibi", True), "plan.C2: 168 registers per thread"),
    (("ctas_per_sm", "3"), ("exp2_emulated", 25), ("dims", "128"), "plan.C2: 168 registers per thread"),
    (("mma_k", "8"), ("kv_block", "48"), "plan.C2: with code on scores that reads per key"),
    (("ctas_per_sm", "3"), ("kv_stages", "3"), ("dims", "128"), "plan.C6"),
    (("kv_block", "48"), ("dims", {"256", "512"}), "plan.C6: on targets of 100 KiB"),
    (("kv_stages", "3"), ("dims", "512"), "plan.C6: on targets of 100 KiB"),
    (("tiles", "whole"), ("alibi", True), ("bias", {"whole", "broadcast"}), "plan.C2: two readers per key"),
    (("tiles", "whole"), ("mask_file", True), ("bias", {"whole", "broadcast"}), "plan.C2: two readers per key"),
    (("tiles", "whole"), ("exp2_emulated", 25), ("bias", {"whole", "broadcast"}), "plan.C2: with emulation"),
    (("kv_block", "48"), ("exp2_emulated", 25), ("alibi", True), ("mask_file", True), ("bias", {"whole", "broadcast"}), "plan.C2: three readers per key"),
]

ALL_TARGETS = ["sm_100a", "sm_103a", "sm_90a", *MMA_SYNC_TARGETS]
IN_BYTES, IN_PAGES, LISTED_BLOCKS = {"e4m3", "e4m3 per head", "e4m3 per page"}, {"pages of 1", "pages of 16", "pages of 64"}, {"blocks", "full blocks"}
NEW_KEYS = {"appended", "rotary half", "rotary interleaved"}
# The factors of caches: the lists that fmha-run makes at random, new keys, numbers of 8 bits and the copies of K and V.
CACHE_FACTORS = {
    "dims": ["64", "128", "80/48", "192/128"],
    "target": ALL_TARGETS,
    "dtype": ["bf16", "f16"],
    "stored": ["16 bits", "e4m3", "e4m3 per head", "e4m3 per page"],
    "keys": ["dense", "lengths", "pages of 1", "pages of 16", "pages of 64"],
    "listed": ["none", "topk", "blocks", "full blocks"],
    "new_keys": ["none", "appended", "rotary half", "rotary interleaved"],
    "kv_copy": ["auto", "tma", "cp_async", "gather4"],
    "split": ["1", "3", "3 by length"],
    "heads": ["grouped", "one", "many queries"],
    "queries": ["1", "3", "65"],
    "mask": ["none", "causal", "window"],
    "score": ["none", "softcap", "alibi"],
    "outputs": ["plain", "lse", "row_max and row_sum", "unnormalised in f32"],
    "sink": [False, True],
    "v_in_k": [False, True],
    "layout": ["bshd", "bhsd"],
    "scheduler": ["single", "static"],
}
CACHE_FORBIDDEN = [
    (("listed", "topk"), ("mask", {"causal", "window"}), "attention.C34"),
    (("listed", LISTED_BLOCKS), ("keys", IN_PAGES), "attention.C36"),
    (("listed", LISTED_BLOCKS), ("split", {"3", "3 by length"}), "plan.C3: expected splits = 1 with blocks"),
    (("split", "3 by length"), ("keys", "dense"), "plan.C8: needs kv_lens"),
    (("split", "3 by length"), ("listed", "topk"), "plan.C8: not combined with lists of keys"),
    (("split", "3 by length"), ("scheduler", "static"), "plan.C8: not combined with loops over tiles"),
    (("stored", IN_BYTES), ("target", {"sm_80", "sm_86"}), "plan.C1: they cannot convert e4m3"),
    (("stored", IN_BYTES), ("target", {"sm_89", "sm_120"}), ("score", {"softcap", "alibi"}), "plan.C8: plain threads have no score region"),
    (("stored", IN_BYTES), ("kv_copy", {"tma", "cp_async", "gather4"}), "plan.C8: threads convert"),
    (("stored", "e4m3 per page"), ("keys", {"dense", "lengths"}), "there are no pages"),
    (("stored", "e4m3 per page"), ("listed", LISTED_BLOCKS), "attention.C36: no pages"),
    (("new_keys", NEW_KEYS - {"appended"}), ("stored", IN_BYTES), "attention.C35"),
    (("new_keys", "appended"), ("stored", IN_BYTES), ("listed", {"topk"} | LISTED_BLOCKS), "another kernel appends, which takes no e4m3"),
    (("stored", IN_BYTES), ("target", {"sm_89", "sm_120"}), ("listed", LISTED_BLOCKS), "plan.C8: plain threads take no lists of blocks"),
    (("new_keys", NEW_KEYS), ("v_in_k", True), "attention.C33"),
    (("new_keys", NEW_KEYS), ("stored", IN_BYTES), ("scheduler", "static"), "plan.C8: no loop over tiles"),
    (("kv_copy", {"tma", "gather4"}), ("target", set(MMA_SYNC_TARGETS)), "plan.C8: their threads copy"),
    (("kv_copy", "cp_async"), ("target", {"sm_100a", "sm_103a"}), "plan.C8: expected tma"),
    (("kv_copy", "gather4"), ("target", "sm_90a"), "plan.C8: expected cp_async"),
    (("kv_copy", "gather4"), ("keys", {"dense", "lengths", "pages of 16", "pages of 64"}), ("listed", {"none"} | LISTED_BLOCKS), "plan.C8: single rows"),
    (("scheduler", "static"), ("target", "sm_90a"), ("listed", "topk"), "plan.C8: expected scheduler = single with topk"),
    (("kv_copy", "gather4"), ("listed", LISTED_BLOCKS), "plan.C8: single rows"),
    (("scheduler", "static"), ("target", set(MMA_SYNC_TARGETS)), "plan.C8: no loops over tiles"),
    (("queries", "65"), ("new_keys", NEW_KEYS), "plan.C8: a CTA has all rows that see a new key"),
]

# Pairs of head dims and target as one factor.
WHOLE = {"dims": list(itertools.product(FACTORS["dims"], FACTORS["target"]))} | {name: levels for name, levels in FACTORS.items() if name not in ("dims", "target")}


def matches(case, factor, level):
    """Whether the case has that level, or one of a set; of a shape the head dims alone may be given."""
    value = case.get(factor)
    if isinstance(level, set):
        return value in level
    return factor in case and (value == level or (isinstance(value, tuple) and value[0] == level))


def is_forbidden(case, forbidden):
    return any(all(matches(case, *one) for one in together) for *together, _ in forbidden)


def within(factors, forbidden, fixed):
    """The factors and what is forbidden, for cases that all have the levels of `fixed`."""
    rest = [(*(one for one in together if not matches(fixed, *one)), why) for *together, why in forbidden]
    levels = {name: [level for level in all_levels if not is_forbidden({name: level}, rest)] for name, all_levels in factors.items()}
    return levels | {name: [level] for name, level in fixed.items()}, rest


PAIR_FACTORS, PAIRED_FORBIDDEN = within(FACTORS | {"tiles": ["auto", "one", "two", "half"]}, FORBIDDEN[:1] + PAIR_FORBIDDEN, {"cta_group": "2"})


class CoveringArray:
    """The cases in which every two levels meet; `forbidden` as FORBIDDEN. They are found greedily: each begins with a pair
    that is missing and takes the best of some ways to go on (as AETG, Cohen et al., 1997)."""

    def __init__(self, factors=FACTORS, forbidden=FORBIDDEN, seed=0, attempts=20):
        self.factors, self.forbidden = factors, forbidden
        self.pairs, self.cases = self.all_pairs(), []
        rng, missing = random.Random(seed), set(self.pairs)
        while missing:
            start = min(missing, key=lambda pair: repr(pair))
            grown = [self.grow(dict(start), missing, rng) for _ in range(attempts)]
            best = max((case for case in grown if case), key=lambda case: len(self.pairs_of(case) & missing), default=None)
            if best is None:
                raise ValueError(f"no case has both of {start}: forbid the pair")
            missing -= self.pairs_of(best)
            self.cases.append(best)
        # A level of WHOLE is two.
        self.cases = [dict(case, **dict(zip(("dims", "target"), case["dims"]))) if isinstance(case["dims"], tuple) else case for case in self.cases]

    def all_pairs(self):
        """Every pair of levels of two factors that is not forbidden."""
        pairs = set()
        for one, other in itertools.combinations(self.factors, 2):
            for pair in itertools.product(self.factors[one], self.factors[other]):
                if not is_forbidden(dict(zip((one, other), pair)), self.forbidden):
                    pairs.add(((one, pair[0]), (other, pair[1])))
        return pairs

    def pairs_of(self, case):
        return set(itertools.combinations(((factor, case[factor]) for factor in self.factors if factor in case), 2))

    def grow(self, case, missing, rng):
        """Fills the factors that `case` lacks, each with the level that meets most of what is missing."""
        left = [factor for factor in self.factors if factor not in case]
        rng.shuffle(left)
        for factor in left:
            allowed = [level for level in self.factors[factor] if not is_forbidden(dict(case, **{factor: level}), self.forbidden)]
            rng.shuffle(allowed)

            def gain(level):
                return sum(pair in missing or pair[::-1] in missing for pair in (((f, l), (factor, level)) for f, l in case.items()))

            if not allowed:
                return None
            case[factor] = max(allowed, key=gain)
        return {factor: case[factor] for factor in self.factors}

    def size(self):
        return f"{len(self.cases)} cases have all {len(self.pairs)} pairs of {sum(map(len, self.factors.values()))} levels of {len(self.factors)} factors"


# The rows of the table: what a reader calls it, and the levels that are it.
FEATURES = [
    ("causal from either corner", "mask", ("causal", "causal-top-left")),
    ("sliding window", "window", ("left", "right", "both")),
    ("KV lengths from memory", "kv_lens", (True,)),
    ("packed queries", "cu_seqlens_q", (True,)),
    ("packed keys and values", "cu_seqlens_k", (True,)),
    ("soft cap", "softcap", (True,)),
    ("ALiBi", "alibi", (True,)),
    ("bias from memory", "bias", ("whole", "broadcast")),
    ("mask from memory", "mask_file", (True,)),
    ("sink", "sink", (True,)),
    ("second KV segment", "source2", ("all keys", "own lengths", "causal")),
    ("log-sum-exp", "lse", (True,)),
    ("row maxima", "outputs", ("row_max",)),
    ("row sums", "outputs", ("row_sum",)),
    ("unnormalized output in f32", "outputs", ("unnormalised in f32",)),
    ("KV blocks split over three CTAs", "splits", ("3",)),
    ("grouped and single KV heads", "heads", ("grouped", "many queries")),
    ("query heads packed in a tile", "pack_heads", ("on", "16")),
    ("V in K", "v_in_k", (True,)),
    ("P in tensor memory", "p_placement", ("tmem",)),
    ("P in shared memory", "p_placement", ("smem",)),
    ("several tiles per CTA", "scheduler", ("static", "dynamic")),
    ("query tiles of 64 rows", "tiles", ("half",)),
    ("exponentials on FMA units", "exp2_emulated", (12,)),
    ("products in the order of issue", "mma_order", ("issue",)),
    ("two S of a query tile", "s_stages", ("2",)),
    ("P scaled by a power of two", "p_offset", (7,)),
    ("f16", "dtype", ("f16",)),
    ("bf16", "dtype", ("bf16",)),
    ("[batch, heads, length, dim]", "layout", ("bhsd",)),
]


def table(cases):
    """Markdown: cases of each feature at each head dim, and on each target."""
    dims = sorted(FACTORS["dims"], key=lambda text: ("/" in text, int(text.split("/")[0])))
    columns = [("dims", level) for level in dims] + [("target", level) for level in FACTORS["target"]]
    lines = ["| | " + " | ".join(level for _, level in columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for name, factor, levels in FEATURES:
        counts = [sum(case[column] == level and case[factor] in levels for case in cases) for column, level in columns]
        lines.append(f"| {name} | " + " | ".join(str(count or "-") for count in counts) + " |")
    return lines


def main():
    covering = CoveringArray()
    array = covering.cases
    if sys.argv[1:2] == ["table"]:
        print("\n".join(table(array)))
    elif sys.argv[1:2] == ["check"]:
        with open(sys.argv[2]) as file:
            page = file.read()
        hopper = CoveringArray(HOPPER_FACTORS, HOPPER_FORBIDDEN).cases
        mma_sync = CoveringArray(MMA_SYNC_FACTORS, MMA_SYNC_FORBIDDEN).cases
        pairs = CoveringArray(PAIR_FACTORS, PAIRED_FORBIDDEN).cases
        caches = CoveringArray(CACHE_FACTORS, CACHE_FORBIDDEN).cases
        counts = [f"{len(array)} cases", f"{len(hopper)} other cases", f"{len(mma_sync)} cases of mma.sync", f"{len(pairs)} cases of pairs", f"{len(caches)} cases of caches"]
        missing = [line for line in table(array) + counts if line not in page]
        sys.exit("The table of features is not that of covering.py; it lacks\n" + "\n".join(missing) if missing else 0)
    else:
        for number, case in enumerate(array):
            print(number, *(f"{factor}={level}" for factor, level in case.items() if level != FACTORS[factor][0]))
    print(covering.size())


if __name__ == "__main__":
    main()
