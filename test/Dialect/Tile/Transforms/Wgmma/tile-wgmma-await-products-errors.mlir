// Kernels that this pass cannot read.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-wgmma-await-products)))'

// Without a schedule nothing happens.
gpu.module @other {
  gpu.func @other() kernel { gpu.return }
}
