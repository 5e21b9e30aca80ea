//===- AttentionVerifier.cpp - Constraints of fmha.attention --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per constraint, or per group of related ones, in the order of
// the op's description. Only static properties are checked here.
//
//===----------------------------------------------------------------------===//

#include "AttentionAppend.h"
#include "AttentionBlocks.h"
#include "AttentionPages.h"
#include "AttentionScore.h"
#include "AttentionTopk.h"
#include "AttentionTypes.h"
#include "OperandRules.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace fmha;

/// TMA addresses global memory in units of 16 bytes (PTX ISA, "Tensor
/// Tiling": base and strides of a tensor map).
static constexpr int64_t addressUnitBytes = 16;
/// Strides of a tensor map are less than this (CUDA driver API,
/// cuTensorMapEncodeTiled).
static constexpr int64_t strideLimitBytes = int64_t(1) << 40;

/// With vectors of keys the fourth dimension counts them.
static constexpr StringLiteral dimensionNames[] = {"batch", "length", "heads",
                                                   "head_dim"};

namespace {
struct Operand {
  StringLiteral name;
  Value value;
  ShapedType type;
  Operand(StringLiteral name, Value value)
      : name(name), value(value),
        type(value ? cast<ShapedType>(value.getType()) : ShapedType()) {}
};

/// The operands by what they are for.
class AttentionOperands {
protected:
  explicit AttentionOperands(AttentionOp op);
  LogicalResult equalExtents(unsigned constraint, const Operand &a,
                             unsigned aDimension, const Operand &b,
                             unsigned bDimension);
  LogicalResult contiguous(unsigned constraint, const Operand &list);
  InFlightDiagnostic error(unsigned constraint) {
    return op.emitError() << "attention.C" << constraint << ": ";
  }

  AttentionOp op;
  Operand query, key, value, output;
  /// lse, row_max and row_sum, if present.
  SmallVector<Operand, 3> rows;
  /// query, key, value, output.
  SmallVector<Operand, 4> data;
  /// The operands of rows: these, key2 and value2, key_new and value_new.
  SmallVector<Operand, 8> copied;
  /// kv_lens, cu_seqlens_q, cu_seqlens_k and source2_lens, if present.
  SmallVector<Operand, 4> lists;
  /// All of these.
  SmallVector<Operand, 8> all;
};

/// Constraints on memrefs.
class MemoryRules : protected AttentionOperands {
protected:
  using AttentionOperands::AttentionOperands;
  LogicalResult layouts();
  LogicalResult memorySpaces();
  LogicalResult aliases();

private:
  LogicalResult layout(const Operand &operand);
  LogicalResult strides(const Operand &operand, ArrayRef<int64_t> strides);
};

class Verifier : MemoryRules {
public:
  explicit Verifier(AttentionOp op) : MemoryRules(op) {}
  LogicalResult run();

private:
  LogicalResult kinds();
  LogicalResult ranks();
  LogicalResult elementTypes();
  LogicalResult headDims();
  LogicalResult keyVectors() { return verifyKeyVectors(op); }
  LogicalResult extents();
  LogicalResult headGroups();
  LogicalResult rowShapes();
  LogicalResult scale();
  LogicalResult lengths();
  LogicalResult sequences();
  LogicalResult sinkShape();
  /// Checks which operands come together.
  LogicalResult pages() {
    return success(succeeded(verifyAppendPresence(op)) &&
                   succeeded(verifyPages(op)) && succeeded(verifyTopk(op)) &&
                   succeeded(verifyBlocks(op)));
  }
  LogicalResult scales() {
    return success(succeeded(verifyScales(op)) && succeeded(verifyAppend(op)));
  }
  LogicalResult secondSource();
  LogicalResult secondExtents();
};
} // namespace

