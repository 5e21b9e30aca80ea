//===- MergeOp.td - Merge partial results of attention -----*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_MERGEOP_TD
#define FMHA_DIALECT_FMHA_IR_MERGEOP_TD

def FMHA_MergeOp : Op<FMHA_Dialect, "merge", [
    AttrSizedOperandSegments,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>
  ]> {
  let summary = "merge partial results of attention over several sets of keys";
  let description = [{
    `parts`, `maxima` and `sums` hold what `fmha.attention` with `unnormalised`,
    `row_max` and `row_sum` computes for each of several sets of keys, stacked in
    the leading dimension. For every batch b, row i and head h, with p
    over the parts whose maximum is not -inf:

    ```
    m       = max_p maxima[p, b, h, i]
    w[p]    = exp(maxima[p, b, h, i] - m)
    l       = sum_p w[p] * sums[p, b, h, i]
    acc     = sum_p w[p] * parts[p, b, i, h, :]

    output  = acc / l, or acc with `unnormalised`
    lse     = m + log(l),  row_max = m,  row_sum = l
    ```

    A part whose maximum is -inf is ignored, whatever else it holds. A row without
    any other part gives output 0, lse and row_max -inf and row_sum 0. `sink`
    [q_heads] joins the denominator of `output` and `lse` as in `fmha.attention`,
    so only the last merge gets it, and no part. Every sum has a fixed order, the
    same in every run.

    Merges compose: with `unnormalised`, `row_max` and `row_sum` the result is a
    part again.

    - `target`: the GPU of the kernel; absent leaves it to the pipeline.

    Example:
    ```mlir
    fmha.merge
        ins(%o, %m, %s : memref<4x1x?x32x128xf32>, memref<4x1x32x?xf32>,
                         memref<4x1x32x?xf32>)
        outs(%out, %lse : memref<1x?x32x128xbf16>, memref<1x32x?xf32>)
    ```

    Constraints. Extents that are dynamic are checked before launch instead.
    - (merge.M1) The operands are all tensors or all memrefs.
    - (merge.M2) `parts` has rank 5, `maxima` and `sums` have rank 4, `output` has rank
      4, `lse`, `row_max` and `row_sum` have rank 3, `sink` has rank 1.
    - (merge.M3) The element type of `output` is f16, bf16 or f32, all others are f32.
    - (merge.M4) The head dim of `parts` and `output` is static, positive and at most
      65536.
    - (merge.M5) With `output` [batch, length, heads, head_dim], `parts` is [parts, batch,
      length, heads, head_dim], `maxima` and `sums` are [parts, batch, heads,
      length], `lse`, `row_max` and `row_sum` [batch, heads, length], and `sink` is
      [heads].
    - (merge.M6) A memref has a strided layout and lies in global memory. The head dim of
      `parts` and `output`, and `sink`, are contiguous; every other stride of
      `parts` and `output`, and their offsets, are non-negative multiples of 16
      bytes.
    - (merge.M7) A destination that is a memref shares no memory with another
      operand, as in attention.C21.
  }];

  let arguments = (ins
    Arg<FMHA_TensorOrMemRef, "weighted sums of each part">:$parts,
    Arg<FMHA_TensorOrMemRef, "row maxima of each part">:$maxima,
    Arg<FMHA_TensorOrMemRef, "row sums of each part">:$sums,
    Arg<Optional<FMHA_TensorOrMemRef>, "a logit per query head">:$sink,
    Arg<FMHA_TensorOrMemRef, "destination of the output">:$output,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the log-sum-exp">:$lse,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the row maxima">:$row_max,
    Arg<Optional<FMHA_TensorOrMemRef>, "destination of the row sums">:$row_sum,
    UnitAttr:$unnormalised,
    OptionalAttr<StrAttr>:$target);
  let results = (outs Variadic<AnyRankedTensor>:$results);

  let assemblyFormat = [{
    `ins` `(` $parts `,` $maxima `,` $sums `:`
              type($parts) `,` type($maxima) `,` type($sums) `)`
    (`sink` `(` $sink^ `:` type($sink) `)`)?
    `outs` `(` $output (`,` $lse^)? `:` type($output) (`,` type($lse)^)? `)`
    (`row_max` `(` $row_max^ `:` type($row_max) `)`)?
    (`row_sum` `(` $row_sum^ `:` type($row_sum) `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;

  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      constexpr unsigned outputIndex = 4;
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
    unsigned getHeadDim() { return getOutput().getType().getDimSize(3); }
  }];
}

#endif // FMHA_DIALECT_FMHA_IR_MERGEOP_TD
