//===- Recognize.cpp - Recognize attention in linalg ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linalg/Recognize.h"

#include "Linalg/Softmax.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::raise;

namespace {

/// Recognizes the attention before one product, with digits that reshapes have
/// split so far.
class Recognizer {
public:
  Recognizer(linalg::LinalgOp op, std::shared_ptr<Source> source)
      : op(op), source(std::move(source)), reader(*this->source->reader) {}

  Recognized run(Compute compute);

private:
  /// Sets the loads of the second product, or returns false if it is none.
  bool readSecond();
  std::optional<Refusal> match(LinalgForm &form, Compute compute);
  std::optional<Refusal> checkSecond() const;
  std::optional<Refusal> findFirst();
  std::optional<Refusal> readFirst();
  /// Returns why a loop of the first product's sum is not one of both operands.
  std::optional<Refusal> checkSum(ArrayRef<Index> loops) const;
  std::optional<Refusal> readOperands(bool widened);
  std::optional<Refusal> checkUses() const;
  std::optional<Refusal> makeViews(LinalgForm &form);
  bool hasOneElementType() const;

  linalg::LinalgOp op;
  std::shared_ptr<Source> source;
  Reader &reader;

  /// The second product: its result, the keys that it sums over, what it
  /// multiplies.
  Code *result = nullptr;
  SmallVector<Index> summed;
  Index keys;
  Reduction second;
  Code *probabilities = nullptr, *values = nullptr;
  /// The scores before the softmax, and the elements of the first product that
  /// they have.
  Code *scores = nullptr, *first = nullptr;
  Product firstProduct;
  Operand query, key, value;
};

} // namespace

bool Recognizer::readSecond() {
  if (!isProduct(op) || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  Place place;
  for (AffineExpr expression : map.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expression);
    if (!loop)
      return false;
    unsigned number = loop.getPosition();
    place.push_back(source->digits.loop(op, number, ranges[number]));
  }
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  for (unsigned dim : dims)
    summed.push_back(source->digits.loop(op, dim, ranges[dim]));
  keys = flat(Place(summed.begin(), summed.end()));
  result = reader.graph.load(op->getResult(0), place);
  std::optional<Reduction> sum = reader.reduction(result, summed);
  std::optional<Product> product = sum ? reader.product(*sum) : std::nullopt;
  if (!product)
    return false;
  second = *sum;
  Code *left = reader.expand(product->left),
       *right = reader.expand(product->right);
  bool isLeft = resemblesSoftmax(reader, left, keys);
  if (!isLeft && !resemblesSoftmax(reader, right, keys))
    return false;
  probabilities = isLeft ? left : right;
  values = isLeft ? product->right : product->left;
  return true;
}

std::optional<Refusal> Recognizer::checkSecond() const {
  if (summed.size() != 1 || keys.empty())
    return Refusal(Reason::ProductDims,
                   "a second product that sums over one dimension of more than "
                   "one key",
                   summed.size() == 1
                       ? "one key"
                       : std::to_string(summed.size()) + " dimensions");
  if (!isNumber(second.init, 0))
    return Refusal(Reason::Accumulator, "the second product");
  return std::nullopt;
}

/// Returns how many elements the product of a Load sums, or the largest number
/// if that is dynamic.
static int64_t summedExtent(Code *load) {
  auto op = cast<linalg::LinalgOp>(load->value.getDefiningOp());
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t extent = 1;
  for (unsigned dim : dims) {
    if (ShapedType::isDynamic(ranges[dim]) ||
        llvm::MulOverflow(extent, ranges[dim], extent))
      return std::numeric_limits<int64_t>::max();
  }
  return extent;
}

/// Returns whether the left product has more dimensions than the right one, or
/// as many and sums more elements.
static bool isLarger(Code *left, Code *right) {
  return std::make_pair(left->place.size(), summedExtent(left)) >
         std::make_pair(right->place.size(), summedExtent(right));
}

std::optional<Refusal> Recognizer::findFirst() {
  for (Code *part : partsOf(scores)) {
    if (!part->is(Code::Load) || !isProduct(part->value.getDefiningOp()) ||
        !hasAny(part->place, keys))
      continue;
    if (first && first->value == part->value)
      return Refusal(Reason::Scores, "two elements of it");
    // The largest product is that of queries and keys. The others are biases.
    if (!first || !isLarger(first, part))
      first = part;
  }
  if (!first)
    return Refusal(Reason::Scores, describe(scores));
  return std::nullopt;
}

std::optional<Refusal> Recognizer::readFirst() {
  auto product = cast<linalg::LinalgOp>(first->value.getDefiningOp());
  SmallVector<int64_t> ranges = product.getStaticLoopRanges();
  SmallVector<unsigned> dims;
  product.getReductionDims(dims);
  SmallVector<Index> loops;
  for (unsigned dim : dims)
    loops.push_back(source->digits.loop(product, dim, ranges[dim]));
  std::optional<Reduction> sum = reader.reduction(first, loops);
  std::optional<Product> read = sum ? reader.product(*sum) : std::nullopt;
  if (!read || !isa<FloatType>(first->type))
    return Refusal(Reason::ProductElement, "the first product",
                   sum ? describe(sum->item) : "other indexing");
  if (!isNumber(sum->init, 0))
    return Refusal(Reason::Accumulator, "the first product");
  firstProduct = *read;
  return checkSum(loops);
}

/// Returns whether an element that `code` reads depends on the digit.
static bool dependsOn(Code *code, Digit digit) {
  return llvm::any_of(partsOf(code), [&](Code *part) {
    return part->is(Code::Load) && hasAny(part->place, digit);
  });
}

