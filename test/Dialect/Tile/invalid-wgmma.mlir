// What wgmma, named barriers and fragments do not take.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected #tile.fragment in a tile of 64 rows, as wgmma has its accumulator, or 128, and a multiple of 8 columns, got 96 rows of 64 columns}}
func.func private @rows(!tile.tile<96x64xf32, #tile.fragment>)

// -----

// expected-error@+1 {{expected #tile.fragment in a tile of 64 rows, as wgmma has its accumulator, or 128, and a multiple of 8 columns, got 64 rows of 60 columns}}
func.func private @columns(!tile.tile<64x60xf32, #tile.fragment>)

// -----

func.func @too_wide(%a: i64) {
  // expected-error@+1 {{expected a multiple of 4 elements up to 128, half of the columns of the product, got 132}}
  %0 = tile.wgmma %a, %a of bf16 : i64, i64 -> vector<132xf32>
  return
}

// -----

func.func @accumulator(%a: i64, %acc: vector<32xf32>) {
  // expected-error@+1 {{expected an accumulator of the result's type 'vector<64xf32>', got 'vector<32xf32>'}}
  %0 = tile.wgmma %a, %a plus %acc : vector<32xf32> of bf16 : i64, i64 -> vector<64xf32>
  return
}

// -----

func.func @element(%a: i64) {
  // expected-error@+1 {{expected factors of f16 or bf16, got 'f32'}}
  %0 = tile.wgmma %a, %a of f32 : i64, i64 -> vector<64xf32>
  return
}

// -----

func.func @cta_barrier() {
  // expected-error@+1 {{attribute 'barrier' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 1 whose maximum value is 15}}
  tile.sync_named 0 threads 128
  return
}

// -----

func.func @threads() {
  // expected-error@+1 {{attribute 'threads' failed to satisfy constraint}}
  tile.arrive_named 1 threads 100
  return
}

// -----

func.func @pending(%s: vector<64xf32>) {
  // expected-error@+1 {{attribute 'pending' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative whose maximum value is 7}}
  %0 = tile.wgmma_wait 8 of %s : vector<64xf32>
  return
}

// -----

func.func @half_a_step(%a: vector<2xi32>, %b: i64) {
  // expected-error@+1 {{expected 4 registers of A for the 1 steps of B, got 2}}
  %0 = tile.wgmma %a, %b of bf16 : vector<2xi32>, i64 -> vector<64xf32>
  return
}

// -----

func.func @other_steps(%a: i64, %b: i64) {
  // expected-error@+1 {{expected 2 steps of A for the 2 steps of B, got 3}}
  %0 = tile.wgmma %a steps [0, 32, 64], %b steps [0, 32] of bf16 : i64, i64 -> vector<64xf32>
  return
}

// -----

func.func @steps_of_registers(%a: vector<4xi32>, %b: i64) {
  // expected-error@+1 {{expected no steps of A, which is in registers, got some}}
  %0 = tile.wgmma %a steps [0], %b of bf16 : vector<4xi32>, i64 -> vector<64xf32>
  return
}

// -----

func.func @no_step(%a: i64, %b: i64) {
  // expected-error@+1 {{expected one K step or more, got none}}
  %0 = tile.wgmma %a steps [], %b steps [] of bf16 : i64, i64 -> vector<64xf32>
  return
}

// -----

func.func @unaligned_step(%a: i64, %b: i64) {
  // expected-error@+1 {{expected steps at multiples of 16 bytes below 262144, got 40}}
  %0 = tile.wgmma %a steps [0, 32], %b steps [0, 40] of bf16 : i64, i64 -> vector<64xf32>
  return
}

// -----

func.func @step_ahead(%a: i64, %b: i64) {
  // expected-error@+1 {{expected steps at multiples of 16 bytes below 262144, got -16}}
  %0 = tile.wgmma %a steps [-16], %b of bf16 : i64, i64 -> vector<64xf32>
  return
}

// -----

func.func @step_behind(%a: i64, %b: i64) {
  // expected-error@+1 {{expected steps at multiples of 16 bytes below 262144, got 262144}}
  %0 = tile.wgmma %a steps [0], %b steps [262144] of bf16 : i64, i64 -> vector<64xf32>
  return
}
