//===- FoldSteps.cpp - Elementwise ops that fmha-fold supports ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fold.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fmha;

bool ElementwiseStep::permutes() const {
  return !isIdentityPermutation(permutation);
}

bool ElementwiseStep::keepsLast() const {
  return !permutation.empty() &&
         permutation.back() == int64_t(permutation.size()) - 1;
}

std::optional<double> fmha::constantElement(Value value) {
  if (auto splat = value.getDefiningOp<tensor::SplatOp>())
    return constantElement(splat.getInput());
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    return constantElement(fill.value());
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto elements = dyn_cast<SplatElementsAttr>(constant))
    constant = elements.getSplatValue<Attribute>();
  auto number = dyn_cast<FloatAttr>(constant);
  if (!number)
    return std::nullopt;
  return number.getValueAsDouble();
}

namespace {
/// The function of one operand's elements that a body computes.
struct Expression {
  ElementwiseStep::Kind kind = ElementwiseStep::Copy;
  OpOperand *operand = nullptr;
  double factor = 1.0;
};

/// Reads the expression of a value in the body of a structured op, or of a
/// tensor that an op of arith produces.
class ExpressionReader {
public:
  /// `op` is null outside of structured ops.
  explicit ExpressionReader(linalg::LinalgOp op) : op(op) {}

  std::optional<Expression> read(Value value) {
    if (OpOperand *operand = operandOf(value))
      return Expression{ElementwiseStep::Copy, operand};
    Operation *definition = value.getDefiningOp();
    if (!definition)
      return std::nullopt;
    return readOp(definition);
  }

  std::optional<Expression> readOp(Operation *definition) {
    if (isa<arith::MulFOp, arith::DivFOp>(definition))
      return readScale(definition);
    auto truncation = dyn_cast<arith::TruncFOp>(definition);
    if (!truncation || truncation.getRoundingmodeAttr())
      return std::nullopt;
    if (OpOperand *operand = operandAt(truncation.getInMutable()))
      return Expression{ElementwiseStep::Truncate, operand};
    return readWideScale(truncation);
  }

private:
  /// Returns the operand of the structured op whose elements `value` has.
  OpOperand *operandOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!op || !argument || argument.getOwner() != op.getBlock())
      return nullptr;
    return op.getMatchingOpOperand(argument);
  }
  OpOperand *operandAt(OpOperand &use) {
    return op ? operandOf(use.get()) : &use;
  }
  std::optional<double> constantOf(Value value) {
    OpOperand *operand = operandOf(value);
    return constantElement(operand ? operand->get() : value);
  }

  /// Matches x * c, c * x or x / c.
  std::optional<Expression> readScale(Operation *definition) {
    for (unsigned side : {0u, 1u}) {
      std::optional<double> constant =
          constantOf(definition->getOperand(1 - side));
      OpOperand *operand = operandAt(definition->getOpOperand(side));
      bool isQuotient = isa<arith::DivFOp>(definition);
      if (!constant || !operand || (isQuotient && side == 1))
        continue;
      double factor = isQuotient ? 1.0 / *constant : *constant;
      if (std::isfinite(factor))
        return Expression{ElementwiseStep::Scale, operand, factor};
    }
    return std::nullopt;
  }

  /// Matches truncf(extf(x) * c) in the body of a structured op.
  std::optional<Expression> readWideScale(arith::TruncFOp truncation) {
    Operation *product = truncation.getIn().getDefiningOp();
    if (!op || !isa_and_nonnull<arith::MulFOp, arith::DivFOp>(product))
      return std::nullopt;
    for (unsigned side : {0u, 1u}) {
      auto extension = product->getOperand(side).getDefiningOp<arith::ExtFOp>();
      std::optional<double> constant =
          constantOf(product->getOperand(1 - side));
      bool isQuotient = isa<arith::DivFOp>(product);
      OpOperand *operand = extension ? operandOf(extension.getIn()) : nullptr;
      if (!constant || !operand || (isQuotient && side == 1) ||
          extension.getIn().getType() != truncation.getType())
        continue;
      double factor = isQuotient ? 1.0 / *constant : *constant;
      if (std::isfinite(factor))
        return Expression{ElementwiseStep::Scale, operand, factor};
    }
    return std::nullopt;
  }

  linalg::LinalgOp op;
};
} // namespace

/// Returns the permutation from an input to the result of `op`, or nothing if
/// its maps are not permutations.
static std::optional<SmallVector<int64_t>> permutationOf(linalg::LinalgOp op,
                                                         OpOperand *input) {
  AffineMap from = op.getMatchingIndexingMap(input);
  AffineMap to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!from.isPermutation() || !to.isPermutation())
    return std::nullopt;
  SmallVector<int64_t> permutation;
  AffineMap dimensionOfLoop = inversePermutation(from);
  for (AffineExpr loop : to.getResults())
    permutation.push_back(dimensionOfLoop.getDimPosition(
        cast<AffineDimExpr>(loop).getPosition()));
  return permutation;
}

static std::optional<ElementwiseStep> matchStructured(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops())
    return std::nullopt;
  Value result = op.getBlock()->getTerminator()->getOperand(0);
  std::optional<Expression> found = ExpressionReader(op).read(result);
  if (!found || !op.isDpsInput(found->operand) ||
      !isa<RankedTensorType>(found->operand->get().getType()))
    return std::nullopt;
  std::optional<SmallVector<int64_t>> permutation =
      permutationOf(op, found->operand);
  if (!permutation)
    return std::nullopt;
  return ElementwiseStep{found->kind, found->operand->get(), *permutation,
                         found->factor, op.getDpsInits()[0]};
}

static std::optional<ElementwiseStep> matchArith(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return std::nullopt;
  std::optional<Expression> found = ExpressionReader(nullptr).readOp(op);
  if (!found)
    return std::nullopt;
  return ElementwiseStep{found->kind, found->operand->get(),
                         llvm::to_vector(llvm::seq<int64_t>(type.getRank())),
                         found->factor, Value()};
}

std::optional<ElementwiseStep> fmha::matchStep(Operation *op) {
  if (!op)
    return std::nullopt;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return matchStructured(structured);
  if (isa<arith::MulFOp, arith::DivFOp, arith::TruncFOp>(op))
    return matchArith(op);
  return std::nullopt;
}
