//===- InsertChannels.cpp - Insert channels between roles -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"
#include "Loops.h"
#include "MessageNumbers.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <utility>

namespace fmha::tile {
#define GEN_PASS_DEF_TILEINSERTCHANNELS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

/// Uses of one message by one role in one stage, which share a receive.
struct Delivery {
  const PlannedChannel *channel;
  const Send *send;
  SmallVector<const Crossing *> uses;
  /// The block in which the message is received and released.
  Block *block = nullptr;
  Value message;
  /// The sort key of the receives of one op.
  unsigned rank = 0;
  /// Whether the role receives the message again, in a later branch.
  bool isRepeated = false;
};

class Inserter {
public:
  Inserter(gpu::GPUFuncOp func, const ChannelPlan &plan,
           const ProductChains &chains, const PartitionFamily &family,
           const KernelInfo &info)
      : func(func), plan(plan), chains(chains), family(family), info(info),
        b(func.getLoc(), func.getContext()), counter(b, func, info.isProgram) {}
  void run();

private:
  void declare();
  bool isRotated(Operation *user);
  unsigned orderOf(const Crossing *use);
  bool runsBefore(Block &block, const Crossing *a, const Crossing *b);
  void collectDeliveries(const PlannedChannel &channel);
  void sortDeliveries();
  void insertReceive(Delivery &delivery);
  void insertAcquire(const PlannedChannel &channel, const Send &send);
  void insertPublish(const PlannedChannel &channel, const Send &send);
  void insertReleases();
  void insertDrain(const PlannedChannel &channel);
  void collectTakers();
  bool insertAsyncRelease(Delivery &delivery);
  void releaseInBranches(scf::IfOp branch, const Delivery &delivery);
  void insertRelease(Delivery &delivery);

  Value sentNumber(const PlannedChannel &channel, const Send &send);
  Value receivedNumber(const Delivery &delivery);
  Agent agentOf(StringRef role) { return family.findRole(role)->agent; }
  template <typename OpTy, typename... Args>
  OpTy create(PartitionAttr like, Args &&...args) {
    auto made = OpTy::create(b, std::forward<Args>(args)...);
    setPartition(made, like);
    return made;
  }

