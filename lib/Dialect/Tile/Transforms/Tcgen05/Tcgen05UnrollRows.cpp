//===- Tcgen05UnrollRows.cpp - Compute rows in the order of their stores --===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %e = math.exp2 %x : vector<64xf32>      %e0 = math.exp2 %x0 : vector<2xf32>
//   %p = arith.truncf %e                    %p0 = arith.truncf %e0
//   tile.tmem_store %p, %t              ->  ...
//                                           tile.tmem_store %p0..%p15, %t
//                                           ...
//                                           tile.tmem_store %p16..%p31, %t + 16
//
// ptxas keeps more of the order of the elements than LLVM, which computes all
// elements of one op and then those of the next. The pass computes pairs of
// elements where a store or a scalar needs them first. Between a slice of P and
// the next one, a branch ends the basic block in which ptxas orders.
//
//===----------------------------------------------------------------------===//

#include "Common/Distribute.h"
#include "SlicesOfP.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILETCGEN05UNROLLROWS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// 32-bit words that one store writes: 32 elements of P.
constexpr int64_t storedWords = 16;

/// Returns the number of elements of `vector`.
int64_t sizeOf(Value vector) {
  return cast<VectorType>(vector.getType()).getDimSize(0);
}

/// Returns the type of two elements of `vector`.
VectorType pairOf(Value vector) {
  return VectorType::get({2},
                         cast<VectorType>(vector.getType()).getElementType());
}

/// Returns the offset in a vector of one dimension.
int64_t firstOf(ArrayAttr offsets) {
  return cast<IntegerAttr>(offsets[0]).getInt();
}

/// Returns whether `op` replaces whole pairs of elements.
bool insertsPairs(vector::InsertStridedSliceOp op) {
  return firstOf(op.getOffsets()) % 2 == 0 &&
         sizeOf(op.getValueToStore()) % 2 == 0;
}

/// Computes elements of the vectors of a block in pairs, each once.
class RowUnroller {
public:
  RowUnroller(ImplicitLocOpBuilder &b, Block &block) : b(b), block(block) {}

  /// Rewrites the stores and the scalars of the block in their order.
  void run();

private:
  Value pair(Value vector, int64_t n);
  Value make(Value vector, int64_t n);
  Value makeElementwise(Operation *op, int64_t n);
  Value makeConstant(arith::ConstantOp op, int64_t n);
  Value makeInserted(vector::InsertStridedSliceOp op, int64_t n);
  Value makeWords(vector::BitCastOp op, int64_t n);
  Value word(Value words, int64_t n);
  void split(TmemStoreOp op);
  void extract(vector::ExtractOp op);

  ImplicitLocOpBuilder &b;
  Block &block;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> made;
};

/// Returns elements 2n and 2n + 1 of `vector`, which are made at most once.
Value RowUnroller::pair(Value vector, int64_t n) {
  auto key = std::make_pair(vector, n);
  if (Value known = made.lookup(key))
    return known;
  Value result = make(vector, n);
  made[key] = result;
  return result;
}

/// Makes elements 2n and 2n + 1 of `vector`. Values of other blocks, loads and
/// ops that are not known are sliced.
Value RowUnroller::make(Value vector, int64_t n) {
  Operation *op = vector.getDefiningOp();
  auto sliced = [&] {
    return sizeOf(vector) == 2 ? vector : tile::slice(b, vector, 2 * n, 2);
  };
  if (!op)
    return sliced();
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isa<DenseElementsAttr>(constant.getValue()))
    return makeConstant(constant, n);
  if (op->getBlock() != &block)
    return sliced();
  if (auto part = dyn_cast<vector::ExtractStridedSliceOp>(op))
    if (int64_t first = firstOf(part.getOffsets()); first % 2 == 0)
      return pair(part.getSource(), first / 2 + n);
  if (auto inserted = dyn_cast<vector::InsertStridedSliceOp>(op);
      inserted && insertsPairs(inserted))
    return makeInserted(inserted, n);
  if (auto cast = dyn_cast<vector::BitCastOp>(op);
      cast && sizeOf(cast.getSource()) == sizeOf(vector))
    return makeWords(cast, n);
  if (auto spread = dyn_cast<vector::BroadcastOp>(op);
      spread && !isa<VectorType>(spread.getSourceType()))
    return vector::BroadcastOp::create(b, pairOf(vector), spread.getSource());
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1)
    return makeElementwise(op, n);
  return sliced();
}

Value RowUnroller::makeConstant(arith::ConstantOp op, int64_t n) {
  auto all = cast<DenseElementsAttr>(op.getValue());
  ShapedType type = all.getType().clone({2});
  if (all.isSplat())
    return arith::ConstantOp::create(b, all.resizeSplat(type));
  auto values = all.getValues<Attribute>();
  SmallVector<Attribute> two = {values[2 * n], values[2 * n + 1]};
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, two));
}

Value RowUnroller::makeInserted(vector::InsertStridedSliceOp op, int64_t n) {
  int64_t first = firstOf(op.getOffsets()), size = sizeOf(op.getValueToStore());
  if (2 * n >= first && 2 * n < first + size)
    return pair(op.getValueToStore(), n - first / 2);
  return pair(op.getDest(), n);
}

/// Two words are two elements of 32 bits.
Value RowUnroller::makeWords(vector::BitCastOp op, int64_t n) {
  return vector::BitCastOp::create(b, pairOf(op.getResult()),
                                   pair(op.getSource(), n));
}

