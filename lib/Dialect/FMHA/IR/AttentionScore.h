//===- AttentionScore.h - The region `score` of fmha.attention --*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONSCORE_H
#define FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONSCORE_H

#include "fmha/Dialect/FMHA/IR/FMHA.h"

namespace fmha {

/// The custom directive `Score` of the op's format. `blocks` is the first
/// operand of the clause of that name, if the op has one.
mlir::ParseResult
parseScore(mlir::OpAsmParser &parser,
           llvm::SmallVectorImpl<std::unique_ptr<mlir::Region>> &regions,
           const std::optional<mlir::OpAsmParser::UnresolvedOperand> &blocks);
void printScore(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                mlir::RegionRange regions, mlir::Value blocks);

/// Verifies attention.C25 and attention.C26, except memory spaces and aliases.
mlir::LogicalResult verifyScore(AttentionOp op);

} // namespace fmha

#endif // FMHA_LIB_DIALECT_FMHA_IR_ATTENTIONSCORE_H