  gpu::GPUFuncOp func;
  const ChannelPlan &plan;
  const ProductChains &chains;
  const PartitionFamily &family;
  const KernelInfo &info;
  ImplicitLocOpBuilder b;
  MessageCounter counter;
  llvm::DenseMap<const PlannedChannel *, Value> channels;
  SmallVector<Delivery> deliveries;
  /// Maps an op to the last of the ops that were inserted after it: publishes,
  /// then releases.
  llvm::DenseMap<Operation *, Operation *> lastAfter;
  /// Whether the pipeline stages of a role overlap in a loop.
  llvm::DenseMap<std::pair<Operation *, StringRef>, bool> rotated;
  /// Maps a chain of products to the first op of its role and loop that uses
  /// its result.
  llvm::DenseMap<Operation *, Operation *> takers;
  /// The first product of each chain that writes a ring of several stages, and
  /// its acquired slot. passSlots() adds the slots last, since new operands
  /// change the operands that the plan holds.
  SmallVector<std::pair<DotOp, Value>> begunInSlot;
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

/// Returns the number of threads of a role that signal: all of them, or one for
/// TMA and MMA.
static unsigned arrivals(Agent agent, const schedule::Role *role) {
  constexpr unsigned groupThreads = target::warpgroupThreads;
  if (agent == Agent::CpAsync && role)
    return role->warps * target::warpThreads;
  return agent == Agent::Threads ? groupThreads : 1;
}

void Inserter::declare() {
  Operation *first = nullptr;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    first = partitionOf(op) ? op : nullptr;
    return first ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!first)
    return;
  b.setInsertionPoint(func.getBody().front().findAncestorOpInBlock(*first));
  for (const PlannedChannel &channel : plan) {
    Agent from = agentOf(channel.producer);
    ArrayRef<StringRef> consumers = channel.consumers.getArrayRef();
    unsigned taken = 0;
    for (StringRef role : consumers)
      taken += channel.hasReleases() && agentOf(role) == Agent::Threads
                   ? family.releaseArrivals
                   : arrivals(agentOf(role), info.schedule.findRole(role));
    channels[&channel] = ChannelOp::create(
        b, ChannelType::get(b.getContext(), channel.type),
        b.getStringAttr(channel.name), from, agentOf(consumers.front()),
        arrivals(from, info.schedule.findRole(channel.producer)), taken,
        channel.unreleased,
        channel.releasedBy ? b.getStringAttr(channel.releasedBy->name)
                           : StringAttr());
  }
}

//===----------------------------------------------------------------------===//
// Message numbers
//===----------------------------------------------------------------------===//

Value Inserter::sentNumber(const PlannedChannel &channel, const Send &send) {
  return counter.numberOf(channel, send.point, [&](scf::ForOp loop) {
    return iterationNumber(b, loop);
  });
}

Value Inserter::receivedNumber(const Delivery &delivery) {
  const TileSource &source = delivery.uses.front()->source;
  return counter.numberOf(
      *delivery.channel, delivery.send->point, [&](scf::ForOp loop) {
        if (llvm::is_contained(source.last, loop))
          return plus(b, tripCount(b, loop), -1);
        bool before = llvm::is_contained(source.previous, loop);
        return plus(b, iterationNumber(b, loop), before ? -1 : 0);
      });
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

/// Returns the innermost block around all users that is in no loop in which the
/// message is not sent.
static Block *deliveryBlock(const Delivery &delivery) {
  Operation *first = delivery.uses.front()->user;
  auto holds = [&](Block *block) {
    bool all = llvm::all_of(delivery.uses, [&](const Crossing *use) {
      return block->findAncestorOpInBlock(*use->user);
    });
    const TileSource &source = delivery.uses.front()->source;
    auto loop = dyn_cast<scf::ForOp>(block->getParentOp());
    if (!loop)
      loop = block->getParentOp()->getParentOfType<scf::ForOp>();
    for (; all && loop; loop = loop->getParentOfType<scf::ForOp>())
      all = loop->isProperAncestor(delivery.send->point) ||
            llvm::is_contained(source.previous, loop);
    return all;
  };
  auto isSent = [&](Block *block) {
    auto branch = dyn_cast<scf::IfOp>(block->getParentOp());
    return !branch || !delivery.uses.front()->source.isOfThisIteration() ||
           isUnderSameCondition(branch, delivery.send->point);
  };
  Block *block = first->getBlock();
  while (!holds(block) || !isSent(block))
    block = block->getParentOp()->getBlock();
  return block;
}

/// Returns whether the pipeline stages of the role of `user` overlap in the
/// loop around it. Only then `order` has an effect.
bool Inserter::isRotated(Operation *user) {
  auto loop = user->getParentOfType<scf::ForOp>();
  if (!loop)
    return false;
  StringRef role = partitionOf(user).getRole();
  auto [known, isNew] = rotated.try_emplace({loop, role});
  if (isNew)
    known->second = overlapsStages(loop, role);
  return known->second;
}

/// Returns the order of a user, which has an effect only in a loop that is
/// rotated.
unsigned Inserter::orderOf(const Crossing *use) {
  return isRotated(use->user) ? partitionOf(use->user).getOrder() : 0;
}

/// Whether the role uses `a` before `b`, both inside of `block`.
bool Inserter::runsBefore(Block &block, const Crossing *a, const Crossing *b) {
  Operation *left = block.findAncestorOpInBlock(*a->user);
  Operation *right = block.findAncestorOpInBlock(*b->user);
  Operation *around = block.getParentOp();
  auto loop = dyn_cast<scf::ForOp>(around);
  if (!loop)
    loop = around->getParentOfType<scf::ForOp>();
  auto hasOrder = [&](Operation *user) {
    return loop && user->getParentOfType<scf::ForOp>() == loop &&
           isRotated(user);
  };
  bool isOrdered = left == right || hasOrder(a->user) || hasOrder(b->user);
  return isOrdered ? orderOf(a) < orderOf(b) : left->isBeforeInBlock(right);
}

void Inserter::collectDeliveries(const PlannedChannel &channel) {
  // A message of an earlier iteration is received again, with its number, and
  // so is one that is used in several branches on whether its loop has run.
  using Key = std::tuple<const Send *, StringRef, unsigned, size_t, size_t>;
  llvm::MapVector<std::pair<Key, Operation *>, Delivery> found;
  llvm::DenseMap<Value, const Send *> sends;
  for (const Send &send : channel.sends)
    sends[send.tile] = &send;
  for (const Crossing &use : channel.uses) {
    PartitionAttr partition = partitionOf(use.user);
    const Send *send = sends.lookup(use.source.value);
    Delivery &delivery =
        found[{{send, partition.getRole(), partition.getStage(),
                use.source.previous.size(), use.source.last.size()},
               guardOf(use.user, send->point)}];
    delivery.channel = &channel;
    delivery.send = send;
    delivery.uses.push_back(&use);
  }
  llvm::DenseMap<Key, Delivery *> earlier;
  for (auto &[key, delivery] : found)
    if (Delivery *same = std::exchange(earlier[key.first], &delivery))
      same->isRepeated = true;
  for (auto &[key, delivery] : found) {
    delivery.block = deliveryBlock(delivery);
    llvm::stable_sort(delivery.uses, [&](auto *a, auto *b) {
      return runsBefore(*delivery.block, a, b);
    });
    deliveries.push_back(std::move(delivery));
  }
}

/// Returns the number of the operand of the user that is `use`, or the result
/// of a slice of it.
static unsigned operandOf(const Crossing &use) {
  for (OpOperand &operand : use.user->getOpOperands())
    if (&operand == use.use ||
        operand.get().getDefiningOp() == use.use->getOwner())
      return operand.getOperandNumber();
  llvm_unreachable("expected a use of the op");
}

/// Sorts the receives of each op: the loaded second factors of products come
/// before tiles that other roles compute. Messages of one channel keep their
/// order.
void Inserter::sortDeliveries() {
  constexpr unsigned ranks[] = {1, 0};
  auto keyOf = [](const Delivery &delivery) {
    return std::pair(delivery.channel, delivery.uses.front()->user);
  };
  llvm::DenseMap<std::pair<const PlannedChannel *, Operation *>, unsigned>
      least;
  for (const Delivery &delivery : deliveries) {
    unsigned operand = operandOf(*delivery.uses.front());
    unsigned rank = operand < 2 ? ranks[operand] : operand;
    unsigned &known = least.try_emplace(keyOf(delivery), rank).first->second;
    known = std::min(known, rank);
  }
  for (Delivery &delivery : deliveries)
    delivery.rank = least.lookup(keyOf(delivery));
  llvm::stable_sort(deliveries, [](const Delivery &a, const Delivery &b) {
    return a.rank < b.rank;
  });
}

void Inserter::insertReceive(Delivery &delivery) {
  const Crossing &first = *delivery.uses.front();
  Operation *anchor = delivery.block->findAncestorOpInBlock(*first.user);
  b.setInsertionPoint(withSlices(anchor));
  PartitionAttr like = partitionOf(first.user);
  delivery.message = receivedNumber(delivery);
  auto made = create<ReceiveOp>(like, first.use->get().getType(),
                                channels[delivery.channel], delivery.message);
  for (const Crossing *use : delivery.uses)
    use->use->set(made);
}

/// Collects, for each chain of products, the first op that uses its result in
/// the same role and loop. If the loop carries the chain, that op is in the
/// next iteration.
void Inserter::collectTakers() {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    PartitionAttr partition = partitionOf(op);
    if (!partition || !isTileOp(op))
      return;
    auto isTaken = [&](Operation *product, Operation *chain) {
      return chain != chains.firstOf(op) &&
             partition.getRole() == partitionOf(product).getRole() &&
             op->getParentOfType<scf::ForOp>() ==
                 product->getParentOfType<scf::ForOp>();
    };
    for (Value operand : op->getOperands()) {
      if (!isa<TileType>(operand.getType()))
        continue;
      for (const TileSource &source : sourcesOf(operand)) {
        Operation *chain = chains.firstOf(source.op());
        if (isa<DotOp>(source.op()) && isTaken(source.op(), chain))
          takers.try_emplace(chain, op);
      }
    }
  });
}

