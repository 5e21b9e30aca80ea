//===- ScoreOps.td - Ops of the region score ---------------*- tablegen -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_DIALECT_FMHA_IR_SCOREOPS_TD
#define FMHA_DIALECT_FMHA_IR_SCOREOPS_TD

def FMHA_YieldOp : Op<FMHA_Dialect, "yield", [
    Pure, Terminator, HasParent<"AttentionOp">]> {
  let summary = "the result of the score region";
  let description = [{
    Ends the region `score` of `fmha.attention`.

    Example:
    ```mlir
    fmha.yield %x : f32
    ```
  }];
  let arguments = (ins F32:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def FMHA_ReadOp : Op<FMHA_Dialect, "read", [
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    TypesMatchWith<"the result is an element of the source", "source", "result",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">
  ]> {
  let summary = "an element of a tensor, with clamped indices";
  let description = [{
    Returns the element of `source` at `indices`. Indices are unsigned, and those
    beyond an extent are clamped to the last element of the dimension: nothing
    outside of `source` is read, and a dimension of size 1 is broadcast. `source`
    is not empty.

    Example:
    ```mlir
    %e = fmha.read %bias[%h, %i, %j] : memref<32x1x?xf32>
    ```
  }];
  let arguments = (ins Arg<FMHA_TensorOrMemRef, "the tensor to read">:$source,
                       Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source)";
  let hasVerifier = 1;
}

#endif // FMHA_DIALECT_FMHA_IR_SCOREOPS_TD
