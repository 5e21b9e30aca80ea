// Tiles with every kind of place, channels, barriers, and what programs say of regions and kernels come back as they were.

// RUN: fmha-opt %s | FileCheck %s
// RUN: fmha-opt %s --verify-roundtrip -o /dev/null
// RUN: fmha-opt %s --emit-bytecode | fmha-opt | FileCheck %s

// CHECK: func.func private @tiles(!tile.tile<128x64xf16>, !tile.tile<1x1xbf16>, !tile.tile<128xf32>)
func.func private @tiles(!tile.tile<128x64xf16>, !tile.tile<1x1xbf16>, !tile.tile<128xf32>)

// One stage is the default and is not printed; a rank-1 tile is linear and needs 4 bytes of alignment only.
// CHECK: func.func private @shared(!tile.tile<128x64xf16, #tile.smem<offset = 1024>>, !tile.tile<128x64xf16, #tile.smem<offset = 2048, stages = 3>>, !tile.tile<128xf32, #tile.smem<offset = 4>>)
func.func private @shared(
  !tile.tile<128x64xf16, #tile.smem<offset = 1024, stages = 1>>,
  !tile.tile<128x64xf16, #tile.smem<offset = 2048, stages = 3>>,
  !tile.tile<128xf32, #tile.smem<offset = 4>>)

// Columns inside a panel, and a stage that larger tiles pass as well.
// CHECK: func.func private @parts(!tile.tile<128x32xf16, #tile.smem<offset = 1088>>, !tile.tile<128x80xf16, #tile.smem<offset = 2048, stages = 3, pitch = 49152>>)
func.func private @parts(
  !tile.tile<128x32xf16, #tile.smem<offset = 1088>>,
  !tile.tile<128x80xf16, #tile.smem<offset = 2048, stages = 3, pitch = 49152>>)

// 128 f32 columns take 128 columns, 128 f16 columns 64: both end at 512 exactly.
// CHECK: func.func private @tensor(!tile.tile<128x128xf32, #tile.tmem<column = 384>>, !tile.tile<128x128xf16, #tile.tmem<column = 448>>)
func.func private @tensor(
  !tile.tile<128x128xf32, #tile.tmem<column = 384>>,
  !tile.tile<128x128xf16, #tile.tmem<column = 448>>)

// Tiles of 64 rows in both halves of each warp's lanes; lane 0 is not printed.
// CHECK: func.func private @lanes(!tile.tile<64x512xf32, #tile.tmem<column = 0>>, !tile.tile<64x64xf32, #tile.tmem<column = 0, lane = 16>>)
func.func private @lanes(
  !tile.tile<64x512xf32, #tile.tmem<column = 0, lane = 0>>,
  !tile.tile<64x64xf32, #tile.tmem<column = 0, lane = 16>>)

// Two stages end at 512 exactly; a pitch of 0 is not printed.
// CHECK: func.func private @ring(!tile.tile<128x128xf32, #tile.tmem<column = 256, stages = 2>>, !tile.tile<128x128xf16, #tile.tmem<column = 320, stages = 2, pitch = 128>>)
func.func private @ring(
  !tile.tile<128x128xf32, #tile.tmem<column = 256, stages = 2, pitch = 0>>,
  !tile.tile<128x128xf16, #tile.tmem<column = 320, stages = 2, pitch = 128>>)

// CHECK: func.func private @registers(!tile.tile<128x128xf32, #tile.registers>)
func.func private @registers(!tile.tile<128x128xf32, #tile.registers>)

// CHECK: func.func private @channels(!tile.channel<<128x64xf16, #tile.smem<offset = 1024, stages = 3>>>)
func.func private @channels(!tile.channel<!tile.tile<128x64xf16, #tile.smem<offset = 1024, stages = 3>>>)

// CHECK: func.func private @barriers(!tile.barrier<3>)
func.func private @barriers(!tile.barrier<3>)

// CHECK: func.func private @attributes() attributes {a = #tile.registers, b = #tile.smem<offset = 8>, c = #tile.tmem<column = 9>}
func.func private @attributes() attributes {a = #tile.registers, b = #tile.smem<offset = 8>, c = #tile.tmem<column = 9>}

// What is 0, empty or absent is not printed.
// CHECK: func.func private @kernel() attributes {tile.kernel = #tile.kernel<target = "sm_90a">}
func.func private @kernel() attributes {tile.kernel = #tile.kernel<target = "sm_90a">}

// CHECK: func.func private @program() attributes
// CHECK-SAME: tile.kernel = #tile.kernel<target = "sm_100a", memory = [#tile.extent<name = "load0", place = #tile.smem<offset = 0, stages = 3>, size = 16384>, #tile.extent<name = "dot1", place = #tile.tmem<column = 0>, size = 128>], boxRows = [128, 0], roles = [#fmha.role<"load", first_warp = 12, warps = 1, registers = 72>]>
func.func private @program() attributes {tile.kernel = #tile.kernel<target = "sm_100a",
  memory = [#tile.extent<name = "load0", place = #tile.smem<offset = 0, stages = 3>, size = 16384>, #tile.extent<name = "dot1", place = #tile.tmem<column = 0, lane = 0>, size = 128>],
  boxRows = [128, 0], roles = [#fmha.role<"load", first_warp = 12, warps = 1, registers = 72>]>}

// CHECK-LABEL: func.func @regions
func.func @regions() {
  // CHECK: tile.fill 0.000000e+00 {tile.region = #tile.region<name = "O0">} :
  %0 = tile.fill 0.0 {tile.region = #tile.region<name = "O0", column = 0, rows = "">} : !tile.tile<128x64xf32>
  // CHECK: tile.fill 0.000000e+00 {tile.region = #tile.region<name = "P0", column = 64>} :
  %1 = tile.fill 0.0 {tile.region = #tile.region<name = "P0", column = 64>} : !tile.tile<128x64xf32>
  // CHECK: tile.fill 0.000000e+00 {tile.region = #tile.region<rows = "stats0">} :
  %2 = tile.fill 0.0 {tile.region = #tile.region<rows = "stats0">} : !tile.tile<128x64xf32>
  return
}