AttentionOperands::AttentionOperands(AttentionOp op)
    : op(op), query("query", op.getQuery()), key("key", op.getKey()),
      value("value", op.getValue()), output("output", op.getOutput()),
      data{query, key, value, output} {
  for (const Operand &list : {Operand("kv_lens", op.getKvLens()),
                              Operand("cu_seqlens_q", op.getCuSeqlensQ()),
                              Operand("cu_seqlens_k", op.getCuSeqlensK()),
                              Operand("source2_lens", op.getSource2Lens())})
    if (list.value)
      lists.push_back(list);
  llvm::append_range(all, data);
  copied.assign(data.begin(), data.end());
  if (op.getKey2() && op.getValue2()) {
    copied.push_back(Operand("key2", op.getKey2()));
    copied.push_back(Operand("value2", op.getValue2()));
  }
  for (const Operand &added : {Operand("key_new", op.getKeyNew()),
                               Operand("value_new", op.getValueNew())})
    if (added.value)
      copied.push_back(added);
  for (const Operand &row :
       {Operand("lse", op.getLse()), Operand("row_max", op.getRowMax()),
        Operand("row_sum", op.getRowSum())})
    if (row.value)
      rows.push_back(row);
  llvm::append_range(all, rows);
  llvm::append_range(all, ArrayRef<Operand>(copied).drop_front(data.size()));
  llvm::append_range(all, lists);
  for (const Operand &other :
       {Operand("block_tables", op.getBlockTables()),
        Operand("topk", op.getTopk()),
        Operand("kv_num_blocks", op.getKvNumBlocks()),
        Operand("kv_indices", op.getKvIndices()),
        Operand("full_kv_num_blocks", op.getFullKvNumBlocks()),
        Operand("full_kv_indices", op.getFullKvIndices()),
        Operand("sink", op.getSink()), Operand("k_scale", op.getKScale()),
        Operand("v_scale", op.getVScale()), Operand("q_scale", op.getQScale()),
        Operand("cos", op.getCos()), Operand("sin", op.getSin())})
    if (other.value)
      all.push_back(other);
  for (Value source : op.getCaptures())
    all.push_back(Operand("a tensor that the region `score` reads", source));
}

LogicalResult Verifier::run() {
  using Rule = LogicalResult (Verifier::*)();
  // The order matters: later rules rely on the ranks and element types that
  // earlier ones establish.
  static constexpr Rule rules[] = {
      &Verifier::secondSource,  &Verifier::pages,
      &Verifier::kinds,         &Verifier::ranks,
      &Verifier::elementTypes,  &Verifier::headDims,
      &Verifier::extents,       &Verifier::headGroups,
      &Verifier::secondExtents, &Verifier::rowShapes,
      &Verifier::scale,         &Verifier::scales,
      &Verifier::layouts,       &Verifier::memorySpaces,
      &Verifier::aliases,       &Verifier::lengths,
      &Verifier::sequences,     &Verifier::sinkShape};
  for (Rule rule : rules)
    if (failed((this->*rule)()))
      return failure();
  return success();
}

LogicalResult Verifier::kinds() {
  for (const Operand &operand : all)
    if (isa<MemRefType>(operand.type) != isa<MemRefType>(query.type))
      return error(1) << "expected all operands to be tensors or all to be "
                         "memrefs, got query "
                      << query.type << " and " << operand.name << ' '
                      << operand.type
                      << "; bufferize all of them, or convert the memrefs with "
                         "bufferization.to_tensor";
  return success();
}

LogicalResult Verifier::ranks() {
  for (const Operand &operand : copied)
    if (operand.type.getRank() != 4 &&
        !(operand.value == op.getKey() && op.hasKeyVectors()))
      return error(2) << "expected " << operand.name
                      << " to be [batch, length, heads, head_dim], got rank "
                      << operand.type.getRank()
                      << "; reshape it with expand_shape or collapse_shape";
  for (const Operand &row : rows)
    if (row.type.getRank() != 3)
      return error(2) << "expected " << row.name
                      << " to be [batch, q_heads, q_len], got rank "
                      << row.type.getRank()
                      << "; reshape it with expand_shape or collapse_shape";
  return success();
}

