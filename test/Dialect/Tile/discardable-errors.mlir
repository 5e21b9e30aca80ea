// What attributes of the prefix tile. may be, and where they may stand.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @region_type() {
  // expected-error@+1 {{"tile.region": expected #tile.region, got "Q0"}}
  %0 = tile.fill 0.0 {tile.region = "Q0"} : !tile.tile<128xf32>
  return
}

// -----

func.func @region_number() {
  // expected-error@+1 {{"tile.region": expected #tile.region, got 0 : i32}}
  %0 = tile.fill 0.0 {tile.region = 0 : i32} : !tile.tile<128xf32>
  return
}

// -----

func.func @region_place() {
  // expected-error@+1 {{"tile.region": expected it on an op of the tile dialect, got it on arith.constant}}
  %0 = arith.constant {tile.region = #tile.region<name = "Q0">} 0 : index
  return
}

// -----

func.func @region_column() {
  // expected-error@+1 {{expected a column that is a multiple of 16, got 8}}
  %0 = tile.fill 0.0 {tile.region = #tile.region<name = "P0", column = 8>} : !tile.tile<128xf32>
  return
}

// -----

func.func @region_nameless() {
  // expected-error@+1 {{expected the name of a region, or one for rows}}
  %0 = tile.fill 0.0 {tile.region = #tile.region<column = 16>} : !tile.tile<128xf32>
  return
}

// -----

// expected-error@+1 {{"tile.kernel": expected #tile.kernel, got "sm_100a"}}
func.func @kernel_type() attributes {tile.kernel = "sm_100a"} {
  return
}

// -----

func.func @kernel_place() {
  // expected-error@+1 {{"tile.kernel": expected it on a function, got it on tile.fill}}
  %0 = tile.fill 0.0 {tile.kernel = #tile.kernel<target = "sm_100a">} : !tile.tile<128xf32>
  return
}

// -----

// expected-error@+1 {{expected a target that kernels can be compiled for, one of sm_100a, sm_103a, sm_120, sm_80, sm_86, sm_89, sm_90a, got "sm_75"}}
func.func @kernel_target() attributes {tile.kernel = #tile.kernel<target = "sm_75">} {
  return
}

// -----

// expected-error@+1 {{expected #tile.extent in the memory map, got "load0"}}
func.func @kernel_memory() attributes {tile.kernel = #tile.kernel<target = "sm_100a", memory = ["load0"]>} {
  return
}

// -----

// expected-error@+1 {{expected the name of a region}}
func.func private @extent_nameless() attributes {a = #tile.extent<name = "", place = #tile.smem<offset = 0>, size = 1024>}

// -----

// expected-error@+1 {{expected #tile.smem or #tile.tmem, got #tile.registers}}
func.func private @extent_place() attributes {a = #tile.extent<name = "load0", place = #tile.registers, size = 1024>}

// -----

// expected-error@+1 {{expected a positive size, got 0}}
func.func private @extent_size() attributes {a = #tile.extent<name = "load0", place = #tile.smem<offset = 0>, size = 0>}

// -----

func.func @operands_place() {
  // expected-error@+1 {{"tile.operands": expected it on a function, got it on tile.fill}}
  %0 = tile.fill 0.0 {tile.operands = [i32]} : !tile.tile<128xf32>
  return
}

// -----

// expected-error@+1 {{"tile.operands": expected an array of types, got i32}}
func.func @operands_type() attributes {tile.operands = i32} {
  return
}

// -----

func.func @unknown() {
  // expected-error@+1 {{unknown attribute "tile.q_tile" of the prefix tile.: expected tile.region, tile.partition, tile.layout, tile.mma, tile.copies or tile.kernel}}
  %0 = tile.fill 0.0 {tile.q_tile = 0 : i32} : !tile.tile<128xf32>
  return
}

// -----

// expected-error@+1 {{"tile.region": expected no attribute of the prefix tile. on an argument, got one}}
func.func @argument(%a: index {tile.region = #tile.region<name = "Q0">}) {
  return
}