/// Returns the order of the release of the message that `product` reads. If the
/// role issues products of the next iteration after `product`, this is the
/// order of the last of them, otherwise the order of `taker`, which uses the
/// result.
static unsigned orderOfRelease(Operation *product, Operation *taker) {
  PartitionAttr own = partitionOf(product);
  unsigned last = own.getOrder();
  for (DotOp other : product->getBlock()->getOps<DotOp>())
    if (PartitionAttr partition = partitionOf(other);
        partition && partition.getRole() == own.getRole() &&
        partition.getStage() < own.getStage())
      last = std::max(last, partition.getOrder());
  return last > own.getOrder() ? last : partitionOf(taker).getOrder();
}

/// Inserts the release of an asynchronous product before the first op that uses
/// its result, with the product's stage and a new computation of the message's
/// number.
bool Inserter::insertAsyncRelease(Delivery &delivery) {
  const Crossing &last = *delivery.uses.back();
  PartitionAttr own = partitionOf(last.user);
  if (!family.asyncProducts || !isa<DotOp>(last.user))
    return false;
  Operation *taker = takers.lookup(chains.firstOf(last.user));
  if (!taker || !delivery.block->findAncestorOpInBlock(*taker) ||
      delivery.block != last.user->getBlock())
    return false;
  // In a loop that is not rotated, a taker before the product is one of the
  // next iteration.
  Operation *place = delivery.block->findAncestorOpInBlock(*taker);
  if (!isRotated(last.user) && place->isBeforeInBlock(last.user))
    return false;
  b.setInsertionPoint(place);
  Value number = receivedNumber(delivery);
  create<ReleaseOp>(PartitionAttr::get(b.getContext(), own.getRole(),
                                       own.getStage(),
                                       orderOfRelease(last.user, taker)),
                    channels[delivery.channel], number);
  return true;
}