/// Returns word `n` of a store: two elements of 16 bits.
Value RowUnroller::word(Value words, int64_t n) {
  if (auto part = words.getDefiningOp<vector::ExtractStridedSliceOp>())
    return word(part.getSource(), firstOf(part.getOffsets()) + n);
  auto cast = words.getDefiningOp<vector::BitCastOp>();
  if (cast && sizeOf(cast.getSource()) == 2 * sizeOf(words))
    return LLVM::BitcastOp::create(b, b.getI32Type(),
                                   pair(cast.getSource(), n));
  if (sizeOf(words) % 2)
    return vector::ExtractOp::create(b, words, n);
  return vector::ExtractOp::create(b, pair(words, n / 2), n % 2);
}

Value RowUnroller::makeElementwise(Operation *op, int64_t n) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<VectorType>(operand.getType()) ? pair(operand, n)
                                                          : operand);
  Type type = pairOf(op->getResult(0));
  OperationState state(op->getLoc(), op->getName(), operands, type,
                       op->getAttrs());
  return b.create(state)->getResult(0);
}

/// Replaces a store by stores of at most `storedWords`, right after their
/// elements.
void RowUnroller::split(TmemStoreOp op) {
  int64_t size = sizeOf(op.getValue());
  if (size % 2 || op.getValue().getDefiningOp<TmemWaitOp>())
    return;
  for (int64_t first = 0; first < size; first += storedWords) {
    SmallVector<Value> words;
    for (int64_t n = first; n < std::min(first + storedWords, size); ++n)
      words.push_back(word(op.getValue(), n));
    Value address = op.getAddress();
    if (first)
      address = advance(b, address, constantI32(b, int32_t(first)));
    auto type = VectorType::get({int64_t(words.size())}, b.getI32Type());
    TmemStoreOp::create(b, vector::FromElementsOp::create(b, type, words),
                        address, op.getSplitAttr());
  }
  op.erase();
}

void RowUnroller::extract(vector::ExtractOp op) {
  ArrayRef<int64_t> at = op.getStaticPosition();
  Value from = op.getSource();
  auto type = dyn_cast<VectorType>(from.getType());
  if (!type || type.isScalable() || type.getRank() != 1 ||
      type.getDimSize(0) % 2 || at.size() != 1 || op.hasDynamicPosition())
    return;
  Value two = pair(from, at[0] / 2);
  op.getSourceMutable().assign(two);
  op.setStaticPosition({at[0] % 2});
}

/// Moves what only later iterations use, such as the sums of rows, after all
/// else, so that no store waits for it.
void sinkYielded(Block &block) {
  Operation *last = block.getTerminator();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    bool isYielded =
        !op.use_empty() && isMemoryEffectFree(&op) && !op.getNumRegions() &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return user == block.getTerminator() ||
                 (user->getBlock() == &block && !user->isBeforeInBlock(last));
        });
    if (&op == block.getTerminator() || !isYielded)
      continue;
    op.moveBefore(last);
    last = &op;
  }
}

void RowUnroller::run() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    b.setInsertionPoint(&op);
    b.setLoc(op.getLoc());
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](TmemStoreOp store) { split(store); })
        .Case([&](vector::ExtractOp extracted) { extract(extracted); });
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Returns whether `block` computes exponentials of more than a pair of
/// elements, and stores P.
bool computesRows(Block &block) {
  bool computes = llvm::any_of(block.getOps<math::Exp2Op>(), [](auto op) {
    auto type = dyn_cast<VectorType>(op.getType());
    return type && type.getRank() == 1 && type.getDimSize(0) > 2;
  });
  return computes && !block.getOps<TmemStoreOp>().empty();
}

/// Returns whether `block` has a branch to a mask, where ptxas would copy
/// scores if the block ended after a slice.
bool hasMask(Block &block) {
  return llvm::any_of(block.getOps<scf::IfOp>(), [](scf::IfOp branch) {
    return llvm::any_of(branch.getResultTypes(), llvm::IsaPred<VectorType>);
  });
}

/// Emits a branch that no thread takes after the signal of each slice but the
/// last. Otherwise ptxas moves exponentials of the next slice before the
/// signal: nothing in the block waits for a signal, and other dependences do
/// not hold them. The grid has one dimension, which ptxas does not know.
void separateSlices(ImplicitLocOpBuilder &b, Block &block) {
  for (ArriveOp arrive :
       llvm::make_filter_range(block.getOps<ArriveOp>(), endsSlice)) {
    b.setLoc(arrive.getLoc());
    b.setInsertionPointAfter(arrive);
    LLVM::InlineAsmOp::create(
        b, TypeRange(), ValueRange(),
        "{ .reg .pred p; .reg .b32 n; mov.u32 n, %nctaid.y; "
        "setp.eq.u32 p, n, 12345; @p exit; }",
        /*constraints=*/"", /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr(), ArrayAttr());
  }
}

struct TileTcgen05UnrollRowsPass
    : public fmha::tile::impl::TileTcgen05UnrollRowsBase<
          TileTcgen05UnrollRowsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    auto plan = func->getAttrOfType<ScheduleAttr>("fmha.schedule");
    if (!plan)
      return;
    if (!schedule::ordersSoftmaxByStores(plan.getValue()))
      return;
    SmallVector<Block *> blocks;
    func.walk([&](Block *block) {
      if (computesRows(*block))
        blocks.push_back(block);
    });
    ImplicitLocOpBuilder b(func.getLoc(), &getContext());
    for (Block *block : blocks) {
      sinkYielded(*block);
      RowUnroller(b, *block).run();
      if (endsBlocksAtSlices(plan.getValue()) && !hasMask(*block))
        separateSlices(b, *block);
    }
  }
};

} // namespace
