//===- AppendKernel.cpp - The kernel of fmha.append -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain threads, since memory is the bound: each copies 8 columns of a row, 16
// bytes at once if both addresses are aligned, else elements. Rotated columns
// are computed from the row of key_new or q, so that no thread waits for
// another. Products and sums are not contracted: the bits are those of
// fmha-decompose-to-linalg.
//
//===----------------------------------------------------------------------===//

#include "AppendKernel.h"
#include "Threads/RotaryCode.h"
#include "Threads/RowCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fmha;
using Predicate = arith::CmpIPredicate;

namespace {

constexpr int32_t columns = appendColumns;

/// The elements of a row that a thread copies.
struct Piece {
  /// Addresses of the first elements of the rows.
  Value from, to;
  /// Number of the first column.
  Value column;
  /// Position of the token, for pieces that rotate; else null.
  Value position;
  /// Addresses of the angles of that position, and whether it has any.
  Value cos, sin, hasAngles;
};

/// Emits copies of pieces, with rotation.
class PieceCode : protected RowCode {
protected:
  PieceCode(LLVM::LLVMFuncOp func, const AppendProblem &problem)
      : RowCode(func, appendParameters(problem)), problem(problem),
        element(problem.dtype == "f16" ? Type(b.getF16Type())
                                       : Type(b.getBF16Type())),
        vectorType(VectorType::get({columns}, element)),
        rotary(b, problem.rotary == "interleaved", problem.rotaryDim, element,
               columns) {}

  void copy(Piece piece);
  Value rowAt(const std::string &tensor, Value batch, Value row, Value head) {
    return RowCode::rowAt(tensor, batch, row, head, element);
  }

private:
  Value isAligned(const Piece &piece);
  Value addressOf(Value row, Value column) {
    return elementAt(row, wide(column), element);
  }
  Value load(Value row, Value column, bool isAligned);
  Value loadElement(Value row, Value column) {
    return LLVM::LoadOp::create(b, element, addressOf(row, column));
  }
  void store(Value vector, const Piece &piece, bool isAligned);

  Value rotated(Value vector, const Piece &piece, bool isAligned);
  Value elementOf(Value vector, int32_t n) {
    return vector::ExtractOp::create(b, vector, int64_t(n));
  }

protected:
  const AppendProblem &problem;
  Type element;
  VectorType vectorType;

private:
  RotaryCode rotary;
};

/// Builds the kernel: the place of each thread's pieces, then the copies.
class AppendBuilder : PieceCode {
public:
  AppendBuilder(LLVM::LLVMFuncOp func, const AppendProblem &problem)
      : PieceCode(func, problem) {}
  void build();

private:
  void buildUnit(Value unit);
  void buildKeysAndValues(Value head, Value piece);
  void buildQueries(Value head, Value piece);
  void toCache(Value head, Value piece, Value position);
  void toRow(Value head, Value piece, Value block, Value row, Value position);
  Value positionOf(Value length);

  Value token, batch, firstHead, keys;
};

} // namespace

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns whether rows, and those of angles that are loaded as vectors, begin
/// at multiples of 16 bytes.
Value PieceCode::isAligned(const Piece &piece) {
  auto number = [&](Value address) -> Value {
    return LLVM::PtrToIntOp::create(b, b.getI64Type(), address);
  };
  // Columns of pieces are multiples of 16 bytes.
  Value all = make<arith::OrIOp>(number(piece.from), number(piece.to));
  if (piece.position && rotary.hasAngleVectors())
    for (Value angles : {piece.cos, piece.sin})
      all = make<arith::OrIOp>(all, number(angles));
  constexpr int64_t mask = 15;
  return compare(Predicate::eq, make<arith::AndIOp>(all, i64(mask)), i64(0));
}

