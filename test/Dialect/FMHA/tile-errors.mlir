// RUN: not mlir-opt %s --load-dialect-plugin=%plugin --split-input-file \
// RUN:   --pass-pipeline='builtin.module(transform-interpreter)' 2>&1 | FileCheck %s

// Unsupported tilings, and what to do instead. Upstream's tiling adds its own
// errors to each.

// Rows of packed sequences.
// CHECK: error: fmha.attention: expected no tiles of the query rows of packed sequences (cu_seqlens_q, cu_seqlens_k), whose rows differ in keys; tile KV heads or groups
func.func @f(%q: tensor<1x16x4x64xf16>, %k: tensor<1x16x4x64xf16>, %starts: tensor<3xi32>) -> tensor<1x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>) cu_seqlens_q(%starts : tensor<3xi32>) cu_seqlens_k(%starts : tensor<3xi32>) outs(%q : tensor<1x16x4x64xf16>)  -> tensor<1x16x4x64xf16>
  return %o : tensor<1x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// The batch, where keys are packed.
// CHECK: error: fmha.attention: expected no tiles of the batch of packed sequences (cu_seqlens_q, cu_seqlens_k), whose rows differ in keys; tile KV heads or groups
func.func @f(%q: tensor<2x16x4x64xf16>, %k: tensor<1x16x2x64xf16>, %starts: tensor<3xi32>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<1x16x2x64xf16>, tensor<1x16x2x64xf16>) cu_seqlens_k(%starts : tensor<3xi32>) outs(%q : tensor<2x16x4x64xf16>)  -> tensor<2x16x4x64xf16>
  return %o : tensor<2x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys of packed sequences.
// CHECK: error: fmha.attention: expected sequences that are not packed (cu_seqlens_q, cu_seqlens_k) to split keys; set `splits` of the schedule
func.func @f(%q: tensor<1x16x4x64xf16>, %k: tensor<1x16x4x64xf16>, %starts: tensor<3xi32>) -> tensor<1x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>, tensor<1x16x4x64xf16>) cu_seqlens_q(%starts : tensor<3xi32>) cu_seqlens_k(%starts : tensor<3xi32>) outs(%q : tensor<1x16x4x64xf16>)  -> tensor<1x16x4x64xf16>
  return %o : tensor<1x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:6 = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Members of the groups of two KV heads at once.
