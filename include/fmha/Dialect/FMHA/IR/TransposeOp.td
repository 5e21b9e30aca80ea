//===- TransposeOp.td - Permuted dimensions ----------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_TRANSPOSEOP_TD
#define FMHA_DIALECT_FMHA_IR_TRANSPOSEOP_TD

def FMHA_TransposeOp : Op<FMHA_Dialect, "transpose", [
    Pure,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
                              ["reifyResultShapes"]>,
    InferTypeOpAdaptor
  ]> {
  let summary = "a tensor with its dimensions permuted, as a view";
  let description = [{
    Returns `source` with permuted dimensions: dimension n of the result is
    dimension `permutation[n]` of `source`, as in `linalg.transpose`. It bufferizes
    to `memref.transpose` of the buffer of `source`: strides are permuted, no
    element moves, nothing is allocated. If an op writes into a transposed
    destination and its result is transposed back, the data is stored in the
    destination's layout.

    `fmha.attention` indexes [batch, length, heads, head_dim]. On buffers,
    strides give the layout; on tensors, which have no strides, this op does.
    `fmha-fold` creates it from transposes around `fmha.attention`;
    `fmha-decompose-to-linalg` lowers it to `linalg.transpose`.

    Example:
    ```mlir
    // Queries in [batch, heads, length, head_dim] order.
    %q = fmha.transpose %q_bhsd [0, 2, 1, 3]
        : tensor<2x8x?x64xf16> -> tensor<2x?x8x64xf16>
    ```

    Constraints:
    - (transpose.T1) `permutation` has each dimension of `source` once.
  }];

  let arguments = (ins AnyRankedTensor:$source, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source $permutation attr-dict `:` type($source) `->` type($result)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

#endif // FMHA_DIALECT_FMHA_IR_TRANSPOSEOP_TD