Value PieceCode::load(Value row, Value column, bool isAligned) {
  if (isAligned)
    return LLVM::LoadOp::create(b, vectorType, addressOf(row, column),
                                /*alignment=*/16);
  SmallVector<Value> elements;
  for (int32_t n = 0; n < columns; ++n)
    elements.push_back(loadElement(row, make<arith::AddIOp>(column, i32(n))));
  return vector::FromElementsOp::create(b, vectorType, elements);
}

void PieceCode::store(Value vector, const Piece &piece, bool isAligned) {
  if (isAligned) {
    LLVM::StoreOp::create(b, vector, addressOf(piece.to, piece.column),
                          /*alignment=*/16);
    return;
  }
  for (int32_t n = 0; n < columns; ++n)
    LLVM::StoreOp::create(
        b, elementOf(vector, n),
        addressOf(piece.to, make<arith::AddIOp>(piece.column, i32(n))));
}

void PieceCode::copy(Piece piece) {
  if (piece.position) {
    RotaryCode::Row row = rotaryRow(piece.position);
    piece.cos = row.cos;
    piece.sin = row.sin;
    piece.hasAngles = row.hasAngles;
  }
  auto body = [&](bool isAligned) {
    Value vector = load(piece.from, piece.column, isAligned);
    if (piece.position)
      vector = rotated(vector, piece, isAligned);
    store(vector, piece, isAligned);
  };
  ifElse(isAligned(piece), [&] { body(true); }, [&] { body(false); });
}

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