LogicalResult Verifier::elementTypes() {
  if (failed(verifyTypes(op)))
    return failure();
  for (const Operand &row : rows)
    if (!row.type.getElementType().isF32())
      return error(4) << "expected the element type of " << row.name
                      << " to be f32, got " << row.type.getElementType()
                      << "; convert the result instead";
  return success();
}

LogicalResult Verifier::headDims() {
  for (const Operand &operand : copied) {
    if (operand.value == op.getKey() && op.hasKeyVectors())
      continue;
    int64_t headDim = operand.type.getDimSize(AttentionOp::HeadDim);
    if (ShapedType::isDynamic(headDim))
      return error(5)
             << "expected a static head dim, as it is compiled in, got "
                "a dynamic one in dimension 3 of "
             << operand.name;
    if (headDim == 0 || headDim > AttentionOp::maxHeadDim)
      return error(5) << "expected a positive head dim of at most "
                      << AttentionOp::maxHeadDim << ", got " << headDim
                      << " in dimension 3 of " << operand.name;
  }
  if (failed(keyVectors()) ||
      (!op.hasKeyVectors() &&
       failed(equalExtents(6, query, AttentionOp::HeadDim, key,
                           AttentionOp::HeadDim))))
    return failure();
  return equalExtents(7, value, AttentionOp::HeadDim, output,
                      AttentionOp::HeadDim);
}

LogicalResult AttentionOperands::equalExtents(unsigned constraint,
                                              const Operand &a,
                                              unsigned aDimension,
                                              const Operand &b,
                                              unsigned bDimension) {
  int64_t expected = a.type.getDimSize(aDimension);
  int64_t got = b.type.getDimSize(bDimension);
  if (ShapedType::isDynamic(expected) || ShapedType::isDynamic(got) ||
      expected == got)
    return success();
  return error(constraint) << "expected dimension " << bDimension << " of "
                           << b.name << " to equal dimension " << aDimension
                           << " (" << dimensionNames[aDimension] << ") of "
                           << a.name << ", " << expected << ", got " << got;
}

LogicalResult Verifier::extents() {
  // Packed operands have batch 1, whatever that of others is.
  SmallVector<std::pair<Operand, Operand>> batches = {{query, output},
                                                      {key, value}};
  if (!op.getCuSeqlensQ() && !op.getCuSeqlensK() && !op.getBlockTables())
    batches = {{query, key}, {query, value}, {key, value}, {query, output}};
  for (const auto &[a, b] : batches)
    if (failed(equalExtents(8, a, AttentionOp::Batch, b, AttentionOp::Batch)))
      return failure();
  if (failed(equalExtents(9, key, AttentionOp::Length, value,
                          AttentionOp::Length)) ||
      failed(equalExtents(10, key, AttentionOp::Heads, value,
                          AttentionOp::Heads)) ||
      failed(equalExtents(11, query, AttentionOp::Length, output,
                          AttentionOp::Length)))
    return failure();
  return equalExtents(11, query, AttentionOp::Heads, output,
                      AttentionOp::Heads);
}

LogicalResult Verifier::headGroups() {
  int64_t queryHeads = query.type.getDimSize(AttentionOp::Heads);
  // Either of key and value may have the static extent.
  int64_t keyValueHeads = key.type.getDimSize(AttentionOp::Heads);
  if (ShapedType::isDynamic(keyValueHeads))
    keyValueHeads = value.type.getDimSize(AttentionOp::Heads);
  if (ShapedType::isDynamic(keyValueHeads))
    return success();
  if (keyValueHeads == 0)
    return error(12) << "expected a positive number of KV heads, got 0";
  if (!ShapedType::isDynamic(queryHeads) && queryHeads % keyValueHeads != 0)
    return error(12) << "expected the number of query heads to be a multiple "
                        "of the number of KV heads, got "
                     << queryHeads << " query heads and " << keyValueHeads
                     << " KV heads";
  return success();
}

