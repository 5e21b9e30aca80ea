"""latent.py FMHA_RUN: attention of a model of DeepSeek-V4's kind, whole: batch 4, 64 queries, 128 query heads over one KV
head of 512 columns, whose V is K; a compressed source of keys without a mask, a source of the last 128 keys, causal, of
which each sequence has its own number (swa_lens), one softmax over both, and a sink a head. One launch, bf16."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import matrix  # noqa: E402
import npy  # noqa: E402

HEADS = 128


def main():
    with tempfile.TemporaryDirectory() as folder:
        lens, sink = (os.path.join(folder, name) for name in ("lens.npy", "sink.npy"))
        npy.write(lens, (4,), [128, 127, 65, 0], "<i4")
        npy.write(sink, (HEADS,), [h % 9 - 4 for h in range(HEADS)])
        words = dict(batch=4, q_len=64, q_heads=HEADS, kv_heads=1, head_dim=512, v_in_k=True, kv_len=192, source2_len=128,
                     source2_mask="causal", source2_lens=lens, sink=sink, lse=True, pack_heads="on", dtype="bf16")
        run = subprocess.run([sys.argv[1], "--json", *matrix.flags(**words)], capture_output=True, text=True, env=matrix.ENVIRONMENT)
    if run.returncode == 2:
        sys.exit(run.stderr)
    report = json.loads(run.stdout)
    print(f"{report['status']}, cosine {report['cosine']:.9f}, the least of a head {report['min_head_cosine']:.9f}, "
          f"{len(report['findings'])} findings")
    sys.exit(run.returncode or report["min_head_cosine"] < 0.999996)


if __name__ == "__main__":
    main()
