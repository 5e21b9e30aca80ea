//===- ShareCode.h - Slots that sequences share by their lengths *- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_CONVERSION_THREADS_SHARECODE_H
#define FMHA_LIB_CONVERSION_THREADS_SHARECODE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fmha {

/// Emits code that computes the same as schedule::shareSlots() (SplitShares.h).
/// All threads of a warp execute it together, and share the reading of the
/// lengths.
class ShareCode {
public:
  /// `lengths` is a pointer to the i32 lengths of `sequences` sequences, an
  /// i32. A block has `keys` keys.
  ShareCode(mlir::ImplicitLocOpBuilder &b, mlir::Value lengths,
            mlir::Value sequences, unsigned splits, unsigned keys);

  /// A slot: part `part` of the `parts` of `sequence`. A slot that no sequence
  /// needs is part 1 of 1 of sequence 0, and has no keys.
  struct Slot {
    mlir::Value sequence, part, parts;
  };
  /// Returns the slot with that number.
  Slot slotOf(mlir::Value number);
  /// The first slot of a sequence, and the number of its slots.
  struct Share {
    mlir::Value first, parts;
  };
  /// Returns the slots of `sequence`.
  Share shareOf(mlir::Value sequence);

private:
  using Value = mlir::Value;
  using Values = mlir::SmallVector<Value>;
  /// The blocks of a slot, `c`, and 1 / c in f32.
  struct Blocks {
    Value number, inverse;
  };
  Value i32(int64_t value);
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(b, lhs, rhs);
  }
  Value compare(mlir::arith::CmpIPredicate predicate, Value lhs, Value rhs);
  Value select(Value condition, Value yes, Value no);
  /// Returns 1 if `condition` holds, otherwise 0.
  Value oneIf(Value condition);
  Value weightOf(Value sequence);
  Blocks blocksOf(Value number);
  Value partsOf(Value weight, const Blocks &each);
  /// Emits `body` for each sequence of this lane in order, with its number and
  /// weight. It updates the carried values.
  Values overSequences(
      Values init,
      mlir::function_ref<Values(Value n, Value weight, Values sofar)> body);
  Value decideBlocks();
  /// Returns how many of the numbers of blocks need more than `slots` slots.
  Value countTooSmall(mlir::ArrayRef<Value> numbers, Value slots);
  /// Returns the sum of `mine` over all lanes before this one.
  Value sumOfLanesBefore(Value mine);
  /// The sequence for which `isIt` returns true, given its number, its first
  /// slot and its parts; -1 if it is none.
  struct Found {
    Value sequence, first, parts;
  };
  Found find(mlir::function_ref<Value(const Found &)> isIt);

  mlir::ImplicitLocOpBuilder &b;
  Value lengths, sequences;
  unsigned splits, keys;
  Value lane, mostWeight;
  /// The weight of the first sequence of this lane, 0 if there is none.
  Value firstWeight;
  Blocks blocks;
};

} // namespace fmha

#endif // FMHA_LIB_CONVERSION_THREADS_SHARECODE_H