// CHECK: error: fmha.attention: expected tiles of one KV head where a group is tiled, so that their query heads are neighbors; set the tile size of dimension 1 to 1
func.func @f(%q: tensor<2x16x4x64xf16>, %k: tensor<2x16x2x64xf16>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)  outs(%q : tensor<2x16x4x64xf16>)  -> tensor<2x16x4x64xf16>
  return %o : tensor<2x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [0, 0, 1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys, as if their sums were independent.
// CHECK: error: fmha.attention: expected all keys in a tile, as one softmax runs over them; tile_reduction_using_forall or tile_reduction_using_for splits keys and merges parts
func.func @f(%q: tensor<2x16x4x64xf16>, %k: tensor<2x16x2x64xf16>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)  outs(%q : tensor<2x16x4x64xf16>)  -> tensor<2x16x4x64xf16>
  return %o : tensor<2x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys of two sources.
// CHECK: error: fmha.attention: expected one KV segment to split keys; write the segments as two ops and merge them by fmha.merge
func.func @f(%q: tensor<2x16x4x64xf16>, %k: tensor<2x16x2x64xf16>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>) source2(%k, %k : tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>) outs(%q : tensor<2x16x4x64xf16>) -> tensor<2x16x4x64xf16>
  return %o : tensor<2x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:6 = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Rows with masks of two sources that no slices express.
// CHECK: error: fmha.attention: expected masks of two KV segments to be causal and aligned bottom-right, or none, if query rows are tiled, got none, window 2 left and none
func.func @f(%q: tensor<2x16x4x64xf16>, %k: tensor<2x16x2x64xf16>) -> tensor<2x16x4x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x16x4x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>) source2(%k, %k : tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>) outs(%q : tensor<2x16x4x64xf16>)
      {mask = #fmha.mask<none, left = 2>} -> tensor<2x16x4x64xf16>
  return %o : tensor<2x16x4x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Buffers, with a mask that becomes part of the score region.
// CHECK: error: fmha.attention: expected tensors to tile an op with a score region, or with a mask that becomes one, by offsets that are not constant; tile before bufferization
func.func @f(%q: memref<2x16x4x64xf16>, %o: memref<2x16x4x64xf16>) {
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>) outs(%o : memref<2x16x4x64xf16>) {mask = #fmha.mask<causal_top_left>}
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Buffers, with sequence lengths that become shorter.
// CHECK: error: fmha.attention: expected tensors to tile an op with lengths of sequences that become shorter with the tile; tile before bufferization
func.func @f(%q: memref<2x16x4x64xf16>, %o: memref<2x16x4x64xf16>, %lens: memref<2xi32>) {
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>) kv_lens(%lens : memref<2xi32>) outs(%o : memref<2x16x4x64xf16>) {mask = #fmha.mask<causal>}
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Keys in buffers.
// CHECK: error: fmha.attention: expected tensors to split keys into parts; tile before bufferization
func.func @f(%q: memref<2x16x4x64xf16>, %o: memref<2x16x4x64xf16>) {
  fmha.attention ins(%q, %q, %q : memref<2x16x4x64xf16>, memref<2x16x4x64xf16>, memref<2x16x4x64xf16>) outs(%o : memref<2x16x4x64xf16>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:6 = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Caches of pages.
// CHECK: error: fmha.attention: expected keys and values in dense tensors to tile, got caches of pages (block_tables); set `splits` of the schedule
func.func @pages(%q: tensor<2x1x8x64xf16>, %k: tensor<9x16x2x64xf16>, %lens: tensor<2xi32>, %pages: tensor<2x4xi32>) -> tensor<2x1x8x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x1x8x64xf16>, tensor<9x16x2x64xf16>, tensor<9x16x2x64xf16>)
      kv_lens(%lens : tensor<2xi32>) block_tables(%pages : tensor<2x4xi32>) outs(%q : tensor<2x1x8x64xf16>) -> tensor<2x1x8x64xf16>
  return %o : tensor<2x1x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Caches of 8 bits.
// CHECK: error: fmha.attention: expected keys and values of f16, bf16 or f32 to tile, got {{.*}}f8E4M3FN{{.*}}; set `splits` of the schedule, or run fmha-decompose-to-linalg
func.func @bytes(%q: tensor<2x1x8x64xf16>, %k: tensor<2x16x2x64xf8E4M3FN>, %s: tensor<1xf32>) -> tensor<2x1x8x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x1x8x64xf16>, tensor<2x16x2x64xf8E4M3FN>, tensor<2x16x2x64xf8E4M3FN>)
      k_scale(%s : tensor<1xf32>) v_scale(%s : tensor<1xf32>) outs(%q : tensor<2x1x8x64xf16>) -> tensor<2x1x8x64xf16>
  return %o : tensor<2x1x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Lists of keys.
// CHECK: error: fmha.attention: expected no topk to tile, got one, whose positions are those of whole sequences; set `splits` of the schedule
func.func @lists(%q: tensor<2x1x8x64xf16>, %k: tensor<2x16x2x64xf16>, %lists: tensor<2x1x4xi32>) -> tensor<2x1x8x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x1x8x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)
      topk(%lists : tensor<2x1x4xi32>) outs(%q : tensor<2x1x8x64xf16>) -> tensor<2x1x8x64xf16>
  return %o : tensor<2x1x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Lists of blocks.
// CHECK: error: fmha.attention: expected no blocks to tile, got lists of them, which are of whole sequences; write an op on slices of the operands for each part of the batch or heads
func.func @blocks(%q: tensor<2x1x8x64xf16>, %k: tensor<2x16x2x64xf16>, %counts: tensor<2x1x1xi32>, %lists: tensor<2x1x1x4xi32>) -> tensor<2x1x8x64xf16> {
  %o = fmha.attention ins(%q, %k, %k : tensor<2x1x8x64xf16>, tensor<2x16x2x64xf16>, tensor<2x16x2x64xf16>)
      blocks[128, 4](%counts, %lists : tensor<2x1x1xi32>, tensor<2x1x1x4xi32>) outs(%q : tensor<2x1x8x64xf16>) -> tensor<2x1x8x64xf16>
  return %o : tensor<2x1x8x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["fmha.attention"]} in %root : (!transform.any_op) -> !transform.any_op
    %tiled:2 = transform.structured.tile_using_forall %op tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
