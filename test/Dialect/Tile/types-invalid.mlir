// What no tile type may be.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{a tile has rank 1 or 2, got rank 3}}
func.func private @rank(!tile.tile<2x128x64xf16>)

// -----

// expected-error@+1 {{expected static extents from 1 to 1048576, got 0}}
func.func private @extent(!tile.tile<128x0xf16>)

// -----

// expected-error@+1 {{a tile holds f16, bf16 or f32, got 'f64'}}
func.func private @element(!tile.tile<128x64xf64>)

// -----

// expected-error@+1 {{a tile holds f16, bf16 or f32, got 'i8'}}
func.func private @integer(!tile.tile<128x64xi8>)

// -----

// expected-error@+1 {{#tile.smem needs at least 1 stage, got 0}}
func.func private @stages(!tile.tile<128x64xf16, #tile.smem<offset = 0, stages = 0>>)

// -----

// The 128-byte swizzle repeats every 1024 bytes.
// expected-error@+1 {{#tile.smem offset of a rank-2 tile must be a multiple of 1024, got 512}}
func.func private @atom(!tile.tile<128x64xf16, #tile.smem<offset = 512>>)

// -----

// expected-error@+1 {{#tile.smem offset of a rank-1 tile must be a multiple of 4, got 6}}
func.func private @word(!tile.tile<128xf32, #tile.smem<offset = 6>>)

// -----

// 385 + 128 columns of 32 bits.
// expected-error@+1 {{tensor memory has 512 columns, but the tile ends at column 513}}
func.func private @columns(!tile.tile<128x128xf32, #tile.tmem<column = 385>>)

// -----

// 449 + 128/2 columns: two 16-bit elements share one.
// expected-error@+1 {{tensor memory has 512 columns, but the tile ends at column 513}}
func.func private @halves(!tile.tile<128x128xf16, #tile.tmem<column = 449>>)

// -----

// 256 + 128 + 129 columns.
// expected-error@+1 {{expected the last of 2 stages to end at column 512 or before, got 513}}
func.func private @stages(!tile.tile<128x128xf32, #tile.tmem<column = 256, stages = 2, pitch = 129>>)

// -----

// expected-error@+1 {{expected the pitch of #tile.tmem to be at least the 128 columns of the tile, got 127}}
func.func private @close(!tile.tile<128x128xf32, #tile.tmem<column = 0, stages = 2, pitch = 127>>)

// -----

// expected-error@+1 {{expected 1 to 512 stages of #tile.tmem, got 0}}
func.func private @none(!tile.tile<128x128xf32, #tile.tmem<column = 0, stages = 0>>)

// -----

// expected-error@+1 {{expected 1 to 512 stages of #tile.tmem, got 4294967295}}
func.func private @many(!tile.tile<128x128xf32, #tile.tmem<column = 0, stages = 4294967295>>)

// -----

// expected-error@+1 {{expected #tile.smem, #tile.tmem, #tile.registers or #tile.fragment as the place of a tile, got "here"}}
func.func private @place(!tile.tile<128x128xf16, "here">)

// -----

// expected-error@+1 {{expected static extents from 1 to 1048576, got 1152921504606846976}}
func.func private @wide(!tile.tile<128x1152921504606846976xf32, #tile.tmem<column = 0>>)

// -----

// expected-error@+1 {{tensor memory has 128 lanes, one a row, but the tile has 256 rows}}
func.func private @tall(!tile.tile<256x128xf32, #tile.tmem<column = 0>>)

// -----

// expected-error@+1 {{expected a tile inside the 232448 bytes of shared memory, got 4294967295 stages of 16384 bytes at offset 0}}
func.func private @stages(!tile.tile<128x64xbf16, #tile.smem<offset = 0, stages = 4294967295>>)

// -----

// 32 bytes are 16 columns: 16 + 64 end in the next panel.
// expected-error@+1 {{#tile.smem offset of a rank-2 tile must be a multiple of 1024, got 1056}}
func.func private @crossing(!tile.tile<128x64xbf16, #tile.smem<offset = 1056>>)

// -----

// 80 columns take two panels of 128 x 128 bytes.
// expected-error@+1 {{expected the pitch of #tile.smem to be a multiple of 1024 and at least the 32768 bytes of the tile, got 31744}}
func.func private @pitch(!tile.tile<128x80xbf16, #tile.smem<offset = 0, stages = 2, pitch = 31744>>)

// -----

// expected-error@+1 {{expected a tile inside the 232448 bytes of shared memory, got 2 stages of 200704 bytes at offset 0}}
func.func private @apart(!tile.tile<128x80xbf16, #tile.smem<offset = 0, stages = 2, pitch = 200704>>)

// -----

// 128 rows take all lanes.
// expected-error@+1 {{expected #tile.tmem to begin at lane 0, or 16 for 64 rows, got lane 16 for 128 rows}}
func.func private @lanes(!tile.tile<128x64xf32, #tile.tmem<column = 0, lane = 16>>)

// -----

// expected-error@+1 {{expected #tile.tmem to begin at lane 0, or 16 for 64 rows, got lane 8 for 64 rows}}
func.func private @lane(!tile.tile<64x64xf32, #tile.tmem<column = 0, lane = 8>>)

// -----

// A statistic of 64 rows has an element for each of 128 threads: 512 bytes.
// expected-error@+1 {{expected a tile inside the 232448 bytes of shared memory, got 1 stages of 512 bytes at offset 232192}}
func.func private @threads(!tile.tile<64xf32, #tile.smem<offset = 232192>>)

// -----

// expected-error@+2 {{expected the last of 9 stages to end at column 512 or before, got 672}}
// expected-error@+1 {{failed to parse Tile_KernelAttr parameter 'memory'}}
func.func private @extent() attributes {tile.kernel = #tile.kernel<target = "sm_100a", memory = [#tile.extent<name = "S", place = #tile.tmem<column = 96, stages = 9>, size = 64>]>}
