// What the attributes of the prefix fmha. may be, and where they may stand.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

!t = tensor<1x8x1x64xf16>
func.func @kernel_value(%x: !t) {
  // expected-error@+1 {{"fmha.kernel": expected a symbol @module::@function, got "fmha_fwd"}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) {fmha.kernel = "fmha_fwd"} -> !t
  return
}

// -----

!t = tensor<1x8x1x64xf16>
func.func @kernel_flat(%x: !t) {
  // expected-error@+1 {{"fmha.kernel": expected a symbol @module::@function, got @fmha_fwd}}
  %o = fmha.attention ins(%x, %x, %x : !t, !t, !t) outs(%x : !t) {fmha.kernel = @fmha_fwd} -> !t
  return
}

// -----

// expected-error@+1 {{"fmha.kernel": expected it on fmha.attention, fmha.append or fmha.merge, got it on func.func}}
func.func private @kernel_place() attributes {fmha.kernel = @a::@b}

// -----

gpu.module @schedule_value {
  // expected-error@+1 {{"fmha.schedule": expected a #fmha.schedule, got unit}}
  llvm.func @f() attributes {fmha.schedule} { llvm.return }
}

// -----

// expected-error@+1 {{"fmha.schedule": expected it on gpu.func or llvm.func, got it on func.func}}
func.func private @schedule_place() attributes {fmha.schedule = #fmha.schedule<target = "sm_100a">}

// -----

// expected-error@+1 {{"fmha.manifest": expected a string, got 1 : i64}}
gpu.binary @manifest_value {fmha.manifest = 1} [#gpu.object<#nvvm.target, "">]

// -----

// expected-error@+1 {{"fmha.manifest": expected it on gpu.binary, got it on func.func}}
func.func private @manifest_place() attributes {fmha.manifest = "{}"}

// -----

// expected-error@+1 {{unknown attribute "fmha.kernels" of the prefix fmha.: expected one of fmha.append, fmha.kernel, fmha.manifest, fmha.merge, fmha.problem, fmha.schedule}}
func.func private @unknown() attributes {fmha.kernels = @a::@b}

// -----

// expected-error@+1 {{"fmha.problem": expected a #fmha.problem, got 3}}
func.func private @problem() attributes {fmha.problem = 3}

// -----

// expected-error@+1 {{"fmha.schedul": expected no attribute of the prefix fmha. on an argument, got one}}
func.func private @argument(f32 {fmha.schedul = 3})

// -----

// expected-error@+1 {{"fmha.kernel": expected no attribute of the prefix fmha. on a result, got one}}
func.func private @result() -> (f32 {fmha.kernel = @a::@b})

// -----

// expected-error@+1 {{"tile.bogus": expected no attribute of the prefix tile. on an argument, got one}}
func.func private @tile(f32 {tile.bogus})

// -----

// expected-error@+1 {{"tile.bogus": expected no attribute of the prefix tile. on a result, got one}}
func.func private @tile_result() -> (f32 {tile.bogus})