LogicalResult Verifier::rowShapes() {
  static constexpr unsigned queryDimensions[] = {
      AttentionOp::Batch, AttentionOp::Heads, AttentionOp::Length};
  for (const Operand &row : rows)
    for (auto [dimension, queryDimension] : llvm::enumerate(queryDimensions))
      if (failed(equalExtents(13, query, queryDimension, row, dimension)))
        return failure();
  return success();
}

LogicalResult Verifier::scale() {
  if (!op.getScale())
    return success();
  double scale = op.getScale()->convertToDouble();
  if (!(std::abs(scale) <= AttentionOp::maxScale))
    return error(14)
           << "expected a scale from -2^64 to 2^64, with which scores "
              "stay finite as f32, got "
           << op.getScaleAttr();
  return success();
}

LogicalResult MemoryRules::layouts() {
  for (const Operand &operand : all)
    if (isa<MemRefType>(operand.type) && failed(layout(operand)))
      return failure();
  return success();
}

LogicalResult MemoryRules::layout(const Operand &operand) {
  auto type = cast<MemRefType>(operand.type);
  SmallVector<int64_t> strideList;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strideList, offset)))
    return error(15) << "expected a strided layout of " << operand.name
                     << ", got " << type;
  // Only TMA and vectors of f32 need more; row outputs are stored one by one.
  if (llvm::none_of(copied, [&](const Operand &one) {
        return one.value == operand.value;
      }))
    return success();
  if (failed(strides(operand, strideList)))
    return failure();
  if (ShapedType::isDynamic(offset))
    return success();
  int64_t bytes = 0;
  if (llvm::MulOverflow(offset, int64_t(type.getElementTypeBitWidth() / 8),
                        bytes))
    return error(18) << "expected the offset of " << operand.name
                     << " to fit 63 bits in bytes, got " << offset
                     << " elements";
  if (bytes % addressUnitBytes != 0)
    return error(18) << "expected the offset of " << operand.name
                     << " to be a multiple of " << addressUnitBytes
                     << " bytes, got " << offset << " elements, " << bytes
                     << " bytes; copy it to a separate buffer";
  return success();
}

LogicalResult MemoryRules::strides(const Operand &operand,
                                   ArrayRef<int64_t> strides) {
  unsigned last = strides.size() - 1;
  int64_t innermost = strides[last];
  if (!ShapedType::isDynamic(innermost) && innermost != 1)
    return error(16) << "expected the head dim of " << operand.name
                     << " to be contiguous (stride 1 in dimension " << last
                     << "), got stride " << innermost
                     << "; copy it to a contiguous buffer";
  int64_t elementBytes = operand.type.getElementTypeBitWidth() / 8;
  for (unsigned dimension = 0; dimension < last; ++dimension) {
    int64_t stride = strides[dimension];
    if (ShapedType::isDynamic(stride))
      continue;
    int64_t limit = strideLimitBytes / elementBytes;
    if (stride >= limit || stride <= -limit)
      return error(17) << "expected the stride of dimension " << dimension
                       << " (" << dimensionNames[dimension] << ") of "
                       << operand.name
                       << " to be non-negative and less than 2^40 bytes, got "
                       << stride << " elements of " << elementBytes
                       << " bytes; copy it to a contiguous buffer";
    int64_t bytes = stride * elementBytes;
    if (bytes < 0 || bytes % addressUnitBytes != 0)
      return error(17) << "expected the stride of dimension " << dimension
                       << " (" << dimensionNames[dimension] << ") of "
                       << operand.name << " to be a non-negative multiple of "
                       << addressUnitBytes << " bytes, got " << stride
                       << " elements, " << bytes
                       << " bytes; copy it to a buffer with such strides, or "
                          "pad the head "
                          "dim to a multiple of 8";
  }
  return success();
}

