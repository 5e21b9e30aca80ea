#!/usr/bin/env python3
"""Compiles FlashAttention-4's forward kernel for sm_100a to PTX, without a GPU.

    fa4_compile.py OUT.ptx [--head-dim=128] [--causal] [--scheduler=single|persistent] [--two-cta] [--lse]

Needs flash-attn-4, nvidia-cutlass-dsl, quack-kernels, apache-tvm-ffi, torch (any build: the package imports it) and einops. The class is called
as flash_attn/cute/interface.py calls it; of its choices, only those on the command line are free.
"""

import argparse
import math
import os
import pathlib
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("ptx", type=pathlib.Path)
parser.add_argument("--head-dim", type=int, default=128)
parser.add_argument("--causal", action="store_true")
parser.add_argument("--scheduler", choices=["single", "persistent"], default="persistent", help="without --causal; what the package picks")
parser.add_argument("--two-cta", action="store_true", help="pairs of CTAs, as the package does beyond 256 rows at hd128 without a mask")
parser.add_argument("--no-exp2-emulation", action="store_true", help="not what the package does: all exponentials by MUFU")
parser.add_argument("--lse", action="store_true")
parser.add_argument("--arch", default="sm_100a")
args = parser.parse_args()

dump = tempfile.mkdtemp()
os.environ.update(CUTE_DSL_ARCH=args.arch, CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=dump, CUTE_DSL_DISABLE_FILE_CACHING="1")
if os.environ.get("FA4_KEEP_IR"):
    os.environ["CUTE_DSL_KEEP_IR"] = "1"

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch

torch.cuda.get_device_capability = lambda *_: (10, 0)  # The package asks on import and in places of its host code
torch.cuda.is_available = lambda: True


class HardwareInfo:  # The persistent scheduler asks the driver how many CTAs run at once
    def get_max_active_clusters(self, cluster_size, *_, **__):
        return 148 // cluster_size

    def get_device_multiprocessor_count(self):
        return 148


cutlass.utils.HardwareInfo = HardwareInfo

from flash_attn.cute.flash_fwd_sm100 import FlashAttentionForwardSm100
from flash_attn.cute.utils import AuxData


def tensor(dtype, rank, align=16):
    """A tensor of dynamic extents, contiguous in its last dimension, as to_cute_tensor() in the package describes one."""
    shape = [cute.sym_int() for _ in range(rank)]
    # Strides of 64 bits, as torch's dlpack has them; the last one is 1.
    stride = [cute.sym_int64(divisibility=align * 8 // dtype.width) for _ in range(rank - 1)] + [1]
    return cute.runtime.make_fake_tensor(dtype, tuple(shape), stride=tuple(stride), assumed_align=align)


q, k, v, o = (tensor(cutlass.BFloat16, 4) for _ in range(4))
lse = tensor(cutlass.Float32, 3, 4) if args.lse else None
kernel = FlashAttentionForwardSm100(
    args.head_dim, args.head_dim, qhead_per_kvhead=1, is_causal=args.causal, m_block_size=128, n_block_size=128, q_stage=2,
    is_static_persistent=args.scheduler == "persistent" and not args.causal, use_2cta_instrs=args.two_cta)
kernel.enable_ex2_emu &= not args.no_exp2_emulation
compiled = cute.compile(
    kernel, q, k, v, o, lse, 1 / math.sqrt(args.head_dim),
    None, None, None, None,  # cu_seqlens_q, cu_seqlens_k, seqused_q, seqused_k
    None, None, None, None,  # page_table, window_size_left, window_size_right, learnable_sink
    None, None, AuxData(None, None),  # descale, block sparsity
    None, None, None, None, None, None, None,  # scheduler metadata
    256,  # max_seqlen_q
    cuda.CUstream(0))
found = sorted(pathlib.Path(dump).rglob("*.ptx"))
assert len(found) == 1, found
args.ptx.write_bytes(found[0].read_bytes().rstrip(b"\0"))
print(args.ptx, kernel.TileScheduler.__name__, f"kv_stage={kernel.kv_stage} ex2_emu_freq={kernel.ex2_emu_freq} from {found[0].name} in {dump}")
