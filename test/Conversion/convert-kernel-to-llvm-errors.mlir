// What cannot become LLVM with 32-bit indices.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-kernel-to-llvm))'

// A function that neither LLVM nor the GPU has: the kernel would call a library.
gpu.module @kernels {
  llvm.func @cube_root(%x: f32) -> f32 attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">} {
    // expected-error@+1 {{failed to legalize operation 'math.cbrt'}}
    %0 = math.cbrt %x : f32
    llvm.return %0 : f32
  }
}

// -----

gpu.module @early {
  // expected-error@+1 {{convert-kernel-to-llvm expects kernels as llvm.func, got gpu.func; run convert-tile-to-nvvm first}}
  gpu.func @early() kernel attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">} { gpu.return }
}

// -----

// An index of other people may need its 64 bits; declarations have none.
gpu.module @mixed {
  llvm.func @declared(i64)
  llvm.func @kernel() attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">} { llvm.return }
  // expected-error@+1 {{stands in one module with the kernel @kernel, whose indices become 32 bits wide; give it a gpu.module of its own}}
  llvm.func @other(%x: i64) -> i64 {
    %0 = arith.index_castui %x : i64 to index
    %1 = arith.index_castui %0 : index to i64
    llvm.return %1 : i64
  }
}
