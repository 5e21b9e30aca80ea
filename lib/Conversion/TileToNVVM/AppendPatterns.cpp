//===- AppendPatterns.cpp - New rows of the caches ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachinePatterns.h"
#include "NumberCode.h"
#include "RotaryRows.h"
#include "fmha/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

namespace {

/// Emits the copies of tile.append_rows. The rows of K and V count as one row
/// of vectors of 16 bytes, so that all loads of a thread overlap:
///
///   start = max(first, length - n, 0), count = min(end, length) - start
///   if count > 0:
///     for unit = thread to count·vectors step threads of the CTA:
///       copy vector unit mod vectors of row start + unit / vectors, rotated
///       if it is one of K and there are angles
///     fence.proxy.async.global
class AppendCode : NumberCode {
public:
  AppendCode(ImplicitLocOpBuilder &b, tile::AppendRowsOp op,
             tile::AppendRowsOp::Adaptor adaptor)
      : NumberCode(b), op(op), adaptor(adaptor), parameters(parametersOf(op)) {}

  void build();

private:
  /// New rows and their cache.
  struct Tensors {
    Value fresh, cache;
  };
  /// A row of the cache: its batch or page, and its number there.
  struct Row {
    Value outer, inner;
  };

  Value compare(Predicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  }
  void ifThen(Value condition, function_ref<void()> body);

  static int64_t vectorsOf(Value tensor) {
    auto type = cast<MemRefType>(tensor.getType());
    return type.getDimSize(3) * type.getElementTypeBitWidth() /
           (8 * vectorBytes);
  }
  bool isCopiedByTma(Value cache) {
    return parameters[cast<BlockArgument>(cache).getArgNumber()].kind ==
           KernelParameter::Kind::TensorMap;
  }
  Value rowAt(Value tensor, const Row &row);
  void copyUnit(Value unit, Value start, Value firstNew);
  void inPage(Value key, function_ref<void(const Row &)> body);
  void copyVector(const Row &from, const Row &to, Value vector, Value key);
  Value rotated(Value data, const Row &from, Value vector, Value key,
                Value isKey);

  static constexpr int64_t vectorBytes = 16;

  tile::AppendRowsOp op;
  tile::AppendRowsOp::Adaptor adaptor;
  std::vector<KernelParameter> parameters;
};

} // namespace

