//===- MessageCounts.cpp - Messages of an output tile ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageCounts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha::tile;

Value MessageCount::create(ImplicitLocOpBuilder &b) const {
  auto constant = [&](int64_t n) {
    return arith::ConstantIndexOp::create(b, n).getResult();
  };
  if (!end)
    return constant(known);
  Value sent = arith::MulIOp::create(b, end, constant(perIteration));
  return known ? Value(arith::AddIOp::create(b, sent, constant(known))) : sent;
}

OpOperand *fmha::tile::messageOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, OpOperand *>(op)
      .Case<AcquireOp, ReceiveOp, PublishOp, ReleaseOp>(
          [](auto end) { return &end.getMessageMutable(); })
      .Default([](Operation *) { return nullptr; });
}

/// Returns the value and the constant whose sum is `end`. The loop of
/// overlapped stages ends at n - 1; one message of each channel comes before or
/// after it.
static std::pair<Value, int64_t> splitEnd(Value end) {
  auto sum = end.getDefiningOp<arith::AddIOp>();
  std::optional<int64_t> more =
      sum ? getConstantIntValue(sum.getRhs()) : std::nullopt;
  return more ? std::pair(sum.getLhs(), *more) : std::pair(end, int64_t(0));
}

/// Adds to `count` a message of each iteration of `loop`. Fails in two loops,
/// or in a loop that does not count from 0 by 1.
static LogicalResult countIterations(scf::ForOp loop, MessageCount &count) {
  auto [end, more] = splitEnd(loop.getUpperBound());
  bool isCounted = !loop->getParentOfType<scf::ForOp>() &&
                   isConstantIntValue(loop.getLowerBound(), 0) &&
                   isConstantIntValue(loop.getStep(), 1) &&
                   (!count.end || count.end == end);
  if (!isCounted)
    return failure();
  count.end = end;
  ++count.perIteration;
  count.known += more;
  return success();
}

namespace {

/// Counts the messages that each channel publishes.
class MessageCounter {
public:
  FailureOr<MessageCounts> run(WarpSpecializeOp roles);

private:
  LogicalResult count(PublishOp op);
  LogicalResult checkGuards();

  MessageCounts counts;

  /// The branches around publishes, with a publish in each.
  llvm::MapVector<scf::IfOp, PublishOp> guards;
};

} // namespace

LogicalResult MessageCounter::count(PublishOp op) {
  MessageCount &count = counts[op.getChannel()];
  scf::ForOp loop;
  for (Operation *around = op->getParentOp(); !isa<RoleOp>(around);
       around = around->getParentOp()) {
    if (auto branch = dyn_cast<scf::IfOp>(around)) {
      guards.insert({branch, op});
    } else if (isa<scf::ForOp>(around)) {
      loop = loop ? loop : cast<scf::ForOp>(around);
    } else {
      return op.emitOpError()
             << "expected scf.for and scf.if around the messages of a channel "
                "that several output tiles share, got "
             << around->getName();
    }
  }
  if (!loop) {
    ++count.known;
    return success();
  }
  if (succeeded(countIterations(loop, count)))
    return success();
  return op.emitOpError()
         << "expected one loop from 0 by 1 around the messages "
            "of a channel that several output tiles share";
}

/// Checks that no message is counted that a branch leaves out: it tests whether
/// the loop runs, and without an iteration the channel has no messages.
LogicalResult MessageCounter::checkGuards() {
  for (auto [branch, publish] : guards) {
    const MessageCount &count = counts[publish.getChannel()];
    auto test = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    bool isGuard = test && count.end && count.known == 0 &&
                   test.getPredicate() == arith::CmpIPredicate::sgt &&
                   test.getLhs() == count.end &&
                   isConstantIntValue(test.getRhs(), 0) &&
                   branch.thenBlock()->findAncestorOpInBlock(*publish);
    if (!isGuard)
      return publish.emitOpError()
             << "in a branch: expected one that tests whether the loop of the "
                "channel's messages runs, since the messages of a channel that "
                "several output tiles share are counted";
  }
  return success();
}

FailureOr<MessageCounts> MessageCounter::run(WarpSpecializeOp roles) {
  WalkResult walked =
      roles.walk([&](PublishOp op) -> WalkResult { return count(op); });
  if (walked.wasInterrupted() || failed(checkGuards()))
    return failure();
  walked = roles.walk([&](Operation *op) -> WalkResult {
    if (!messageOf(op) || counts.contains(op->getOperand(0)))
      return WalkResult::advance();
    return op->emitOpError()
           << "expected a role that publishes the messages of "
              "the channel, got none";
  });
  if (walked.wasInterrupted())
    return failure();
  return counts;
}

FailureOr<MessageCounts> fmha::tile::countMessages(WarpSpecializeOp roles) {
  return MessageCounter().run(roles);
}
