//===- AppendOp.td - Append to KV caches -------------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_APPENDOP_TD
#define FMHA_DIALECT_FMHA_IR_APPENDOP_TD

def FMHA_AppendOp : Op<FMHA_Dialect, "append", [
    AttrSizedOperandSegments,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>
  ]> {
  let summary = "append keys and values to KV caches, with rotary embedding";
  let description = [{
    Writes the last n keys and values of each sequence to its caches. `kv_lens`
    [batch] counts keys after the append: token i of sequence b goes to position

    ```
    p = kv_lens[b] - n + i
    ```

    and a token with p < 0 to none, since its sequence is shorter than n. Without
    `block_tables` position p is row p of batch b of `key_cache` and `value_cache`
    [batch, length, kv_heads, head_dim]. With `block_tables` [batch, max_pages]
    the caches are [pages, page_size, kv_heads, head_dim], and position p is row
    p mod page_size of page block_tables[b, p / page_size], as in
    `fmha.attention`. No other element of a cache changes. Pages that two
    sequences share must not get new keys.

    `rotary` rotates the first 2c columns of each row of `key_new` by the angles
    of its position, in pairs (x, y), with c the columns of `cos` and `sin`
    [positions, c]; pair j, by the style, is columns j and j + c (`half`) or 2j
    and 2j + 1 (`interleaved`):

    ```
    x' = x * cos[p, j] - y * sin[p, j]
    y' = y * cos[p, j] + x * sin[p, j]
    ```

    Products, sums and differences are rounded to f32, and the results once
    to the element type. Other columns and all values are copied. `query` [batch,
    q_len, q_heads, head_dim] is rotated in the same way into `query_out`: its row i
    sits at position kv_lens[b] - q_len + i, and is copied if that is below 0.

    On tensors the op returns the caches, and `query_out`; bufferization updates
    a cache in place where nothing reads its old contents.

    - `target`: the GPU of the kernel; if absent, the pipeline chooses it.

    Examples:
    ```mlir
    // One token per sequence, to dense caches.
    fmha.append
        ins(%k, %v : memref<?x1x8x128xbf16>, memref<?x1x8x128xbf16>)
        kv_lens(%lens : memref<?xi32>)
        outs(%keys, %values : memref<?x4096x8x128xbf16>, memref<?x4096x8x128xbf16>)

    // The same to pages of 16, with keys and queries rotated.
    fmha.append
        ins(%k, %v : memref<?x1x8x128xbf16>, memref<?x1x8x128xbf16>)
        kv_lens(%lens : memref<?xi32>) block_tables(%pages : memref<?x?xi32>)
        rotary half(%cos, %sin : memref<?x64xf32>, memref<?x64xf32>)
        query(%q : memref<?x1x32x128xbf16>)
        outs(%keys, %values : memref<?x16x8x128xbf16>, memref<?x16x8x128xbf16>)
        query_out(%r : memref<?x1x32x128xbf16>)
    ```

    Constraints. Extents that are dynamic are checked before launch instead.
    - (append.A1) The operands are all tensors or all memrefs.
    - (append.A2) `key_new`, `value_new`, the caches, `query` and `query_out` have
      rank 4, `block_tables`, `cos` and `sin` have rank 2, `kv_lens` has rank 1.
    - (append.A3) The operands of rank 4 have the same element type, f16 or bf16.
      The element type of `kv_lens` and `block_tables` is i32, that of `cos` and
      `sin` is f32.
    - (append.A4) Head dims are static, positive and at most 65536.
    - (append.A5) With `key_new` [batch, n, kv_heads, dim] and `value_new` [batch, n,
      kv_heads, dim_v], the caches have the same heads and head dims, and without
      `block_tables` the same batch and one length; `query` and `query_out` have
      one shape, with the batch and head dim of `key_new`; `kv_lens` and
      `block_tables` have an entry and a row per sequence; `cos` and `sin` have one
      shape. Lengths and positions are at most 2^31 - 512.
    - (append.A6) With `block_tables` the page size is static, a power of two of at
      most 256.
    - (append.A7) `rotary` comes with `cos` and `sin`, whose columns are static, at
      least 1, and at most half of the head dim of `key_new`. `query` comes with
      `rotary` and `query_out`.
    - (append.A8) A memref has a strided layout and lies in global memory. The last
      dimensions are contiguous; `kv_lens` and `block_tables` are dense. Strides are
      non-negative.
    - (append.A9) A destination that is a memref shares no memory with another
      operand, as in attention.C21.
    - (append.A10) Entries of `kv_lens` are from 0 to the length of the caches, or to
      max_pages * page_size, and at most the rows of `cos`; entries of `block_tables`
      for positions that get keys are from 0 to the number of pages less 1. Hosts
      that can read them check it. A kernel writes nothing for a token whose
      position, page or angles do not exist.
  }];

  let arguments = (ins
    Arg<FMHA_TensorOrMemRef, "the last keys of each sequence">:$key_new,
    Arg<FMHA_TensorOrMemRef, "the last values of each sequence">:$value_new,
    Arg<FMHA_TensorOrMemRef, "keys per sequence after the append">:$kv_lens,
    Arg<Optional<FMHA_TensorOrMemRef>, "pages of each sequence">:$block_tables,
    Arg<Optional<FMHA_TensorOrMemRef>, "cosines of each position">:$cos,
    Arg<Optional<FMHA_TensorOrMemRef>, "sines of each position">:$sin,
    Arg<Optional<FMHA_TensorOrMemRef>, "queries to rotate">:$query,
    Arg<FMHA_TensorOrMemRef, "cache of keys">:$key_cache,
    Arg<FMHA_TensorOrMemRef, "cache of values">:$value_cache,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the rotated queries">:$query_out,
    OptionalAttr<FMHA_RotaryAttr>:$rotary,
    OptionalAttr<StrAttr>:$target);
  let results = (outs Variadic<AnyRankedTensor>:$results);

  let assemblyFormat = [{
    `ins` `(` $key_new `,` $value_new `:` type($key_new) `,` type($value_new) `)`
    `kv_lens` `(` $kv_lens `:` type($kv_lens) `)`
    (`block_tables` `(` $block_tables^ `:` type($block_tables) `)`)?
    (`rotary` $rotary^ `(` $cos `,` $sin `:` type($cos) `,` type($sin) `)`)?
    (`query` `(` $query^ `:` type($query) `)`)?
    `outs` `(` $key_cache `,` $value_cache `:`
               type($key_cache) `,` type($value_cache) `)`
    (`query_out` `(` $query_out^ `:` type($query_out) `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;

  let extraClassDeclaration = [{
    /// Logical dimensions of new keys, caches and queries.
    enum Dimension : unsigned { Batch = 0, Length = 1, Heads = 2, HeadDim = 3 };
    /// The largest number of keys per page (append.A6).
    static constexpr int64_t maxPageSize = 256;

    ::mlir::MutableOperandRange getDpsInitsMutable() {
      constexpr unsigned cacheIndex = 7;
      return ::mlir::MutableOperandRange(
          getOperation(), getODSOperandIndexAndLength(cacheIndex).first,
          getQueryOut() ? 3 : 2);
    }
    /// Returns the head dims of keys and of values.
    unsigned getHeadDim() { return getKeyNew().getType().getDimSize(HeadDim); }
    unsigned getHeadDimV() { return getValueNew().getType().getDimSize(HeadDim); }
    /// Returns the number of keys per page, 0 without `block_tables`.
    unsigned getPageSize() {
      return getBlockTables() ? getKeyCache().getType().getDimSize(Length) : 0;
    }
    /// Returns the number of columns that rotate, 0 without `rotary`.
    unsigned getRotaryDim() {
      return getRotary()
                 ? 2 * ::llvm::cast<::mlir::ShapedType>(getCos().getType()).getDimSize(1)
                 : 0;
    }
  }];
}

#endif // FMHA_DIALECT_FMHA_IR_APPENDOP_TD