/// Returns `vector` with its rotated columns replaced. Rows without angles
/// stay.
Value PieceCode::rotated(Value vector, const Piece &piece, bool isAligned) {
  return rotary.rotated(vector, piece.column,
                        {piece.from, piece.cos, piece.sin, piece.hasAngles,
                         isAligned, isAligned});
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Returns the position of the token in the last `length` of its sequence.
Value AppendBuilder::positionOf(Value length) {
  return make<arith::AddIOp>(make<arith::SubIOp>(keys, length), token);
}

void AppendBuilder::toRow(Value head, Value piece, Value block, Value row,
                          Value position) {
  auto copyOf = [&](const char *from, const char *to, Value number,
                    Value position) {
    copy({rowAt(from, batch, token, head), rowAt(to, block, row, head),
          make<arith::MulIOp>(number, i32(columns)), position});
  };
  Value ofKey = i32(int32_t(problem.headDim) / columns);
  ifElse(
      compare(Predicate::slt, piece, ofKey),
      [&] {
        copyOf("key_new", "k", piece, problem.hasRotary() ? position : Value());
      },
      [&] {
        copyOf("value_new", "v", make<arith::SubIOp>(piece, ofKey), Value());
      });
}

/// Copies to the row of the cache that has `position`, if its page exists.
void AppendBuilder::toCache(Value head, Value piece, Value position) {
  if (!problem.pageSize)
    return toRow(head, piece, batch, position, position);
  Value size = i32(int32_t(problem.pageSize));
  Value entry = make<arith::AddIOp>(
      make<arith::MulIOp>(wide(batch), wide(parameter("max_pages"))),
      wide(make<arith::DivUIOp>(position, size)));
  Value page = LLVM::LoadOp::create(
      b, b.getI32Type(),
      elementAt(parameter("block_tables"), entry, b.getI32Type()));
  ifThen(compare(Predicate::ult, page, parameter("pages")), [&] {
    toRow(head, piece, page, make<arith::RemUIOp>(position, size), position);
  });
}

void AppendBuilder::buildKeysAndValues(Value head, Value piece) {
  Value position = positionOf(parameter("new_len"));
  // An unsigned comparison: a negative position does not exist.
  Value exists = make<arith::AndIOp>(
      compare(Predicate::slt, token, parameter("new_len")),
      compare(Predicate::ult, position, parameter("kv_len")));
  if (problem.hasRotary())
    exists = make<arith::AndIOp>(
        exists, compare(Predicate::ult, position, parameter("positions")));
  ifThen(exists, [&] { toCache(head, piece, position); });
}

void AppendBuilder::buildQueries(Value head, Value piece) {
  Value exists =
      make<arith::AndIOp>(compare(Predicate::slt, head, parameter("q_heads")),
                          compare(Predicate::slt, token, parameter("q_len")));
  exists = make<arith::AndIOp>(
      exists,
      compare(Predicate::slt, piece, i32(int32_t(problem.headDim) / columns)));
  ifThen(exists, [&] {
    copy({rowAt("q", batch, token, head), rowAt("q_out", batch, token, head),
          make<arith::MulIOp>(piece, i32(columns)),
          positionOf(parameter("q_len"))});
  });
}

void AppendBuilder::buildUnit(Value unit) {
  Value pieces = i32(int32_t(appendPieces(problem)));
  Value piece = make<arith::RemUIOp>(unit, pieces);
  Value head =
      make<arith::AddIOp>(firstHead, make<arith::DivUIOp>(unit, pieces));
  Value kvHeads = parameter("kv_heads");
  Value isKey = compare(Predicate::slt, head, kvHeads);
  auto keysAndValues = [&] { buildKeysAndValues(head, piece); };
  if (!problem.query)
    return ifThen(isKey, keysAndValues);
  ifElse(isKey, keysAndValues,
         [&] { buildQueries(make<arith::SubIOp>(head, kvHeads), piece); });
}

void AppendBuilder::build() {
  int32_t heads = int32_t(appendHeadsPerCta(problem));
  int32_t units = heads * int32_t(appendPieces(problem));
  Value x = NVVM::BlockIdXOp::create(b, b.getI32Type());
  Value y = NVVM::BlockIdYOp::create(b, b.getI32Type());
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value rows = parameter("append_rows");
  token = make<arith::RemUIOp>(x, rows);
  batch = make<arith::DivUIOp>(x, rows);
  firstHead = make<arith::MulIOp>(y, i32(heads));
  keys = LLVM::LoadOp::create(
      b, b.getI32Type(),
      elementAt(parameter("kv_lens"), wide(batch), b.getI32Type()));
  if (units <= int32_t(appendThreads)) {
    ifThen(compare(Predicate::slt, thread, i32(units)),
           [&] { buildUnit(thread); });
  } else {
    auto loop =
        scf::ForOp::create(b, thread, i32(units), i32(int32_t(appendThreads)));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    buildUnit(loop.getInductionVar());
  }
  LLVM::ReturnOp::create(b, ValueRange());
}

LLVM::LLVMFuncOp fmha::buildAppendKernel(gpu::GPUModuleOp module,
                                         Location location, StringRef name,
                                         const AppendProblem &problem) {
  LLVM::LLVMFuncOp func = makeThreadKernel(
      module, location, name, appendParameters(problem), appendThreads,
      /*registers=*/{}, /*flushes=*/false);
  func->setAttr("fmha.append", describeAppend(problem, module.getContext()));
  AppendBuilder(func, problem).build();
  return func;
}

LogicalResult fmha::checkHeadDims(AppendOp op) {
  for (unsigned dim : {op.getHeadDim(), op.getHeadDimV()})
    if (dim % appendColumns)
      return op.emitError() << "expected head dims that are multiples of "
                            << appendColumns << " to make a kernel for, got "
                            << dim << "; fmha-decompose-to-linalg takes any";
  return success();
}

AppendProblem fmha::appendOf(AppendOp op) {
  AppendProblem problem;
  problem.dtype =
      op.getKeyNew().getType().getElementType().isF16() ? "f16" : "bf16";
  problem.headDim = op.getHeadDim();
  problem.headDimV = op.getHeadDimV();
  problem.pageSize = op.getPageSize();
  if (op.getRotary())
    problem.rotary = stringifyRotary(*op.getRotary()).str();
  problem.rotaryDim = op.getRotaryDim();
  problem.query = bool(op.getQuery());
  return problem;
}