std::optional<Refusal> Recognizer::checkSum(ArrayRef<Index> loops) const {
  for (const Index &loop : loops)
    for (Digit digit : loop)
      if (!dependsOn(firstProduct.left, digit) ||
          !dependsOn(firstProduct.right, digit))
        return Refusal(Reason::ProductDims,
                       "a first product that sums over dimensions of both "
                       "operands",
                       "a sum over a dimension that one lacks");
  return std::nullopt;
}

std::optional<Refusal> Recognizer::readOperands(bool widened) {
  Operand left = operandOf(reader, firstProduct.left, widened, true),
          right = operandOf(reader, firstProduct.right, widened, true);
  value = operandOf(reader, values, widened, false);
  if (!left.load || !right.load)
    return Refusal(
        Reason::ProductElement, "the first product",
        describe(left.load ? firstProduct.right : firstProduct.left));
  if (!value.load)
    return Refusal(Reason::ProductElement, "the second product",
                   describe(values));
  bool isLeft = hasAny(right.load->place, keys);
  query = isLeft ? left : right;
  key = isLeft ? right : left;
  return std::nullopt;
}

bool Recognizer::hasOneElementType() const {
  Type type = query.load->type;
  return type == key.load->type && type == value.load->type &&
         isa<Float16Type, BFloat16Type, Float32Type>(type);
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// Returns whether `user` needs at most the shape of a tensor.
static bool needsNoElements(Operation *user) {
  return isa<tensor::DimOp>(user) || isOpTriviallyDead(user);
}

std::optional<Refusal> Recognizer::checkUses() const {
  Operation *product = first->value.getDefiningOp();
  if (product->getBlock() != op->getBlock())
    return Refusal(Reason::OtherBlock, "the first product");
  SetVector<Operation *> made;
  made.insert(product);
  for (size_t number = 0; number < made.size(); ++number)
    for (Operation *user : made[number]->getUsers()) {
      if (user == op || needsNoElements(user))
        continue;
      if (!reader.ops.contains(user))
        return Refusal(Reason::OtherUse, user->getName().getStringRef().str());
      if (user->getBlock() != op->getBlock())
        return Refusal(Reason::OtherBlock,
                       user->getName().getStringRef().str());
      made.insert(user);
    }
  // Operands that are computed from the scores would still need them.
  for (const Operand *operand : {&query, &key, &value})
    if (made.contains(operand->load->value.getDefiningOp()))
      return Refusal(Reason::OtherUse, "an operand of a product");
  for (Code *part : partsOf(scores, first))
    if (part != first && part->value &&
        made.contains(part->value.getDefiningOp()))
      return Refusal(Reason::OtherUse, "code on scores");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The form
//===----------------------------------------------------------------------===//

std::optional<Refusal> Recognizer::makeViews(LinalgForm &form) {
  Places places{query.load->place, key.load->place, value.load->place,
                first->place, result->place};
  if (auto refusal = findRoles(source->digits, places, keys, source->roles))
    return refusal;
  const Roles &roles = source->roles;
  const Digits &digits = source->digits;
  if (auto refusal =
          makeView(digits, query.load, roles.query(), "queries", form.query))
    return refusal;
  if (auto refusal = makeView(digits, key.load, roles.key(), "keys", form.key))
    return refusal;
  if (auto refusal =
          makeView(digits, value.load, roles.value(), "values", form.value))
    return refusal;
  form.attention.query = form.query.view;
  form.attention.key = form.key.view;
  form.attention.value = form.value.view;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto refusal =
          makeOutput(digits, type, result->place, roles.output(), form.output))
    return refusal;
  form.attention.output = form.output.view;
  return std::nullopt;
}

std::optional<Refusal> Recognizer::match(LinalgForm &form, Compute compute) {
  if (auto refusal = checkSecond())
    return refusal;
  if (auto refusal = matchSoftmax(reader, probabilities, keys, scores))
    return refusal;
  if (auto refusal = findFirst())
    return refusal;
  if (auto refusal = readFirst())
    return refusal;
  if (auto refusal = readOperands(/*widened=*/true))
    return refusal;
  // Without one type the operands are those of the products.
  if (!hasOneElementType())
    if (auto refusal = readOperands(/*widened=*/false))
      return refusal;
  if (auto refusal = checkUses())
    return refusal;
  if (auto refusal = makeViews(form))
    return refusal;
  AttentionForm &attention = form.attention;
  if (auto refusal = planScore(source, scores, first, query.factor * key.factor,
                               attention.query.extent('l'),
                               attention.key.extent('l'), form.score))
    return refusal;
  attention.scale = form.score.scale;
  attention.mask = form.score.mask;
  attention.score = form.score.steps;
  return check(attention, compute);
}

Recognized Recognizer::run(Compute compute) {
  if (!readSecond())
    return std::monostate();
  LinalgForm form;
  if (auto refusal = match(form, compute))
    return *refusal;
  return form;
}

/// Returns whether operands in the region of `op` are defined before it.
static bool hasOrder(Operation *op) {
  Operation *parent = op->getParentOp();
  auto kinds = dyn_cast_or_null<RegionKindInterface>(parent);
  return parent && parent->isRegistered() &&
         (!kinds ||
          kinds.hasSSADominance(op->getParentRegion()->getRegionNumber()));
}

Recognized fmha::raise::recognize(linalg::LinalgOp op, Compute compute) {
  constexpr unsigned maxSplits = 64;
  if (!hasOrder(op))
    return std::monostate();
  auto source = std::make_shared<Source>();
  // Digits that a reshape splits are read again, in parts.
  for (unsigned attempt = 0; attempt < maxSplits; ++attempt) {
    source->reader = std::make_unique<Reader>(source->digits);
    Recognized recognized = Recognizer(op, source).run(compute);
    if (!source->digits.takeChange())
      return recognized;
  }
  return std::monostate();
}
