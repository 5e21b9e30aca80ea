//===- TraceReader.h - Read a kernel into steps -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEREADER_H
#define FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEREADER_H

#include "KernelTrace.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fmha::tile {

/// Bytes that the address in a matrix descriptor counts.
constexpr int64_t descriptorUnit = 16;

class TraceReader {
public:
  TraceReader(mlir::gpu::GPUFuncOp func, const KernelInfo &info)
      : func(func), info(info) {
    trace.info = &info;
  }
  mlir::FailureOr<KernelTrace> read();

private:
  using Steps = std::vector<Step>;

  //===--- Members, barriers, channels ---===//
  void makeWarps();
  void declareBarrier(BarrierOp op);
  mlir::LogicalResult declareChannels();
  void declareStages(llvm::StringRef name, unsigned count, unsigned arrivals,
                     bool ready);

  //===--- Control flow and integers ---===//
  uint32_t readBlock(mlir::Block &block,
                     llvm::function_ref<void(Steps &)> finish = nullptr);
  mlir::LogicalResult readOp(mlir::Operation *op, Steps &steps);
  bool readInteger(mlir::Operation *op, Steps &steps);
  bool readLeaf(mlir::Operation *op, Steps &steps);
  std::string nameOf(mlir::BlockArgument operand);
  bool readListEntry(mlir::memref::LoadOp load, Steps &steps);
  bool readAddress(mlir::Operation *op, Steps &steps);
  void readIf(mlir::scf::IfOp op, Steps &steps);
  void readFor(mlir::scf::ForOp op, Steps &steps);
  void readWhile(mlir::scf::WhileOp op, Steps &steps);
  void addMembers(RoleOp of);
  void readSpecialise(SpecialiseOp op, Steps &steps);

  //===--- Effects (TraceEffects.cpp) ---===//
  bool readEffects(mlir::Operation *op, Steps &steps);
  void readSyncEffect(const SyncEffect &effect, Steps &steps);
  int64_t boxBytes(mlir::Value tensor) const;
  void readSharedAccess(mlir::Value pointer, mlir::Type type, bool write,
                        Steps &steps);
  void addRegisters(TracedEffect effect, mlir::Value value, Steps &steps);
  void addEffect(TracedEffect effect, Steps &steps);
  void addAction(schedule::sync::Action action, Steps &steps);

  //===--- Channels and tiles (TraceChannels.cpp) ---===//
  bool readChannelEnd(mlir::Operation *op, Steps &steps);
  void readSlot(mlir::Operation *op, bool acquire, Steps &steps);
  void readSignal(mlir::Operation *op, bool publish, Steps &steps);
  mlir::LogicalResult readTileOp(mlir::Operation *op, Steps &steps);
  mlir::LogicalResult readLoad(LoadOp op, Steps &steps);
  void readMoves(mlir::Operation *op, Steps &steps);
  void touch(mlir::Value tile, bool write, schedule::sync::Unit unit,
             uint64_t chain, Steps &steps);
  void readBegunDot(DotOp op, Steps &steps);
  void readWait(WaitDotsOp op, Steps &steps);
  void touchRegisters(mlir::Value tile, schedule::sync::Unit unit, bool write,
                      Steps &steps);
  mlir::LogicalResult checkCrossing(mlir::Operation *op);

  /// The number of a value that steps use.
  uint32_t id(mlir::Value value);
  uint32_t fresh() { return trace.values++; }
  uint32_t constant(int64_t value, Steps &steps);
  void arithmetic(Arithmetic op, uint32_t result, uint32_t a, uint32_t b,
                  Steps &steps);
  static bool isTracked(mlir::Type type);

  /// Barriers of a channel, by number; `none` where it has no free ones.
  struct ChannelBarriers {
    uint32_t full, free, depth, index;
    ChannelOp op;
  };

  mlir::gpu::GPUFuncOp func;
  const KernelInfo &info;
  KernelTrace trace;
  llvm::DenseMap<mlir::Value, uint32_t> ids;
  llvm::DenseMap<mlir::Value, std::pair<uint32_t, uint32_t>> barriers;
  llvm::DenseMap<mlir::Value, ChannelBarriers> channels;
  /// Extents that a program asks for, in the order in which it does.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> extents;
  /// Numbers of registers that products use.
  llvm::DenseMap<mlir::Value, int64_t> registerNumbers;
  mlir::Operation *current = nullptr;
  RoleOp role;
  /// Effects so far: tells which bodies have some.
  size_t effectSteps = 0;
  bool failedOp = false;
};

} // namespace fmha::tile

#endif // FMHA_LIB_DIALECT_TILE_TRANSFORMS_VERIFY_TRACEREADER_H