/// Inserts the release after the messages that the last user sends itself.
void Inserter::insertRelease(Delivery &delivery) {
  if (insertAsyncRelease(delivery))
    return;
  const Crossing &last = *delivery.uses.back();
  Operation *anchor = delivery.block->findAncestorOpInBlock(*last.user);
  if (auto branch = dyn_cast<scf::IfOp>(anchor);
      branch && branch.elseBlock() && delivery.channel->repeats)
    return releaseInBranches(branch, delivery);
  Operation *after = lastAfter.lookup(anchor);
  b.setInsertionPointAfter(after ? after : anchor);
  lastAfter[anchor] = create<ReleaseOp>(
      partitionOf(last.user), channels[delivery.channel], delivery.message);
}

/// Inserts a release in each region of `branch`, after its last use of the
/// message, with the stage of that use:
///   scf.if %has { scf.for ...; tile.release %q[%c0]; ... }
///   else { tile.release %q[%c0] }
void Inserter::releaseInBranches(scf::IfOp branch, const Delivery &delivery) {
  Operation *user = delivery.uses.back()->user;
  PartitionAttr own = partitionOf(user);
  auto insert = [&](unsigned stage) {
    auto like = PartitionAttr::get(b.getContext(), own.getRole(), stage, 0);
    create<ReleaseOp>(like, channels[delivery.channel], delivery.message);
  };
  b.setInsertionPointAfter(branch.thenBlock()->findAncestorOpInBlock(*user));
  insert(own.getStage());
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  insert(0);
}

