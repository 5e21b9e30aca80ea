//===- Tcgen05Dialect.cpp - The tcgen05 dialect -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/Tcgen05/IR/Tcgen05.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha::tcgen05;

#include "fmha/Dialect/Tcgen05/IR/Tcgen05Dialect.cpp.inc"
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Attrs.cpp.inc"

#define GET_OP_CLASSES
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Ops.cpp.inc"

void Tcgen05Dialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Attrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Ops.cpp.inc"
      >();
}

namespace {

struct MoveRow {
  const char *name;
  unsigned registers, most;
};

/// In the order of MoveShape.
constexpr MoveRow moves[] = {
#define FMHA_TCGEN05_MOVE(name, lanes, registers, columns, most)               \
  {name, registers, most},
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
};

struct CopyRow {
  StringRef name, multicast;
};

constexpr CopyRow copies[] = {
#define FMHA_TCGEN05_COPY(name, multicast, rows, columns) {name, multicast},
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
};

} // namespace

/// Returns the number of registers of a thread.
static unsigned registersOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? unsigned(vector.getNumElements()) : 1;
}

/// Checks the registers and the offset of an access.
static LogicalResult verifyMove(Operation *op, MoveShape shape, Type type,
                                bool hasOffset) {
  const MoveRow &row = moves[unsigned(shape)];
  unsigned registers = registersOf(type);
  if (registers % row.registers || registers / row.registers > row.most)
    return op->emitOpError()
           << "expected 1 to " << row.most << " times " << row.registers
           << " registers for shape " << row.name << ", got " << registers;
  bool isSplit = shape == MoveShape::Shape16x32bx2;
  if (isSplit != hasOffset)
    return op->emitOpError()
           << (isSplit ? "expected the offset of the second access for shape "
                       : "expected no offset for shape ")
           << row.name << (isSplit ? ", got none" : ", got one");
  return success();
}

LogicalResult LdOp::verify() {
  return verifyMove(*this, getShape(), getRegisters().getType(),
                    getOffset().has_value());
}

LogicalResult StOp::verify() {
  return verifyMove(*this, getShape(), getRegisters().getType(),
                    getOffset().has_value());
}

LogicalResult LdRedOp::verify() {
  MoveShape shape = getShape();
  if (shape != MoveShape::Shape32x32b && shape != MoveShape::Shape16x32bx2)
    return emitOpError() << "expected shape 32x32b or 16x32bx2, got "
                         << moves[unsigned(shape)].name;
  if (registersOf(getRegisters().getType()) < 2)
    return emitOpError() << "expected at least 2 registers, got 1";
  Type element = getElement();
  if (!element.isF32() && !element.isUnsignedInteger(32) &&
      !element.isSignedInteger(32))
    return emitOpError()
           << "expected an element type of f32, ui32 or si32, got " << element;
  if (!element.isF32() && (getAbs() || getNan()))
    return emitOpError() << "'abs' and 'nan' are for f32, got " << element
                         << "; remove them";
  return verifyMove(*this, shape, getRegisters().getType(),
                    getOffset().has_value());
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult WaitOp::verify() {
  if (getAccess() == Access::Store && !getValues().empty())
    return emitOpError() << "expected no registers of a store, which returns "
                            "none, got "
                         << getValues().size()
                         << "; remove 'of', or wait for a load";
  return success();
}

LogicalResult CpOp::verify() {
  StringRef shape = stringifyCopyShape(getShape());
  shape.consume_front("shape_");
  StringRef multicast = stringifyMulticast(getMulticast());
  std::string legal;
  for (const CopyRow &row : copies) {
    if (row.name != shape)
      continue;
    if (row.multicast == multicast)
      return success();
    legal += (legal.empty() ? "" : " or ") + row.multicast.str();
  }
  return emitOpError() << "expected multicast " << legal << " for shape "
                       << shape << ", got " << multicast;
}

void MmaOp::build(OpBuilder &builder, OperationState &state, MmaKind kind,
                  Value d, Value a, Value b, Value accumulate,
                  ValueRange disabled, unsigned m, unsigned n, Type type,
                  Type result) {
  build(builder, state, kind, d, a, b, accumulate, Value(), Value(), Value(),
        disabled, Value(), m, n, type, type, result, /*cta_group=*/1,
        /*ws=*/false, /*ashift=*/false, /*transpose_a=*/false,
        /*transpose_b=*/false, /*negate_a=*/false, /*negate_b=*/false,
        /*saturate=*/false, Collector::Discard, /*buffer=*/0, /*scale_d=*/0,
        /*selector=*/0, /*max_shift=*/0, IntegerAttr(), TypeAttr());
}

MmaForm MmaOp::getForm() {
  MmaForm form;
  form.kind = getKind();
  form.a = debugString(getAType());
  form.b = debugString(getBType());
  form.d = debugString(getDType());
  form.m = getM();
  form.n = getN();
  form.ctaGroup = getCtaGroup();
  form.sparse = bool(getMetadata());
  form.weightStationary = getWs();
  form.shiftA = getAshift();
  form.aInTmem = isa<LLVM::LLVMPointerType>(getA().getType());
  form.transposeA = getTransposeA();
  form.transposeB = getTransposeB();
  form.negateA = getNegateA();
  form.negateB = getNegateB();
  form.saturate = getSaturate();
  form.laneWords = getDisabled().size();
  form.hasZeroColumns = bool(getZeroColumns());
  form.scaleD = getScaleD();
  form.selector = getSelector();
  form.maxShift = getMaxShift();
  form.block = getBlock().value_or(0);
  if (std::optional<Type> type = getScaleType())
    form.scale = debugString(*type);
  form.scaleIdA = getScaleAId();
  form.scaleIdB = getScaleBId();
  form.keepsOperand =
      getCollector() == Collector::Fill || getCollector() == Collector::Use;
  return form;
}

LogicalResult MmaOp::verify() {
  bool scaled = bool(getScaleA());
  if (scaled != bool(getScaleB()) || scaled != getBlock().has_value() ||
      scaled != getScaleType().has_value())
    return emitOpError() << "expected 'scales', 'block' and 'scale_type' "
                            "together, got some of them";
  if (getBuffer() && !getWs())
    return emitOpError() << "expected buffer 0 without 'ws', whose collector "
                            "keeps A, got "
                         << getBuffer();
  if (std::optional<std::string> error = getForm().check())
    return emitOpError() << *error;
  return success();
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

ArrayRef<StringLiteral> fmha::tcgen05::reducingChips() {
  static constexpr StringLiteral chips[] = {
#define FMHA_TCGEN05_REDUCTION(chip) chip,
#include "fmha/Dialect/Tcgen05/IR/Tcgen05Forms.def"
  };
  return chips;
}

bool fmha::tcgen05::hasReducingLoads(StringRef chip) {
  return llvm::is_contained(reducingChips(), chip);
}