bool fmha::isGlobalMemory(Attribute space) {
  if (!space)
    return true;
  if (auto number = dyn_cast<IntegerAttr>(space))
    return number.getInt() == 0 || number.getInt() == 1;
  auto gpuSpace = dyn_cast<gpu::AddressSpaceAttr>(space);
  return gpuSpace && gpuSpace.getValue() == gpu::AddressSpace::Global;
}

LogicalResult MemoryRules::memorySpaces() {
  for (const Operand &operand : all) {
    auto type = dyn_cast<MemRefType>(operand.type);
    if (type && !isGlobalMemory(type.getMemorySpace()))
      return error(19) << "expected " << operand.name
                       << " to lie in global memory (no memory space, 0, 1 or "
                          "#gpu.address_space<global>), got "
                       << type.getMemorySpace();
  }
  return success();
}

/// Checks aliases: rows of destinations are written while inputs are read.
LogicalResult MemoryRules::aliases() {
  if (!isa<MemRefType>(query.type))
    return success();
  size_t first = data.size() - 1, last = first + rows.size();
  for (size_t n = first; n <= last; ++n)
    for (auto [number, other] : llvm::enumerate(all)) {
      const Operand &written = all[n];
      // A pair of two destinations is reported with the later one.
      bool isPair = number < n || number > last;
      if (!isPair)
        continue;
      if (auto how = sharedMemory(written.value, other.value))
        return error(21) << "expected " << written.name << " and " << other.name
                         << " to share no memory, got " << *how << "; give "
                         << written.name << " a separate memref";
    }
  return success();
}

LogicalResult Verifier::lengths() {
  for (const Operand &list : lists) {
    if (list.type.getRank() != 1 ||
        !list.type.getElementType().isSignlessInteger(32))
      return error(22) << "expected " << list.name
                       << " to be a vector of i32, got " << list.type;
    if (failed(contiguous(22, list)))
      return failure();
  }
  return success();
}

