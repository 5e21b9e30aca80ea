// What roles and channels refuse.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @only_roles() {
  tile.warp_specialize {
    // expected-error@+1 {{only tile.role may stand in tile.warp_specialize}}
    tile.sync_warp
  }
  return
}

// -----

func.func @one_role_per_warp() {
  tile.warp_specialize {
    tile.role "a" warps 0 to 2 registers 48 { tile.sync_warp }
    // expected-error@+1 {{warp 1 already belongs to role "a"}}
    tile.role "b" warps 1 to 3 registers 48 { tile.sync_warp }
  }
  return
}

// -----

// Warps 5 and 6 belong to warpgroup 1: setmaxnreg is one instruction for all four of its warps.
func.func @registers_of_a_warpgroup() {
  tile.warp_specialize {
    tile.role "a" warps 4 to 6 registers 48 { tile.sync_warp }
    // expected-error@+1 {{setmaxnreg acts on a whole warpgroup: expected 48 registers as role "a", got 56}}
    tile.role "b" warps 6 to 8 registers 56 { tile.sync_warp }
  }
  return
}

// -----

func.func @role_outside() {
  // expected-error@+1 {{expects parent op 'tile.warp_specialize'}}
  tile.role "a" warps 0 to 4 registers 48 { tile.sync_warp }
  return
}

// -----

func.func @no_warps() {
  tile.warp_specialize {
    // expected-error@+1 {{expected warps inside [0, 32), got 4 to 4}}
    tile.role "a" warps 4 to 4 registers 48 { tile.sync_warp }
  }
  return
}

// -----

func.func @too_many_warps() {
  tile.warp_specialize {
    // expected-error@+1 {{expected warps inside [0, 32), got 32 to 33}}
    tile.role "a" warps 32 to 33 registers 48 { tile.sync_warp }
  }
  return
}

// -----

func.func @odd_registers() {
  tile.warp_specialize {
    // expected-error@+1 {{expected a multiple of 8 from 24 to 256 registers, got 50}}
    tile.role "a" warps 0 to 4 registers 50 { tile.sync_warp }
  }
  return
}

// -----

func.func @few_registers() {
  tile.warp_specialize {
    // expected-error@+1 {{expected a multiple of 8 from 24 to 256 registers, got 16}}
    tile.role "a" warps 0 to 4 registers 16 { tile.sync_warp }
  }
  return
}

// -----

func.func @two_ways_to_release() {
  // expected-error@+1 {{is unreleased and released by "p": only one can hold}}
  %0 = tile.channel "s" from mma to threads arrivals 1, 128 unreleased released_by "p"
      : !tile.channel<!tile.tile<128xf32, #tile.smem<offset = 0>>>
  return
}

// -----

func.func @no_place() {
  // expected-error@+1 {{carries tiles without a place; run tile-assign-memory}}
  %0 = tile.channel "s" from mma to threads arrivals 1, 128 : !tile.channel<!tile.tile<128xf32>>
  return
}

// -----

func.func @nobody_arrives() {
  // expected-error@+1 {{attribute 'consumer_arrivals' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 1048575}}
  %0 = tile.channel "s" from mma to threads arrivals 1, 0
      : !tile.channel<!tile.tile<128xf32, #tile.smem<offset = 0>>>
  return
}

// -----

// TMA copies to and from shared memory only.
func.func @tma_tensor_memory() {
  // expected-error@+1 {{expected tiles in #tile.smem, where TMA copies, got '!tile.tile<128x64xf32, #tile.tmem<column = 0>>'}}
  %0 = tile.channel "o" from threads to tma arrivals 128, 1
      : !tile.channel<!tile.tile<128x64xf32, #tile.tmem<column = 0>>>
  return
}

// -----

func.func @registers() {
  // expected-error@+1 {{expected tiles in #tile.smem or #tile.tmem, got '!tile.tile<128xf32, #tile.registers>'}}
  %0 = tile.channel "s" from threads to threads arrivals 128, 128
      : !tile.channel<!tile.tile<128xf32, #tile.registers>>
  return
}

// -----

!a = !tile.tile<128xf32, #tile.smem<offset = 0>>
!b = !tile.tile<128xf32, #tile.smem<offset = 512>>
func.func @other_slot(%n: index, %ch: !tile.channel<!a>) {
  // expected-error@+1 {{expected the channel's tile '!tile.tile<128xf32, #tile.smem<offset = 0>>', or one in the same stages, got '!tile.tile<128xf32, #tile.smem<offset = 512>>'}}
  %0 = tile.acquire %ch[%n] : !tile.channel<!a> -> !b
  return
}

// -----

!a = !tile.tile<128xf32, #tile.smem<offset = 0>>
!b = !tile.tile<128xf32, #tile.smem<offset = 512>>
func.func @other_message(%n: index, %ch: !tile.channel<!a>) {
  // expected-error@+1 {{expected the channel's tile}}
  %0 = tile.receive %ch[%n] : !tile.channel<!a> -> !b
  return
}

// -----

!a = !tile.tile<128xf32, #tile.smem<offset = 0>>
func.func @nothing_to_release(%n: index) {
  %ch = tile.channel "q" from tma to mma arrivals 1, 1 unreleased : !tile.channel<!a>
  // expected-error@+1 {{expected a channel with releases of its own, got "q", which is unreleased or released by another}}
  tile.release %ch[%n] : !tile.channel<!a>
  return
}

// -----

// A ring of one stage has room for 2 of its 4 panels, and none for 5.
!four = !tile.tile<128x256xbf16, #tile.smem<offset = 0>>
!two = !tile.tile<128x128xbf16, #tile.smem<offset = 0>>
!five = !tile.tile<128x320xbf16, #tile.smem<offset = 0>>
func.func @single_stage(%n: index, %ch: !tile.channel<!four>) {
  %0 = tile.acquire %ch[%n] : !tile.channel<!four> -> !two
  // expected-error@+1 {{or one in the same stages, got '!tile.tile<128x320xbf16, #tile.smem<offset = 0>>'}}
  %1 = tile.acquire %ch[%n] : !tile.channel<!four> -> !five
  return
}