/// Inserts all releases. A message that is used in several stages is released
/// after the last of them.
void Inserter::insertReleases() {
  auto keyOf = [](const Delivery &delivery) {
    PartitionAttr partition = partitionOf(delivery.uses.front()->user);
    return std::pair(delivery.send, partition.getRole());
  };
  auto stageOf = [](const Delivery &delivery) {
    return partitionOf(delivery.uses.front()->user).getStage();
  };
  llvm::DenseMap<std::pair<const Send *, StringRef>, unsigned> last;
  for (const Delivery &delivery : deliveries) {
    unsigned &stage = last[keyOf(delivery)];
    stage = std::max(stage, stageOf(delivery));
  }
  llvm::stable_sort(deliveries, [](const Delivery &a, const Delivery &b) {
    return operandOf(*a.uses.back()) < operandOf(*b.uses.back());
  });
  if (family.asyncProducts)
    collectTakers();
  for (Delivery &delivery : deliveries)
    if (stageOf(delivery) == last.lookup(keyOf(delivery)) &&
        !delivery.isRepeated && delivery.channel->hasReleases() &&
        delivery.channel->isSentAfter(*delivery.send))
      insertRelease(delivery);
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

/// Returns the outermost loop around `op` that does not contain `point`, or
/// `op` if there is none. If `point` is null, it returns the outermost loop.
static Operation *outOfLoops(Operation *op, Operation *point) {
  Operation *found = op;
  for (auto loop = op->getParentOfType<scf::ForOp>();
       loop && (!point || !loop->isProperAncestor(point));
       loop = loop->getParentOfType<scf::ForOp>())
    found = loop;
  return found;
}

/// Inserts the acquire of a slot before the first op that writes it, the loop
/// that accumulates in it, or the branch whose regions both write it. The slot
/// becomes an operand of loads and moves.
void Inserter::insertAcquire(const PlannedChannel &channel, const Send &send) {
  Operation *maker = send.tile.getDefiningOp();
  bool isFree = channel.unreleased && !isa<LoadOpInterface>(maker);
  if (isFree)
    return;
  Operation *head = outOfLoops(chains.firstOf(maker), send.point);
  if (isa<scf::IfOp>(send.point) && send.point->isProperAncestor(head))
    head = send.point;
  b.setInsertionPoint(withSlices(head));
  Value slot =
      create<AcquireOp>(partitionOf(chains.firstOf(maker)), send.tile.getType(),
                        channels[&channel], sentNumber(channel, send));
  llvm::TypeSwitch<Operation *>(maker)
      .Case<LoadOpInterface, MoveOp>(
          [&](auto writer) { writer.getIntoMutable().assign(slot); })
      .Case([&](DotOp) {
        auto first = dyn_cast<DotOp>(chains.firstOf(maker));
        if (first && channel.depth() > 1)
          begunInSlot.push_back({first, slot});
      });
}

void Inserter::insertPublish(const PlannedChannel &channel, const Send &send) {
  b.setInsertionPointAfter(send.point);
  Value number = sentNumber(channel, send);
  lastAfter[send.point] = create<PublishOp>(
      partitionOf(send.tile.getDefiningOp()), channels[&channel], number);
}

/// Returns the innermost block, outside of loops, that contains all ops that
/// send messages of `channel`.
static Block *blockOfSends(const PlannedChannel &channel) {
  Operation *first = outOfLoops(channel.sends.front().point, nullptr);
  Block *block = first->getBlock();
  while (!llvm::all_of(channel.sends, [&](const Send &send) {
    return block->findAncestorOpInBlock(*send.point);
  }))
    block = block->getParentOp()->getBlock();
  return block;
}

/// Returns the conditions of the branches around `op` inside of `block`, the
/// outermost first, without those that guard a loop around it.
static SmallVector<Value> conditionsBetween(Block &block, Operation *op) {
  SmallVector<Value> conditions;
  for (Operation *at = op; at->getBlock() != &block; at = at->getParentOp())
    if (auto branch = dyn_cast<scf::IfOp>(at->getParentOp()))
      if (!testsLoopAround(branch.getCondition(), op))
        conditions.insert(conditions.begin(), branch.getCondition());
  return conditions;
}

/// Makes a producer acquire every slot again after its last message. Products
/// signal that a slot is free when they have read it, which may be after the
/// end of all roles.
void Inserter::insertDrain(const PlannedChannel &channel) {
  bool isLate =
      channel.hasReleases() && agentOf(channel.consumers.front()) == Agent::Mma;
  if (!channel.drains || !isLate)
    return;
  Block *block = blockOfSends(channel);
  Operation *last = nullptr;
  for (const Send &send : channel.sends) {
    Operation *op = block->findAncestorOpInBlock(*send.point);
    if (!last || last->isBeforeInBlock(op))
      last = op;
  }
  Operation *after = lastAfter.lookup(last);
  b.setInsertionPointAfter(after ? after : last);
  PartitionAttr maker = partitionOf(channel.sends.front().tile.getDefiningOp());
  auto own = PartitionAttr::get(b.getContext(), maker.getRole(), 0, 0);
  Value first = counter.numberAfter(channel, *block);
  for (Value condition :
       conditionsBetween(*block, channel.sends.front().point)) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  for (unsigned slot = 0; slot < channel.depth(); ++slot)
    create<AcquireOp>(own, channel.type, channels[&channel],
                      plus(b, first, slot));
}

/// Passes the acquired slot to the first product of each chain, which
/// overwrites it:
///   %s = tile.dot %q, %k  ->  %s = tile.dot %q, %k plus %slot if %false
static void passSlots(ImplicitLocOpBuilder &b,
                      ArrayRef<std::pair<DotOp, Value>> begun) {
  for (auto [product, slot] : begun) {
    b.setInsertionPoint(product);
    Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
    product.getAccMutable().assign(slot);
    product.getAccumulateMutable().assign(no);
  }
}

void Inserter::run() {
  declare();
  for (const PlannedChannel &channel : plan)
    collectDeliveries(channel);
  sortDeliveries();
  for (Delivery &delivery : deliveries)
    insertReceive(delivery);
  for (const PlannedChannel &channel : plan)
    for (const Send &send : channel.sends)
      insertAcquire(channel, send);
  for (const PlannedChannel &channel : plan)
    for (const Send &send : channel.sends)
      insertPublish(channel, send);
  insertReleases();
  for (const PlannedChannel &channel : plan)
    insertDrain(channel);
  passSlots(b, begunInSlot);
}

struct TileInsertChannelsPass
    : public fmha::tile::impl::TileInsertChannelsBase<TileInsertChannelsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    FailureOr<KernelInfo> info = readKernelInfo(getOperation());
    if (failed(info) ||
        failed(expectStage(getOperation(), KernelStage::Placed, getArgument())))
      return signalPassFailure();
    const PartitionFamily &family = partitionFamilyOf(info->schedule);
    ProductChains chains(getOperation());
    FailureOr<ChannelPlan> plan =
        planChannels(getOperation(), *info, family, chains);
    if (failed(plan))
      return signalPassFailure();
    Inserter(getOperation(), *plan, chains, family, *info).run();
  }
};

} // namespace
