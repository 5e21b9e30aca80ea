//===- MessageNumbers.cpp - Count the messages of a channel ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageNumbers.h"
#include "Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fmha::tile;

/// A sum of index values and a constant.
struct fmha::tile::MessageNumber {
  Value value;
  int64_t known = 0;
  void add(ImplicitLocOpBuilder &b, Value more) {
    value = value ? Value(arith::AddIOp::create(b, value, more)) : more;
  }
  void add(ImplicitLocOpBuilder &b, const MessageNumber &more) {
    known += more.known;
    if (more.value)
      add(b, more.value);
  }
  bool isZero() const { return !value && !known; }
  Value get(ImplicitLocOpBuilder &b) const {
    return value ? plus(b, value, known)
                 : arith::ConstantIndexOp::create(b, known);
  }
  /// Returns the product of this number and `factor`.
  Value times(ImplicitLocOpBuilder &b, Value factor) const {
    return value ? arith::MulIOp::create(b, factor, get(b))
                 : tile::times(b, factor, known);
  }
};

/// Returns whether `block` is in a branch that is taken only if `loop` runs at
/// least once.
static bool isUnderTestOf(scf::ForOp loop, Block *block) {
  for (Operation *op = block->getParentOp(); op && op->getParentOp();
       op = op->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
        branch && op->getBlock() == branch.thenBlock() &&
        isTestOf(branch.getCondition(), loop))
      return true;
  auto own = dyn_cast<scf::IfOp>(block->getParentOp());
  return own && block == own.thenBlock() && isTestOf(own.getCondition(), loop);
}

/// Returns the number of iterations of `loop`, for messages after it.
static Value iterations(ImplicitLocOpBuilder &b, scf::ForOp loop,
                        bool isProgram) {
  Value count = tripCount(b, loop);
  // In kernels made from attention ops the count is never negative.
  if (!isProgram || alwaysRuns(loop) ||
      isUnderTestOf(loop, b.getInsertionBlock()))
    return count;
  return arith::MaxSIOp::create(b, count, arith::ConstantIndexOp::create(b, 0));
}

/// Returns the number of messages that the ops of `block` send.
MessageNumber MessageCounter::sentIn(const PlannedChannel &channel,
                                     Block &block) {
  MessageNumber number;
  auto sends = channel.sendsIn.find(&block);
  if (sends == channel.sendsIn.end())
    return number;
  number.known = sends->second.plain;
  for (Operation *op : sends->second.nested)
    number.add(b, sentBy(channel, op));
  return number;
}

/// Adds the number of messages that the ops of `block` before `end` send to
/// `number`.
void MessageCounter::addSends(MessageNumber &number,
                              const PlannedChannel &channel, Block &block,
                              SendsBefore end) {
  const BlockSends &sends = channel.sendsIn.find(&block)->second;
  number.known += end.plain;
  for (Operation *op :
       llvm::reverse(ArrayRef(sends.nested).take_front(end.nested)))
    number.add(b, sentBy(channel, op));
}

/// Returns the number of messages that `op` and the ops inside it send. For a
/// loop, it counts all iterations; for a branch, it assumes that it is taken.
MessageNumber MessageCounter::sentBy(const PlannedChannel &channel,
                                     Operation *op) {
  MessageNumber number;
  number.known = channel.sentAt.contains(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    MessageNumber each = sentIn(channel, *loop.getBody());
    if (!each.isZero())
      number.add(b, each.times(b, iterations(b, loop, isProgram)));
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    number.add(b, sentIn(channel, *branch.thenBlock()));
  }
  return number;
}

Value MessageCounter::numberOf(const PlannedChannel &channel, Operation *point,
                               function_ref<Value(scf::ForOp)> iteration) {
  MessageNumber number;
  for (Operation *op = point; op != func; op = op->getParentOp()) {
    addSends(number, channel, *op->getBlock(), channel.sendsBefore.lookup(op));
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop)
      continue;
    MessageNumber each = sentIn(channel, *loop.getBody());
    number.add(b, each.times(b, iteration(loop)));
  }
  return number.get(b);
}

Value MessageCounter::numberAfter(const PlannedChannel &channel, Block &block) {
  MessageNumber sent;
  const BlockSends &all = channel.sendsIn.find(&block)->second;
  addSends(sent, channel, block, {all.plain, unsigned(all.nested.size())});
  for (Operation *op = block.getParentOp(); op != func; op = op->getParentOp())
    addSends(sent, channel, *op->getBlock(), channel.sendsBefore.lookup(op));
  return sent.get(b);
}
