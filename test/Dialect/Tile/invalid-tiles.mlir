// What the ops that say which output tiles a CTA does refuse.

// RUN: fmha-opt %s --split-input-file --verify-diagnostics

func.func @response_unaligned(%b: !tile.barrier<1>, %stage: index) {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint}}
  tile.try_cancel to 1032 signals %b[%stage] : !tile.barrier<1>
  return
}

// -----

func.func @query_unaligned() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint}}
  %n = tile.query_cancel at 1032
  return
}

// -----

func.func @number_unaligned() {
  // expected-error@+1 {{attribute 'offset' failed to satisfy constraint}}
  %n = tile.next_tile at 1026
  return
}