LogicalResult AttentionOperands::contiguous(unsigned constraint,
                                            const Operand &list) {
  auto memref = dyn_cast<MemRefType>(list.type);
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  // attention.C15 reports layouts that are not strided.
  if (!memref || failed(memref.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(strides[0]) || strides[0] == 1)
    return success();
  return error(constraint) << "expected " << list.name
                           << " to be contiguous, got " << memref;
}

LogicalResult Verifier::sinkShape() {
  if (!op.getSink())
    return success();
  Operand sink("sink", op.getSink());
  if (sink.type.getRank() != 1 || !sink.type.getElementType().isF32())
    return error(24) << "expected sink to be a vector of f32, got "
                     << sink.type;
  if (failed(equalExtents(24, query, AttentionOp::Heads, sink, 0)))
    return failure();
  return contiguous(24, sink);
}

/// Checks that all operands agree on the number of sequences. Packed operands
/// have batch 1.
LogicalResult Verifier::sequences() {
  std::optional<std::pair<StringLiteral, int64_t>> first;
  auto agree = [&](const Operand &operand, int64_t count) -> LogicalResult {
    if (ShapedType::isDynamic(count))
      return success();
    if (!first)
      first = {operand.name, count};
    if (first->second == count)
      return success();
    bool isSecond = operand.value == op.getKey2() ||
                    operand.value == op.getValue2() ||
                    operand.value == op.getSource2Lens();
    bool isTable = operand.value == op.getBlockTables();
    return error(isTable                       ? 30
                 : isSecond                    ? 28
                 : operand.type.getRank() == 1 ? 23
                                               : 8)
           << "expected " << operand.name << " to be for " << first->second
           << " sequences, as " << first->first << " is, got one for " << count;
  };
  SmallVector<std::pair<Operand, Value>> sides = {{query, op.getCuSeqlensQ()},
                                                  {output, op.getCuSeqlensQ()},
                                                  {key, op.getCuSeqlensK()},
                                                  {value, op.getCuSeqlensK()}};
  for (const Operand &row : rows)
    sides.push_back({row, op.getCuSeqlensQ()});
  for (auto [operand, starts] : sides) {
    int64_t batch = operand.type.getDimSize(AttentionOp::Batch);
    if (starts && !ShapedType::isDynamic(batch) && batch != 1)
      return error(8) << "expected the batch of " << operand.name
                      << ", which is packed, to be 1, got " << batch;
    // In a paged cache the batch dimension is the number of pages.
    bool isCache = op.getBlockTables() && (operand.value == op.getKey() ||
                                           operand.value == op.getValue());
    if (!starts && !isCache && failed(agree(operand, batch)))
      return failure();
  }
  for (const Operand &list : lists) {
    int64_t entries = list.type.getDimSize(0);
    bool isLengths =
        list.value == op.getKvLens() || list.value == op.getSource2Lens();
    int64_t extra = isLengths ? 0 : 1;
    if (!ShapedType::isDynamic(entries) && entries < extra)
      return error(23) << "expected " << list.name
                       << " to have one entry more than there are sequences, "
                          "got none";
    if (failed(agree(list, ShapedType::isDynamic(entries) ? entries
                                                          : entries - extra)))
      return failure();
  }
  if (op.getBlockTables()) {
    Operand tables("block_tables", op.getBlockTables());
    if (failed(agree(tables, tables.type.getDimSize(0))))
      return failure();
  }
  for (const Operand &operand : ArrayRef<Operand>(copied).drop_front(4))
    if (failed(agree(operand, operand.type.getDimSize(AttentionOp::Batch))))
      return failure();
  return success();
}

/// Checks that attributes of a second KV segment come with one.
LogicalResult Verifier::secondSource() {
  if (bool(op.getKey2()) != bool(op.getValue2()))
    return error(27) << "expected key2 and value2, or neither, got one";
  if (op.getSource2Mask().left || op.getSource2Mask().right)
    return error(27) << "expected a source2_mask without a window, got "
                     << schedule::stringify(op.getSource2Mask())
                     << "; a window applies to the first segment only";
  if (op.getKey2())
    return success();
  if (op.getSource2Lens())
    return error(27) << "expected source2_lens with source2 only, got them "
                        "without";
  if (!op.getSource2Mask().isFull())
    return error(27) << "expected a source2_mask with source2 only, got one "
                        "without";
  return success();
}

/// Checks the extents of the second segment, except its independent length.
LogicalResult Verifier::secondExtents() {
  if (!op.getKey2())
    return success();
  const Operand &key2 = copied[4], &value2 = copied[5];
  const std::tuple<const Operand &, const Operand &, unsigned> pairs[] = {
      {key, key2, AttentionOp::HeadDim},  {value, value2, AttentionOp::HeadDim},
      {key, key2, AttentionOp::Heads},    {value, value2, AttentionOp::Heads},
      {key2, value2, AttentionOp::Heads}, {key2, value2, AttentionOp::Length},
      {key2, value2, AttentionOp::Batch}};
  for (const auto &[a, b, dimension] : pairs)
    if (failed(equalExtents(28, a, dimension, b, dimension)))
      return failure();
  return success();
}

LogicalResult AttentionOp::verify() {
  return failed(verifyDiscardables(*this)) ? failure() : Verifier(*this).run();
}

static LogicalResult verifySchedule(AttentionOp op) {
  ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule)
    return success();
  schedule::Problem problem = op.getProblem();
  auto *dialect = op.getContext()->getLoadedDialect<FMHADialect>();
  std::optional<std::string> reason = dialect->getMap(problem, schedule).error;
  if (!reason)
    return success();
  if (auto change = schedule::closestChange(problem, schedule.toSchedule()))
    schedule::propose(*change, *reason);
  return op.emitError()
         << "attention.C20: expected a schedule that can serve this op; "
         << *reason;
}

LogicalResult AttentionOp::verifyRegions() {
  return failed(verifyScore(*this)) ? failure() : verifySchedule(*this);
}
