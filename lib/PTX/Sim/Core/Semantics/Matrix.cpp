//===- Matrix.cpp - ldmatrix, stmatrix, movmatrix of 8x8 b16 ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.14.5.15 to .17. Lanes 8j..8j+7 give the addresses of the rows of
// matrix j. Register j of lane l holds the elements (l/4, 2*(l%4)) and (l/4,
// 2*(l%4)+1), or with .trans those of the transposed matrix.
//
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"

using namespace ptxsim;

namespace {

/// Element (row, column) of an 8x8 matrix of b16.
using Matrix = uint16_t[8][8];

struct MatrixData {
  unsigned count = 1;
  bool transposed = false;
};

uint64_t fragment(const Matrix &matrix, unsigned lane, bool transposed) {
  unsigned row = lane / 4, column = 2 * (lane % 4);
  uint32_t low = transposed ? matrix[column][row] : matrix[row][column];
  uint32_t high =
      transposed ? matrix[column + 1][row] : matrix[row][column + 1];
  return low | high << 16;
}

void scatter(Matrix &matrix, unsigned lane, bool transposed, uint64_t value) {
  unsigned row = lane / 4, column = 2 * (lane % 4);
  (transposed ? matrix[column][row] : matrix[row][column]) = uint16_t(value);
  (transposed ? matrix[column + 1][row] : matrix[row][column + 1]) =
      uint16_t(value >> 16);
}

/// Returns the lanes whose addresses are used.
LaneMask rowLanes(const MatrixData &data) {
  return LaneMask(lowBits(8 * data.count));
}

uint8_t *rowBytes(Warp &warp, const Instruction &inst, unsigned lane,
                  Access access) {
  return laneBytes(warp, inst, lane, inst.address.space,
                   warp.addressOf(inst.address, lane), 16, 16, access);
}

Outcome executeLoadMatrix(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  const MatrixData &data = inst.data<MatrixData>();
  // Read all rows before writing a register: the address may be one of them.
  Matrix matrices[4];
  for (unsigned i = 0; i < 8 * data.count; ++i) {
    uint8_t *from = rowBytes(warp, inst, i, Access::Read);
    if (!from)
      return Outcome::Fault;
    std::memcpy(matrices[i / 8][i % 8], from, 16);
  }
  noteLanes(warp, inst, rowLanes(data), Access::Read, 16);
  for (unsigned j = 0; j < data.count; ++j) {
    Row &to = warp.row(inst.dst[j]);
    eachLane(active, [&](unsigned lane) {
      to[lane] = fragment(matrices[j], lane, data.transposed);
    });
  }
  return Outcome::Next;
}

/// Executes stmatrix. Lanes of a matrix that is smaller than its registers
/// write one row several times; kernels in practice rely on equal rows.
Outcome executeStoreMatrix(Warp &warp, const Instruction &inst, LaneMask) {
  const MatrixData &data = inst.data<MatrixData>();
  bool watches = racesOf(warp) &&
                 warp.machine.options.conformance == Conformance::Practice;
  LaneMask repeats = 0;
  for (unsigned j = 0; j < data.count; ++j) {
    Matrix matrix;
    for (unsigned lane = 0; lane < 32; ++lane)
      scatter(matrix, lane, data.transposed, warp.row(inst.src[j])[lane]);
    for (unsigned row = 0; row < 8; ++row) {
      uint8_t *to = rowBytes(warp, inst, 8 * j + row, Access::Write);
      if (!to)
        return Outcome::Fault;
      if (watches && std::memcmp(to, matrix[row], 16) == 0)
        repeats |= LaneMask(1) << (8 * j + row);
      std::memcpy(to, matrix[row], 16);
    }
  }
  noteLanes(warp, inst, rowLanes(data), Access::Write, uint32_t(16), repeats);
  warp.cluster.changed();
  return Outcome::Next;
}

Outcome executeMoveMatrix(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  Matrix matrix;
  for (unsigned lane = 0; lane < 32; ++lane)
    scatter(matrix, lane, false, warp.row(inst.src[0])[lane]);
  Row &to = warp.row(inst.dst[0]);
  eachLane(active,
           [&](unsigned lane) { to[lane] = fragment(matrix, lane, true); });
  return Outcome::Next;
}

MatrixData readForm(Decoder &decoder) {
  decoder.expectModifiers({"sync", "aligned", "m8n8", "x1", "x2", "x4", "trans",
                           "shared", "shared::cta", "b16"});
  if (!decoder.has("m8n8"))
    decoder.unsupported("expected .m8n8");
  MatrixData data;
  data.count = decoder.has("x4") ? 4 : decoder.has("x2") ? 2 : 1;
  data.transposed = decoder.has("trans");
  return data;
}

Space spaceOf(Decoder &decoder) {
  bool isShared = decoder.has("shared") || decoder.has("shared::cta");
  return isShared ? Space::Shared : Space::Generic;
}

void checkCount(Decoder &decoder, size_t registers, unsigned count) {
  if (registers != count)
    decoder.unsupported("expected " + std::to_string(count) +
                        " registers, got " + std::to_string(registers));
}

void decodeLoadMatrix(Decoder &decoder, Instruction &inst) {
  MatrixData data = readForm(decoder);
  decoder.expectOperands(2, 2);
  inst.dst = decoder.destinations(0, Type::B32);
  checkCount(decoder, inst.dst.size(), data.count);
  inst.address = decoder.address(1, spaceOf(decoder));
  inst.payload = decoder.payload(data);
  inst.convergence = Convergence::Aligned;
  inst.handler = executeLoadMatrix;
}

void decodeStoreMatrix(Decoder &decoder, Instruction &inst) {
  MatrixData data = readForm(decoder);
  decoder.expectOperands(2, 2);
  inst.address = decoder.address(0, spaceOf(decoder));
  inst.src = decoder.sources(1, Type::B32);
  checkCount(decoder, inst.src.size(), data.count);
  inst.payload = decoder.payload(data);
  inst.convergence = Convergence::Aligned;
  inst.handler = executeStoreMatrix;
}

void decodeMoveMatrix(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"sync", "aligned", "m8n8", "trans", "b16"});
  decoder.expectOperands(2, 2);
  inst.dst = decoder.destinations(0, Type::B32);
  inst.src = decoder.keep({decoder.source(1, Type::B32)});
  inst.convergence = Convergence::Aligned;
  inst.handler = executeMoveMatrix;
}

} // namespace

void ptxsim::registerMatrix(Registry &registry) {
  registry.add("ldmatrix", decodeLoadMatrix);
  registry.add("stmatrix", decodeStoreMatrix);
  registry.add("movmatrix", decodeMoveMatrix);
}
