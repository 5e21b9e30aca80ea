// Text that is no layout, and layouts that a tile or a product cannot have. Errors are at the character that does not fit.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics
// RUN: not fmha-opt %s --split-input-file 2>&1 | FileCheck %s --check-prefix=AT

// expected-error@+1 {{expected a stride for each extent of (4,8), got the strides 4}}
func.func private @congruent() attributes {a = #tile.layout<(4,8):4>}

// -----

// expected-error@+1 {{expected extents of at least 1, got (4,0)}}
func.func private @extents() attributes {a = #tile.layout<(4,0):(1,4)>}

// -----

// AT: layouts-errors.mlir:[[@LINE+2]]:64: error: expected an integer, got 'x):(1,4)'
// expected-error@+1 {{expected an integer, got 'x):(1,4)'}}
func.func private @position() attributes {a = #tile.layout<(4, x):(1,4)>}

// -----

// expected-error@+1 {{expected the end, got '2'}}
func.func private @rest() attributes {a = #tile.layout<8:1 2>}

// -----

// expected-error@+1 {{expected the text of a layout until '>'}}
func.func private @token() attributes {a = #tile.layout<8:"1">}

// -----

// expected-error@+1 {{expected numbers below 2^63}}
func.func private @overflow() attributes {a = #tile.layout<(4611686018427387904,4):(1,1)>}

// -----

// expected-error@+1 {{expected a swizzle with bits and base of at least 0, a shift of at least the bits}}
func.func private @swizzle() attributes {a = #tile.layout<Sw<3,4,2> o 0 o 8:1>}

// -----

// expected-error@+1 {{expected a layout of threads and values, such as (32,2):(2,1), got 8:1}}
func.func private @modes() attributes {a = #tile.thread_values<8:1, 8>}

// -----

// expected-error@+1 {{expected ','}}
func.func private @tile() attributes {a = #tile.thread_values<(4,2):(2,1)>}

// -----

// expected-error@+1 {{expected a tile that holds the 8 elements of (4,2):(2,1), got 6}}
func.func private @outside() attributes {a = #tile.thread_values<(4,2):(2,1), 6>}

// -----

// expected-error@+1 {{expected an owner of each element of (4,3), got none of (0,2)}}
func.func private @coverage() attributes {a = #tile.thread_values<(4,2):(2,1), (4,3)>}

// -----

// expected-error@+1 {{expected no thread to hold an element twice, got 0 twice in thread 0}}
func.func private @twice() attributes {a = #tile.thread_values<(4,2):(1,0), 4>}

// -----

// expected-error@+1 {{expected a tile of at most 1048576 elements, got (4096,4096)}}
func.func private @large() attributes {a = #tile.thread_values<(4,2):(2,1), (4096,4096)>}

// -----

// expected-error@+1 {{got 'copy_1'}}
func.func private @copy() attributes {a = #tile.tiled_copy<copy_1, (4,8):(8,1), 32>}

// -----

// expected-error@+1 {{copy_128: expected a multiple of 8 values of 16 bits for each thread, got 4}}
func.func private @copy_values() attributes {a = #tile.tiled_copy<copy_128, (4,4):(4,1), 16>}

// -----

// expected-error@+1 {{expected extents of at least 1, got the tile (-8,128)}}
func.func private @copy_extent() attributes {a = #tile.tiled_copy<cp_async_128, ((16,8),8):((64,1),8), (-8,128)>}

// -----

// expected-error@+1 {{expected a tile that holds the 10168 elements of ((16,8),8):((640,1),80), got (8,128)}}
func.func private @copy_outside() attributes {a = #tile.tiled_copy<cp_async_128, ((16,8),8):((640,1),80), (8,128)>}

// -----

// expected-error@+1 {{expected at most 1048576 values of all threads, got 8796093022208; use one tile}}
func.func private @copy_large() attributes {a = #tile.tiled_copy<cp_async_128, (1099511627776,8):(8,1), 8>}

// -----

// expected-error@+1 {{expected an owner of each element of (8,256)}}
func.func private @copy_part() attributes {a = #tile.tiled_copy<cp_async_128, ((16,8),8):((64,1),8), (8,256)>}

// -----

// expected-error@+1 {{with N a multiple of 8 up to 256, got 'mma_m17n8k8'}}
func.func private @mma() attributes {a = #tile.tiled_mma<mma_m17n8k8, (4,1,1)>}

// -----

// expected-error@+1 {{tiled_mma: expected a layout of atoms along M, N and K, such as (4,1,1), got 4:1}}
func.func private @mma_groups() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, 4>}

// -----

// expected-error@+1 {{tiled_mma: expected atoms that reach each index below their size once, got (4,1,1):(0,0,0)}}
func.func private @mma_same_groups() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1):(0,0,0)>}

// -----

// expected-error@+1 {{tiled_mma: expected atoms of at most 1048576, got (1099511627776,1,1)}}
func.func private @mma_many_groups() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (1099511627776,1,1)>}

// -----

// expected-error@+1 {{tiled_mma: expected permutations that reach each index below their size once, got 64:0}}
func.func private @mma_permutation() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1), (64:0,8,8)>}

// -----

// expected-error@+1 {{tiled_mma: expected an extent, a layout or _ in each mode of the permutation, got (32:1,2:1)}}
func.func private @mma_nested() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1), ((32,2),8,8)>}

// -----

// expected-error@+1 {{tiled_mma: expected a permutation of multiples of 64 in mode 0, got}}
func.func private @mma_tile() attributes {a = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1), (32,8,8)>}

// -----

// Values have the order of the instructions.
// expected-error@+1 {{expected the layout of a tile of rank 2 in registers, #tile.thread_values<((4,8,4),(2,2,1)):((128,1,16),(64,8,512)), (64,8)> (#tile.fragment), #tile.thread_values<((16,2,4),4):((1,256,16),64), (64,8)> (#tile.registers), got #tile.thread_values<((4,8,4),(2,2)):((128,1,16),(8,64)), (64,8)>}}
func.func private @place(!tile.tile<64x8xf32, #tile.thread_values<((4,8,4),(2,2)):((128,1,16),(8,64)), (64,8)>>)

// -----

// expected-error@+1 {{expected the layout of a tile of rank 2 in registers, got #tile.thread_values<(64,1):(1,0), 64>}}
func.func private @place_of_rows(!tile.tile<64xf32, #tile.thread_values<(64,1):(1,0), 64>>)

// -----

// expected-error@+1 {{expected #tile.smem, #tile.tmem, #tile.registers or #tile.fragment as the place of a tile, got #tile.layout<8:1>}}
func.func private @place_of_memory(!tile.tile<64x8xf32, #tile.layout<8:1>>)

// -----

func.func @layout_type() {
  // expected-error@+1 {{"tile.layout": expected #tile.layout or #tile.thread_values, got #tile.fragment}}
  %0 = tile.fill 0.0 {tile.layout = #tile.fragment} : !tile.tile<64x8xf32, #tile.fragment>
  return
}

// -----

func.func @layout_of_no_place() {
  // expected-error@+1 {{"tile.layout": expected it on an op with one result, a placed tile of rank 2}}
  %0 = tile.fill 0.0 {tile.layout = #tile.layout<8:1>} : !tile.tile<64x8xf32>
  return
}

// -----

func.func @layout_of_another_place() {
  // expected-error@+1 {{"tile.layout": expected the layout of '!tile.tile<64x8xf32, #tile.registers>', #tile.thread_values<((16,2,4),4):((1,256,16),64), (64,8)>, got #tile.thread_values<((4,8,4),(2,2)):((128,1,16),(64,8)), (64,8)>}}
  %0 = tile.fill 0.0 {tile.layout = #tile.thread_values<((4,8,4),(2,2)):((128,1,16),(64,8)), (64,8)>} : !tile.tile<64x8xf32, #tile.registers>
  return
}

// -----

func.func @product_type() {
  // expected-error@+1 {{"tile.mma": expected #tile.tiled_mma, got #tile.fragment}}
  %0 = tile.fill 0.0 {tile.mma = #tile.fragment} : !tile.tile<64x8xf32>
  return
}

// -----

func.func @product_of_no_dot() {
  // expected-error@+1 {{"tile.mma": expected it on tile.dot, got it on tile.fill}}
  %0 = tile.fill 0.0 {tile.mma = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1)>} : !tile.tile<64x8xf32>
  return
}

// -----

func.func @product_elements(%a: !tile.tile<64x16xbf16>, %b: !tile.tile<16x16xbf16>) {
  // expected-error@+1 {{"tile.mma": expected an instruction of types f32_bf16, got mma_m16n8k8_f32_f16}}
  %0 = tile.dot %a, %b {tile.mma = #tile.tiled_mma<mma_m16n8k8_f32_f16, (4,1,1)>} : !tile.tile<64x16xbf16>, !tile.tile<16x16xbf16> -> !tile.tile<64x16xf32>
  return
}

// -----

func.func @product_extents(%a: !tile.tile<64x16xf16>, %b: !tile.tile<16x16xf16>) {
  // expected-error@+1 {{"tile.mma": expected a tile that fits into the product of 64 x 16 x 16 (M, N, K), got 128 x 8 x 8}}
  %0 = tile.dot %a, %b {tile.mma = #tile.tiled_mma<mma_m16n8k8_f32_f16, (8,1,1)>} : !tile.tile<64x16xf16>, !tile.tile<16x16xf16> -> !tile.tile<64x16xf32>
  return
}

// -----

func.func @copies_type() {
  // expected-error@+1 {{"tile.copies": expected an array of #tile.tiled_copy, got [#tile.fragment]}}
  %0 = tile.fill 0.0 {tile.copies = [#tile.fragment]} : !tile.tile<64x8xf32>
  return
}
