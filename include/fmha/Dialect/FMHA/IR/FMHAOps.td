//===- FMHAOps.td - Operations of the fmha dialect ---------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_FMHAOPS_TD
#define FMHA_DIALECT_FMHA_IR_FMHAOPS_TD

include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.td"
include "fmha/Dialect/FMHA/Attributes/FMHABase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def FMHA_TensorOrMemRef : AnyTypeOf<[AnyRankedTensor, AnyMemRef],
                                    "ranked tensor or memref",
                                    "::mlir::ShapedType">;

def FMHA_AttentionOp : Op<FMHA_Dialect, "attention", [
    AttrSizedOperandSegments,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>
  ]> {
  let summary = "fused multi-head attention";
  let description = [{
    For every batch b, query head h and query row i, with g = h * kv_heads /
    q_heads (the KV head that h uses) and j over the keys that the mask lets i
    see:

    ```
    s[j]       = scale * sum_d query[b, i, h, d] * key[b, j, g, d]
    output     = sum_j exp(s[j]) * value[b, j, g, :] / sum_j exp(s[j])
    lse        = log(sum_j exp(s[j]))
    ```

    A row that sees no key (all masked, or kv_len = 0) gives output 0 and lse
    -inf. Scores, exponentials and sums are f32; the output is rounded once, to
    its element type.

    Indices are logical: [batch, length, heads, head_dim] for `query`, `key`,
    `value` and `output`, [batch, q_heads, q_len] for `lse`. The strides of a
    memref determine the order in memory, for example BSHD or BHSD. On tensors
    `fmha.transpose` gives operands and destinations another order (`fmha-fold`).

    The op is in destination-passing style: on tensors each operand of `outs` is
    tied to a result of its type, on memrefs there are no results. The initial
    contents of the destinations are never read.

    Upstream's tiling tiles the op over batches, KV heads, query heads of a group,
    query rows, and, as partial results that `fmha.merge` combines, keys
    (`fmha/Dialect/FMHA/Transforms/TilingInterfaceImpl.h`).

    Head dims of `value` and `key` may differ. If `value` is `key` itself, or a
    `memref.subview` or `tensor.extract_slice` of it with offsets 0 and strides 1,
    V is the first columns of K (multi-head latent attention), and a kernel may
    load both with one message.

    Any head dims are valid; kernels are compiled for multiples of 8 that fit the
    memories of a CTA (plan.C2 and plan.C6 of
    include/fmha/Schedule/Model/Schedule.h).

    Sequences of a batch may differ in length:
    - `kv_lens` [batch]: sequence b has that many keys, and no more than the
      length of `key`; the contents after them, even NaN, never matter.
    - `cu_seqlens_q` [batch + 1]: queries are packed, one sequence after another, in
      a `query` and `output` of batch 1: sequence b has the rows from entry b to
      entry b + 1. `lse` is packed in the same way, [1, q_heads, length]. Rows of
      `output` and `lse` outside all sequences are not written.
    - `cu_seqlens_k` [batch + 1]: keys and values are packed in the same way.
    They compose: a sequence has the keys that `cu_seqlens_k` gives it, and
    `kv_lens` may restrict them to the first ones; q_len and kv_len in the
    definition of a mask are those of the sequence.

    With `block_tables` [sequences, max_pages] K and V are paged caches: `key`
    and `value` are [pages, page_size, kv_heads, head_dim] with any strides, and
    key j of sequence b is row j mod page_size of the page that
    block_tables[b, j / page_size] names. `kv_lens` then gives the lengths.
    Entries of `block_tables` after the last page of a sequence, and rows of
    pages after its last key, may hold anything.

    With `topk` [batch, q_len, n] query row i of sequence b sees only the keys at the
    positions that topk[b, i, 0 ..] lists (sparse attention), up to the first -1 or
    all n. All heads of the query share the list. A position is that of a key in
    its sequence, and with `block_tables` in the pages of that sequence. A position
    that is listed twice counts twice. Entries after the first -1, and keys that no list names, may hold anything. In the
    region `score`, j is the position.

    With `blocks` query rows see only the keys of listed blocks (block-sparse attention). Rows are in blocks of `block_rows`, and
    keys in blocks of `block_keys`. With R = ceil(q_len / block_rows), row i of sequence b and query head h sees the blocks
    that the first kv_num_blocks[b, h, i / block_rows] entries of kv_indices[b, h, i / block_rows] name (partial blocks), and those
    that `full_kv_num_blocks` and `full_kv_indices` name in the same way (full blocks). The counts are [batch or 1, q_heads or 1, R], the lists [.., R, n], each with its
    own n; an extent of 1 is broadcast. A block that is listed twice counts twice. Entries after the counted ones, and keys of blocks that no list names, may hold
    anything; such blocks are not loaded. `mask` and `kv_lens` hide keys of listed blocks as well. These are the
    tensors of a BlockMask of PyTorch, whose mask_mod applies in the blocks of `kv_indices` only: the last argument of the region
    `score` is an i1 that is true in blocks of `full_kv_indices`.

    The head dim of `key` may be split in vectors of 16 bytes: with x elements of 16
    bytes `key` is [batch, length, kv_heads, head_dim / x, x], with any strides, for
    example those of a cache [batch, kv_heads, head_dim / x, length, x], where the
    same vector of neighboring keys is contiguous. With `block_tables` the batch is
    that of pages.

    `key` and `value` may be of f8E4M3FN (8 bits: a sign, 4 of exponent, 3 of
    mantissa) while `query` is of f16, bf16 or f32, or `query` may be of f8E4M3FN as
    well. A value is then the stored number times a scale, in the definitions
    above and below:
    ```
    key    = stored key * k_scale       value = stored value * v_scale
    query  = stored query * q_scale     if query is of f8E4M3FN
    ```
    The scales are f32 vectors. `q_scale` has one entry. `k_scale` and `v_scale` have
    one entry, with `scale_per_head` one per KV head, and with `scale_per_page`, for
    paged caches, one per page of the cache. Entries of pages that no sequence has
    may hold anything.

    `append` has new keys and values of each sequence, [batch, n, kv_heads, head_dim]
    and [batch, n, kv_heads, head_dim_v], which the op writes to the caches `key` and
    `value` before it attends to them: token i of sequence b goes to position
    `kv_lens[b] - n + i`, as `fmha.append` writes it, and `kv_lens` counts the new keys.
    Tokens before position 0, or without a page, are left out, and nothing else in the
    caches changes. A kernel of tensor cores can append only if one CTA, or each split,
    has all rows that see a new key (plan.C8); otherwise plain threads append. On tensors,
    and for launches with more rows than a CTA of the schedule has, use `fmha.append`.

    `rotary` with `append` rotates the first 2c columns of each row of `key_new` and
    `query`, with c the columns of `cos` and `sin` [positions, c], by the angles of its
    position, as `fmha.append` does, before the keys are written and the scores are
    computed. Row i of `query` is at position `kv_lens[b] - q_len + i`; a row at a
    negative position is not rotated. Rotated rows are rounded to the element type, so that the
    caches and the output are those of `fmha.append` and then `fmha.attention`.

    `source2` is a second segment of keys and values: one softmax runs over the
    keys of both segments, and `lse` and `row_sum` include both. `key2` and
    `value2` have independent lengths and strides, and one batch per sequence;
    they are never packed. `mask`, `kv_lens` and `cu_seqlens_k` apply to the
    first segment only: `source2_lens` [sequences] gives the number of keys of
    each sequence in the second one, and `source2_mask` is none or causal, where
    kv_len is that number.

    The region `score` modifies each score before the mask is applied (a
    score_mod), with ops of `arith` and `math` on the score, its position, and
    elements that it reads.
    ```
    s[j] = score(sum_d query[b, i, h, d] * key[b, j, g, d] * scale,
                 b, h, i, j, q_len, kv_len)
    ```
    b is the sequence, i and j are positions in it, q_len and kv_len are its
    lengths: a row sits at key i + kv_len - q_len if the mask is aligned
    bottom-right. Without a score_mod the op has no region. An empty one, `({})` in the generic
    form and `score() {}` in the custom form, means the same; `canonicalize` drops
    it.

    `fmha.read` reads a memref or tensor of the function around the op: a bias, a
    slope of each head, a mask. A score of -inf masks its key. Soft caps, ALiBi,
    biases and masks from memory are such regions, alone or combined. With two
    KV segments the region has an eighth argument, the index of the key's segment,
    0 or 1; j and kv_len refer to that segment. With `blocks` it has an eighth
    argument of type i1, whether the key's block is listed as full.

    Kernels compute indices in 32 bits, and may run the region for rows and keys
    that do not exist and discard the results: it must not rely on more bits, nor
    divide by a length that is 0. tanh has an error of at most 2^-20, or with
    `fastmath<afn>` of 2^-11, several percent of P at a cap of 50. The error of a
    score is that times the cap: 2.4e-4 at a cap of 256. exp, exp2, log and log2 are
    PTX's approximations. Other functions are computed from those and polynomials
    (`tile-expand-math`), those of f16 and bf16 in f32. lib/Dialect/Tile/README.md
    lists their errors: 5e-7 or less times max(1, |f|) for most, 3e-6 for atan, atan2
    and cbrt, 1.5e-5 for powers whose exponent is not a small constant. Sines have
    these errors up to |x| = 2^22, and no correct digits beyond 2^48. Large finite
    scores (-1e9 to mask a key) have the precision of f32.

    `sink` [q_heads] is one more logit for each query head, without a value:
    exp(sink[h]) joins the denominator of `output`, and `lse` is the logarithm of
    that denominator. A row that sees no key then has output 0 and lse sink[h].
    A sink of -inf has no effect; +inf and NaN are invalid, and hosts reject them.

    Further destinations, of the shape of `lse`, let partial results be combined
    (`fmha.merge`):
    ```
    row_max    = max_j s[j]
    row_sum    = sum_j exp(s[j] - row_max)
    ```
    over keys, without the sink; -inf and 0 for a row that sees no key. With
    `unnormalised` the output is sum_j exp(s[j] - row_max) * value[b, j, g, :], not
    divided, which a sink does not change; `lse` still includes it. The output may
    be f32 with 16-bit inputs, also without any of these.

    On tensors the op has no side effects and is speculatable: loop-invariant code
    motion may hoist it, also out of loops without iterations. It terminates for
    all elements, NaN included, and does not divide by run-time extents; extents
    that violate a constraint are invalid wherever the op is, as in linalg. It is
    not speculatable on memrefs, with varlen metadata, whose entries may be
    invalid (attention.C23), or with a region that may divide by 0 or read a tensor
    that may be empty.

    - `scale`: any f64 value from -2^64 to 2^64, 0 and negative included;
      absent means 1 / sqrt(head_dim). A product or a score that overflows f32,
      which is possible with bf16, is infinite.
    - `mask`: see `#fmha.mask`; absent means none.
    - `schedule`: how to build the kernel; absent leaves it to the planner.

    Examples:
    ```mlir
    // Tensors, grouped queries (32 query heads over 8 KV heads), with LSE.
    %o, %l = fmha.attention
        ins(%q, %k, %v : tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>,
                         tensor<?x?x8x128xbf16>)
        outs(%out, %lse : tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
        {mask = #fmha.mask<causal>, scale = 0.1 : f64}
        -> tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>

    // Memrefs with run-time strides, without LSE.
    fmha.attention
        ins(%q, %k, %v : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>,
                         memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>,
                         memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>)
        outs(%out : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>)

    // Packed queries and keys, sequences of any length.
    fmha.attention
        ins(%q, %k, %v : memref<1x?x32x128xbf16>, memref<1x?x8x128xbf16>,
                         memref<1x?x8x128xbf16>)
        cu_seqlens_q(%starts_q : memref<?xi32>)
        cu_seqlens_k(%starts_k : memref<?xi32>)
        outs(%out : memref<1x?x32x128xbf16>) {mask = #fmha.mask<causal>}

    // One query per sequence, keys in pages of 16.
    fmha.attention
        ins(%q, %k, %v : memref<?x1x32x128xbf16>, memref<?x16x8x128xbf16>,
                         memref<?x16x8x128xbf16>)
        kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>)
        outs(%out : memref<?x1x32x128xbf16>)

    // Latent attention with a list of keys for each query.
    %v = memref.subview %k[0, 0, 0, 0] [%b, %n, 1, 512] [1, 1, 1, 1]
        : memref<?x?x1x576xbf16> to memref<?x?x1x512xbf16, strided<[?, 576, 576, 1]>>
    fmha.attention
        ins(%q, %k, %v : memref<?x?x128x576xbf16>, memref<?x?x1x576xbf16>,
                         memref<?x?x1x512xbf16, strided<[?, 576, 576, 1]>>)
        topk(%lists : memref<?x?x2048xi32>)
        outs(%out : memref<?x?x128x512xbf16>)

    // A document mask with a block list for 128 rows, the same for all heads.
    fmha.attention
        ins(%q, %k, %v : memref<?x?x32x128xbf16>, memref<?x?x8x128xbf16>,
                         memref<?x?x8x128xbf16>)
        blocks[128, 128](%counts, %lists, %full_counts, %full_lists :
            memref<?x1x?xi32>, memref<?x1x?x?xi32>, memref<?x1x?xi32>, memref<?x1x?x?xi32>)
        outs(%out : memref<?x?x32x128xbf16>)
        score(%s, %b, %h, %i, %j, %q_len, %kv_len, %is_full) {
          %none = arith.constant 0xFF800000 : f32
          %of_row = fmha.read %documents[%b, %i] : memref<?x?xi32>
          %of_key = fmha.read %documents[%b, %j] : memref<?x?xi32>
          %same = arith.cmpi eq, %of_row, %of_key : i32
          %seen = arith.ori %is_full, %same : i1
          %x = arith.select %seen, %s, %none : f32
          fmha.yield %x : f32
        }

    // A cache of keys [batch, kv_heads, head_dim / 4, length, 4] in f32.
    fmha.attention
        ins(%q, %k, %v : memref<?x1x32x128xf32>,
                         memref<?x?x8x32x4xf32, strided<[?, 4, ?, ?, 1]>>,
                         memref<?x?x8x128xf32, strided<[?, 128, ?, 1]>>)
        outs(%out : memref<?x1x32x128xf32>)

    // Caches of 8 bits in pages of 16, with a scale for each page.
    fmha.attention
        ins(%q, %k, %v : memref<?x1x32x128xbf16>, memref<?x16x8x128xf8E4M3FN>,
                         memref<?x16x8x128xf8E4M3FN>)
        kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>)
        k_scale(%ks : memref<?xf32>) v_scale(%vs : memref<?xf32>)
        outs(%out : memref<?x1x32x128xbf16>) {scale_per_page}

    // Decoding that appends the new token of each sequence to its cache.
    fmha.attention
        ins(%q, %k, %v : memref<?x1x8x64xf32>, memref<?x?x8x64xf32>, memref<?x?x8x64xf32>)
        kv_lens(%lens : memref<?xi32>)
        append(%knew, %vnew : memref<?x1x8x64xf32>, memref<?x1x8x64xf32>)
        outs(%out : memref<?x1x8x64xf32>)

    // The same in bf16, with rotated queries and new keys.
    fmha.attention
        ins(%q, %k, %v : memref<?x1x32x128xbf16>, memref<?x?x8x128xbf16>, memref<?x?x8x128xbf16>)
        kv_lens(%lens : memref<?xi32>)
        append(%knew, %vnew : memref<?x1x8x128xbf16>, memref<?x1x8x128xbf16>)
        rotary half(%cos, %sin : memref<?x64xf32>, memref<?x64xf32>)
        outs(%out : memref<?x1x32x128xbf16>)

    // One softmax over compressed keys and those of a window after them.
    fmha.attention
        ins(%q, %k, %v : memref<?x?x128x512xbf16>, memref<?x?x1x512xbf16>,
                         memref<?x?x1x512xbf16>)
        source2(%window, %window : memref<?x?x1x512xbf16>, memref<?x?x1x512xbf16>)
        sink(%logits : memref<128xf32>) source2_lens(%lens : memref<?xi32>)
        outs(%out : memref<?x?x128x512xbf16>)
        {source2_mask = #fmha.mask<causal>}

    // A partial result to merge with that of other keys.
    fmha.attention
        ins(%q, %k, %v : memref<1x?x32x128xbf16>, memref<1x?x8x128xbf16>,
                         memref<1x?x8x128xbf16>)
        outs(%out : memref<1x?x32x128xf32>)
        row_max(%max : memref<1x32x?xf32>) row_sum(%sum : memref<1x32x?xf32>)
        {unnormalised}

    // A soft cap of 50 and a bias of each head.
    fmha.attention
        ins(%q, %k, %v : memref<1x?x32x128xbf16>, memref<1x?x8x128xbf16>,
                         memref<1x?x8x128xbf16>)
        outs(%out : memref<1x?x32x128xbf16>)
        score(%s, %b, %h, %i, %j, %q_len, %kv_len) {
          %cap = arith.constant 50.0 : f32
          %x = arith.divf %s, %cap : f32
          %t = math.tanh %x : f32
          %y = arith.mulf %t, %cap : f32
          %e = fmha.read %bias[%h, %i, %j] : memref<32x?x?xf32>
          %z = arith.addf %y, %e : f32
          fmha.yield %z : f32
        }
    ```

    Constraints. Extents that are dynamic are checked before launch instead.
    - (attention.C1) The operands are all tensors or all memrefs.
    - (attention.C2) `query`, `key` (see attention.C31), `value` and `output` have rank 4, `lse`, `row_max` and
      `row_sum` have rank 3.
    - (attention.C3) `query`, `key`, `value` and `output` have the same element type, f16,
      bf16 or f32; that of `output` may be f32. `key` and `value` may both be of
      f8E4M3FN instead, and with them `query`; `output` is then f32, f16 or bf16.
    - (attention.C4) The element type of `lse`, `row_max` and `row_sum` is f32.
    - (attention.C5) Head dims (dimension 3) are static, positive and at most 65536.
    - (attention.C6) `query` and `key` have the same head dim.
    - (attention.C7) `value` and `output` have the same head dim.
    - (attention.C8) `query` and `output`, and `key` and `value`, have the same
      batch: that of all operands, or 1 if they are packed.
    - (attention.C9) `key` and `value` have the same length.
    - (attention.C10) `key` and `value` have the same number of heads.
    - (attention.C11) `output` has the length and the number of heads of `query`.
    - (attention.C12) The number of query heads is a multiple of the number of KV heads,
      which is positive.
    - (attention.C13) The shape of `lse`, `row_max` and `row_sum` is [batch, q_heads, q_len].
    - (attention.C14) `scale` is from -2^64 to 2^64, since scores, row outputs and
      the maxima that merges use are f32. Elements of f16 then have finite
      scores, at most 2^41 * 2^64.
    - (attention.C15) A memref has a strided layout.
    - (attention.C16) The head dim of a memref is contiguous: its stride is 1.
      attention.C16 to attention.C18 apply to `query`, `key`, `value` and `output`.
    - (attention.C17) Every other stride of a memref is a non-negative multiple of
      16 bytes and less than 2^40 bytes, as TMA requires.
    - (attention.C18) The offset of a memref is a multiple of 16 bytes and fits 63 bits in
      bytes.
    - (attention.C19) A memref lies in global memory: no memory space, 0, 1 or
      `#gpu.address_space<global>`.
    - (attention.C20) `schedule` can serve the op on its target; without roles, with
      those of the planner.
    - (attention.C21) A destination that is a memref shares no memory with another
      operand: the two are not the same memref, views (subview, cast, ...) of each
      other, or views of one memref, except subviews that may be disjoint.
      Run-time addresses are checked before launch.
    - (attention.C22) `kv_lens`, `cu_seqlens_q`, `cu_seqlens_k` and `source2_lens` have
      rank 1 and elements of type i32; as memrefs they are contiguous.
    - (attention.C23) `kv_lens` has one entry per sequence, `cu_seqlens_q` and `cu_seqlens_k`
      one more. Before launch: no entry of `kv_lens` is negative or above the number
      of keys of its sequence; entries of the others begin with 0, never decrease,
      and do not exceed the total length.
    - (attention.C24) `sink` is a vector of f32 with one entry per query head; as a
      memref it is contiguous.
    - (attention.C25) There is at most one region `score`. It takes an f32 and six
      indices, with two KV segments seven, and with `blocks` an i1 after them, and yields an f32. Its ops are
      `fmha.read`, constants, and elementwise ops of `arith` and `math` on index,
      i1, i8, i16, i32, i64, f16, bf16, f32 and f64; those of `math` take f32, f16,
      bf16, i32 or i64, and `ipowi` is not permitted. Values from outside are
      constants and the sources of reads.
    - (attention.C26) The region reads at most 64 ranked tensors or memrefs, whichever
      the operands are, of rank 0 to 8 with elements f32, f16, bf16, i64, i32, i8 or
      i1 (a byte, 0 or 1). A memref is strided with contiguous rows (stride 1 in the
      last dimension), lies in global memory, and shares no memory with a
      destination. Before launch: each has elements.
    - (attention.C27) `key2` and `value2` are both present or both absent;
      `source2_lens` and `source2_mask` require them; the mask has no window.
    - (attention.C28) `key2` and `value2` have the element type, the head dims and the
      heads of `key` and `value`, one length, and one batch per sequence;
      `source2_lens` has one entry per sequence. Before launch: no entry is negative
      or above the length.
    - (attention.C29) Before launch: the lengths of `query`, `key` and `key2` are at
      most 2^31 - 512, with a window, `blocks` or a second segment 2^30 - 512.
    - (attention.C30) `block_tables` is a matrix of i32 with a row per sequence; as
      a memref it is contiguous. It comes with `kv_lens`, without `cu_seqlens_k` and
      `source2`. The length of `key` and `value` is then static, a power of two of
      at most 256. Before launch: the entries of pages that a sequence has keys in
      are from 0 to the number of pages of `key` less 1.
    - (attention.C31) `key` has rank 4, or rank 5 without `source2` and with a
      static last dimension of 16 bytes; head dims are then products of its last
      two dimensions, and attention.C16 applies to the last one.
    - (attention.C32) `k_scale` and `v_scale` come with a `key` of f8E4M3FN, and only
      then; `q_scale` with such a `query`. They are vectors of f32, contiguous as
      memrefs. `q_scale` has one entry. `k_scale` and `v_scale` have one, one per KV
      head with `scale_per_head`, or one per page with `scale_per_page`, which requires
      `block_tables`. At most one of these attributes is present, and none without
      `k_scale`. The host rejects a scale that is used and not finite.
    - (attention.C33) `key_new` and `value_new` come together, with memrefs and `kv_lens`,
      without `cu_seqlens_q`, `cu_seqlens_k`, `source2` and V in K. They have rank 4, the
      element type of `key`, the batch of `query`, the heads of `value`, the length of
      each other and the head dims of `query` and `value`; their rows are contiguous and
      aligned as those of attention.C16. The op writes to `key` and `value`, so
      attention.C21 requires that they share no memory with other operands. Before
      launch: there are queries if there are new keys, at most 2^24 of them, and a row
      of a page that a sequence writes is neither written nor read by another one; with
      tensor cores a CTA has all queries and query heads of a KV head (plan.C8).
    - (attention.C34) `topk` is [batch, q_len, n] of i32, with the batch and the
      length of `query`; as a memref it is contiguous. It comes without a mask,
      `cu_seqlens_q`, `cu_seqlens_k`, `source2` and `append`. Before launch: it has
      less than 2^31 elements, and entries before the first -1 of a list are from 0
      to the number of keys of the sequence less 1.
    - (attention.C35) `rotary` comes with `append`, `cos` and `sin`. These are
      matrices of f32 of one shape, with contiguous rows; their columns are static,
      at least 1, and at most half of the head dim of `query`, and strides are not
      negative. `query` and `key` are of f16, bf16 or f32. Before launch: no entry of
      `kv_lens` is above the number of rows. A kernel does not rotate a row at a
      position without angles.
    - (attention.C36) `kv_num_blocks` and `kv_indices` come together, with `block_rows` and `block_keys`, which are from 1 to
      2^28; so do `full_kv_num_blocks` and `full_kv_indices`, with the first two. They are of i32 and, as memrefs, contiguous. Counts
      have rank 3 and lists rank 4, with the same first three extents: 1 or the batch of `query`, 1 or its number of heads, and
      ceil(q_len / block_rows). `blocks` comes without `cu_seqlens_q`, `cu_seqlens_k`, `source2`, `block_tables`,
      `topk` and `append`. Before launch: each tensor has less than 2^31 elements, a count is from 0 to the length of
      a list, and counted entries are from 0 to ceil(kv_len / block_keys) less 1, with the length of `key` as kv_len.
  }];

  let arguments = (ins
    Arg<FMHA_TensorOrMemRef, "queries">:$query,
    Arg<FMHA_TensorOrMemRef, "keys">:$key,
    Arg<FMHA_TensorOrMemRef, "values">:$value,
    Arg<Optional<FMHA_TensorOrMemRef>, "keys of each sequence">:$kv_lens,
    Arg<Optional<FMHA_TensorOrMemRef>, "start of each sequence of queries">:$cu_seqlens_q,
    Arg<Optional<FMHA_TensorOrMemRef>, "start of each sequence of keys">:$cu_seqlens_k,
    Arg<Optional<FMHA_TensorOrMemRef>, "a logit per query head">:$sink,
    Arg<Optional<FMHA_TensorOrMemRef>, "keys of the second segment">:$key2,
    Arg<Optional<FMHA_TensorOrMemRef>, "values of the second segment">:$value2,
    Arg<Optional<FMHA_TensorOrMemRef>, "keys of each sequence in the second segment">:$source2_lens,
    Arg<Optional<FMHA_TensorOrMemRef>, "pages of each sequence">:$block_tables,
    Arg<Optional<FMHA_TensorOrMemRef>, "keys of each query">:$topk,
    Arg<Optional<FMHA_TensorOrMemRef>, "counts of blocks of keys">:$kv_num_blocks,
    Arg<Optional<FMHA_TensorOrMemRef>, "blocks of keys of each block of rows">:$kv_indices,
    Arg<Optional<FMHA_TensorOrMemRef>, "counts of full blocks">:$full_kv_num_blocks,
    Arg<Optional<FMHA_TensorOrMemRef>, "full blocks of each block of rows">:$full_kv_indices,
    Arg<Optional<FMHA_TensorOrMemRef>, "factors of keys of 8 bits">:$k_scale,
    Arg<Optional<FMHA_TensorOrMemRef>, "factors of values of 8 bits">:$v_scale,
    Arg<Optional<FMHA_TensorOrMemRef>, "factor of queries of 8 bits">:$q_scale,
    Arg<Optional<FMHA_TensorOrMemRef>, "new keys of each sequence">:$key_new,
    Arg<Optional<FMHA_TensorOrMemRef>, "new values of each sequence">:$value_new,
    Arg<Optional<FMHA_TensorOrMemRef>, "cosines of each position">:$cos,
    Arg<Optional<FMHA_TensorOrMemRef>, "sines of each position">:$sin,
    Arg<FMHA_TensorOrMemRef, "destination of the output">:$output,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the log-sum-exp">:$lse,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the row maxima">:$row_max,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the row sums">:$row_sum,
    UnitAttr:$unnormalised,
    OptionalAttr<F64Attr>:$scale,
    DefaultValuedAttr<FMHA_MaskAttr, "::fmha::schedule::Mask::None">:$mask,
    DefaultValuedAttr<FMHA_MaskAttr, "::fmha::schedule::Mask::None">:$source2_mask,
    OptionalAttr<FMHA_ScheduleAttr>:$schedule,
    UnitAttr:$scale_per_head,
    UnitAttr:$scale_per_page,
    OptionalAttr<FMHA_RotaryAttr>:$rotary,
    OptionalAttr<I32Attr>:$block_rows,
    OptionalAttr<I32Attr>:$block_keys);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<MaxSizedRegion<1>>:$score_regions);

  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:`
              type($query) `,` type($key) `,` type($value) `)`
    (`source2` `(` $key2^ `,` $value2 `:` type($key2) `,` type($value2) `)`)?
    (`kv_lens` `(` $kv_lens^ `:` type($kv_lens) `)`)?
    (`cu_seqlens_q` `(` $cu_seqlens_q^ `:` type($cu_seqlens_q) `)`)?
    (`cu_seqlens_k` `(` $cu_seqlens_k^ `:` type($cu_seqlens_k) `)`)?
    (`sink` `(` $sink^ `:` type($sink) `)`)?
    (`source2_lens` `(` $source2_lens^ `:` type($source2_lens) `)`)?
    (`block_tables` `(` $block_tables^ `:` type($block_tables) `)`)?
    (`topk` `(` $topk^ `:` type($topk) `)`)?
    (`blocks` `[` $block_rows `,` $block_keys `]` `` `(` $kv_num_blocks^ `,` $kv_indices
              (`,` $full_kv_num_blocks^ `,` $full_kv_indices)? `:`
              type($kv_num_blocks) `,` type($kv_indices)
              (`,` type($full_kv_num_blocks)^ `,` type($full_kv_indices))? `)`)?
    (`k_scale` `(` $k_scale^ `:` type($k_scale) `)`)?
    (`v_scale` `(` $v_scale^ `:` type($v_scale) `)`)?
    (`q_scale` `(` $q_scale^ `:` type($q_scale) `)`)?
    (`append` `(` $key_new^ `,` $value_new `:` type($key_new) `,` type($value_new) `)`)?
    (`rotary` $rotary^ `(` $cos `,` $sin `:` type($cos) `,` type($sin) `)`)?
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    (`row_max` `(` $row_max^ `:` type($row_max) `)`)?
    (`row_sum` `(` $row_sum^ `:` type($row_sum) `)`)?
    attr-dict (`->` type($results)^)? custom<Score>($score_regions, ref($kv_num_blocks))
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;

  let extraClassDeclaration = [{
    /// Logical dimensions of query, key, value and output.
    enum Dimension : unsigned { Batch = 0, Length = 1, Heads = 2, HeadDim = 3 };
    static constexpr int64_t maxHeadDim = 65536;
    /// The largest magnitude of `scale` (attention.C14).
    static constexpr double maxScale = 0x1p64;
    /// The index of `output` among the ODS operands.
    static constexpr unsigned outputIndex = 23;

    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(
          getOperation(), getODSOperandIndexAndLength(outputIndex).first,
          1 + getRowOutputs().size());
    }
    /// Returns `lse`, `row_max` and `row_sum`, if present.
    ::llvm::SmallVector<::mlir::Value, 3> getRowOutputs() {
      ::llvm::SmallVector<::mlir::Value, 3> rows;
      for (::mlir::Value row : {getLse(), getRowMax(), getRowSum()})
        if (row)
          rows.push_back(row);
      return rows;
    }

    /// Returns the type of Q: f16, bf16, f32 or f8E4M3FN. Others may differ
    /// (attention.C3).
    ::mlir::Type getElementType() { return getQuery().getType().getElementType(); }
    /// Returns the head dim of query and key, and that of value and output.
    unsigned getHeadDim() { return getQuery().getType().getDimSize(HeadDim); }
    unsigned getHeadDimV() { return getValue().getType().getDimSize(HeadDim); }
    /// Returns whether K and V are of f8E4M3FN (attention.C3).
    bool hasE4M3Keys() {
      return ::llvm::isa<::mlir::Float8E4M3FNType>(
          getKey().getType().getElementType());
    }
    /// Returns whether the head dim of K is split in vectors (attention.C31).
    bool hasKeyVectors() { return getKey().getType().getRank() == 5; }
    /// Returns whether V is the first columns of K in every KV segment.
    bool isValueInKey();
    /// Returns `scale`, or 1 / sqrt(head_dim) without it.
    double getScaleOrDefault();
    /// Returns the number of columns that rotate, 0 without `rotary`.
    unsigned getRotaryDim() {
      return getRotary()
                 ? 2 * ::llvm::cast<::mlir::ShapedType>(getCos().getType()).getDimSize(1)
                 : 0;
    }
    /// Returns the number of sequences, dynamic if no operand has it.
    int64_t getSequenceCount();
    /// Returns the maximum number of keys per sequence: the length of `key`, or
    /// max_pages * page_size. Returns the dynamic size if no type gives it.
    int64_t getMaxKeys();
    /// Returns the region `score`, which has one block; null if the op has none.
    ::mlir::Region *getScore() {
      auto regions = getScoreRegions();
      return regions.empty() || regions.front().empty() ? nullptr
                                                        : &regions.front();
    }
    /// Returns the sources that the region reads, in the order of first reads.
    ::llvm::SmallVector<::mlir::Value> getCaptures();
    /// Returns whether the region reads elements by the key or the score.
    bool readsByKey();
    /// Returns whether the score region calls functions of many instructions
    /// (tile-expand-math makes polynomials of most), or divides.
    bool isScoreLong();
    /// Returns whether the score region's results are -inf or at most 1024 in
    /// magnitude whatever the scores are, as those of a soft cap.
    bool isScoreBounded();
    /// Returns the planner's input; static lengths become hints. The op must have
    /// been verified.
    ::fmha::schedule::Problem getProblem();
    /// Returns the `fmha.problem` of the op's kernel: everything that determines
    /// the function it computes.
    ::fmha::ProblemAttr getProblemAttr();
  }];
}

include "fmha/Dialect/FMHA/IR/AppendOp.td"
include "fmha/Dialect/FMHA/IR/MergeOp.td"
include "fmha/Dialect/FMHA/IR/ScoreOps.td"
include "fmha/Dialect/FMHA/IR/HostOps.td"
include "fmha/Dialect/FMHA/IR/TransposeOp.td"

#endif // FMHA_DIALECT_FMHA_IR_FMHAOPS_TD