void AppendCode::ifThen(Value condition, function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// Returns the address of a row of this CTA's head. A cache that TMA copies has
/// a pointer as well.
Value AppendCode::rowAt(Value tensor, const Row &row) {
  std::string name =
      parameters[cast<BlockArgument>(tensor).getArgNumber()].name;
  Value base =
      isCopiedByTma(tensor) ? parameterOf(op, cachePointer(name)) : tensor;
  auto type = cast<MemRefType>(op.getKey().getType());
  return addressOfRow(b, op, tensor, base,
                      b.getIntegerType(type.getElementTypeBitWidth()),
                      {row.outer, row.inner, narrow(op.getHead())});
}

/// Returns a vector, rotated by the angles of row `key` if `isKey` holds.
Value AppendCode::rotated(Value data, const Row &from, Value vector, Value key,
                          Value isKey) {
  if (!op.getCos())
    return data;
  Type element = cast<MemRefType>(op.getKey().getType()).getElementType();
  int64_t elements = 8 * vectorBytes / element.getIntOrFloatBitWidth();
  RotaryCode code(b, op.getInterleaved(),
                  2 * op.getCos().getType().getDimSize(1), element, elements);
  RotaryCode::Row row =
      rotaryRow(b, op, adaptor.getCos(), adaptor.getSin(), key);
  row.address = rowAt(adaptor.getKeyNew(), from);
  row.hasAngles = make<arith::AndIOp>(row.hasAngles, isKey);
  Value turned = code.rotated(
      LLVM::BitcastOp::create(b, VectorType::get({elements}, element), data),
      make<arith::MulIOp>(vector, i32(elements)), row);
  return LLVM::BitcastOp::create(b, data.getType(), turned);
}

/// Copies a vector of row `key` of K, or of V if its number is at least that of
/// K.
void AppendCode::copyVector(const Row &from, const Row &to, Value vector,
                            Value key) {
  int64_t ofKey = vectorsOf(op.getKey());
  Value isKey = compare(Predicate::slt, vector, i32(ofKey));
  auto pick = [&](Value key, Value value) -> Value {
    return arith::SelectOp::create(b, isKey, key, value);
  };
  Value number = pick(vector, make<arith::SubIOp>(vector, i32(ofKey)));
  Value bytes = wide(make<arith::MulIOp>(number, i32(vectorBytes)));
  auto addressAt = [&](Value key, Value value, const Row &row) -> Value {
    Value start = pick(rowAt(key, row), rowAt(value, row));
    return LLVM::GEPOp::create(b, start.getType(), b.getI8Type(), start,
                               ArrayRef<LLVM::GEPArg>{bytes});
  };
  Value data = LLVM::LoadOp::create(
      b, VectorType::get({vectorBytes / 4}, b.getI32Type()),
      addressAt(adaptor.getKeyNew(), adaptor.getValueNew(), from), vectorBytes);
  LLVM::StoreOp::create(b, rotated(data, from, vector, key, isKey),
                        addressAt(adaptor.getKey(), adaptor.getValue(), to),
                        vectorBytes);
}

/// Emits `body` with the row of the cache for `key`, if it is in a page that
/// exists: lists may be invalid.
void AppendCode::inPage(Value key, function_ref<void(const Row &)> body) {
  if (!op.getPages())
    return body({narrow(op.getSequence()), key});
  Value size = i32(cast<MemRefType>(op.getKey().getType()).getDimSize(1));
  Value place = make<arith::AddIOp>(narrow(op.getEntry()),
                                    make<arith::DivUIOp>(key, size));
  Value list = adaptor.getPages();
  auto page = LLVM::LoadOp::create(
      b, b.getI32Type(),
      LLVM::GEPOp::create(b, list.getType(), b.getI32Type(), list,
                          ArrayRef<LLVM::GEPArg>{wide(place)}));
  page.setInvariant(true);
  Value exists = compare(Predicate::ult, page, parameterOf(op, "pages"));
  ifThen(exists, [&] { body({page, make<arith::RemUIOp>(key, size)}); });
}

/// Copies one vector of the rows from `start` on. Token 0 has key `firstNew`.
void AppendCode::copyUnit(Value unit, Value start, Value firstNew) {
  int64_t vectors = vectorsOf(op.getKey()) + vectorsOf(op.getValue());
  Value key =
      make<arith::AddIOp>(start, make<arith::DivUIOp>(unit, i32(vectors)));
  Value token = make<arith::SubIOp>(key, firstNew);
  inPage(key, [&](const Row &to) {
    copyVector({narrow(op.getSequence()), token}, to,
               make<arith::RemUIOp>(unit, i32(vectors)), key);
  });
}

void AppendCode::build() {
  Value length = narrow(op.getLength());
  Value firstNew = make<arith::SubIOp>(length, parameterOf(op, "new_len"));
  Value start = make<arith::MaxSIOp>(narrow(op.getFirst()),
                                     make<arith::MaxSIOp>(firstNew, i32(0)));
  Value count = make<arith::SubIOp>(
      make<arith::MinSIOp>(narrow(op.getEnd()), length), start);
  int64_t vectors = vectorsOf(op.getKey()) + vectorsOf(op.getValue());
  ifThen(compare(Predicate::sgt, count, i32(0)), [&] {
    Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
    Value threads = NVVM::BlockDimXOp::create(b, b.getI32Type());
    auto loop = scf::ForOp::create(
        b, thread, make<arith::MulIOp>(count, i32(vectors)), threads);
    // 2^24 new keys of 136 vectors fit 32 bits without sign.
    loop.setUnsignedCmp(true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      copyUnit(loop.getInductionVar(), start, firstNew);
    }
    if (isCopiedByTma(adaptor.getKey()))
      NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_global,
                                 NVVM::SharedSpaceAttr());
  });
}

namespace {
struct LowerAppendRows : public OpConversionPattern<tile::AppendRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(tile::AppendRowsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto func = op->getParentOfType<LLVM::LLVMFuncOp>();
    bool isOperand =
        llvm::all_of(ArrayRef<Value>{adaptor.getKeyNew(), adaptor.getValueNew(),
                                     adaptor.getKey(), adaptor.getValue()},
                     [](Value value) { return isa<BlockArgument>(value); });
    if (!isOperand || func->hasAttr("tile.kernel"))
      return op.emitError()
             << "expected arguments of a kernel of fmha.attention with "
                "key_new, got other values; pass the kernel's arguments to "
                "the op";
    std::vector<KernelParameter> parameters = parametersOf(op);
    auto nameOf = [&](Value value) -> StringRef {
      return parameters[cast<BlockArgument>(value).getArgNumber()].name;
    };
    if (StringRef key = nameOf(adaptor.getKey()),
        value = nameOf(adaptor.getValue());
        key != "k" || value != "v")
      return op.emitError() << "expected the caches k and v of the kernel, got "
                            << key << " and " << value;
    if (op.getCos() && !rotates(op))
      return op.emitError()
             << "expected cos and sin only in a kernel of "
                "attention with rotary_dim, got them in a kernel "
                "without it";
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    AppendCode(b, op, adaptor).build();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void fmha::populateAppendPatterns(RewritePatternSet &patterns,
                                  const TypeConverter &converter) {
  patterns.add<LowerAppendRows>(converter, patterns.getContext());
}
