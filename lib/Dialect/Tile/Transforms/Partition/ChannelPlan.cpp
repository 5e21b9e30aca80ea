//===- ChannelPlan.cpp - Plan the channels of a program -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelPlan.h"
#include "Loops.h"
#include "TileExtent.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

//===----------------------------------------------------------------------===//
// Structure of the program
//===----------------------------------------------------------------------===//

ProductChains::ProductChains(gpu::GPUFuncOp func) {
  func.walk<WalkOrder::PreOrder>([&](DotOp dot) {
    Operation *before = dot.getAcc() ? dot.getAcc().getDefiningOp() : nullptr;
    if (isa_and_nonnull<DotOp>(before) &&
        before->getBlock() == dot->getBlock() && partitionOf(before) &&
        partitionOf(dot) &&
        partitionOf(before).getRole() == partitionOf(dot).getRole())
      firsts[dot] = firstOf(before);
  });
}

Operation *ProductChains::firstOf(Operation *op) const {
  Operation *first = firsts.lookup(op);
  return first ? first : op;
}

Operation *fmha::tile::withSlices(Operation *op) {
  while (Operation *before = op->getPrevNode()) {
    if (!isMemorySlice(before))
      break;
    op = before;
  }
  return op;
}

bool fmha::tile::isUnderSameCondition(scf::IfOp branch, Operation *user) {
  if (branch->isProperAncestor(user))
    return true;
  for (auto other = user->getParentOfType<scf::IfOp>(); other;
       other = other->getParentOfType<scf::IfOp>())
    if (other.getCondition() == branch.getCondition() &&
        other.thenBlock()->findAncestorOpInBlock(*user))
      return true;
  return false;
}

/// Returns the op after which a message is sent. If the users are not in the
/// branch or loop of `maker`, this is that branch or loop.
static Operation *sendPoint(Operation *maker, ArrayRef<Operation *> users) {
  auto isLeft = [&](Operation *parent) {
    if (auto branch = dyn_cast<scf::IfOp>(parent))
      return llvm::none_of(users, [&](Operation *user) {
        return isUnderSameCondition(branch, user);
      });
    return isa<scf::ForOp>(parent) &&
           llvm::none_of(users, [&](Operation *user) {
             return parent->isProperAncestor(user);
           });
  };
  Operation *point = maker;
  while (isLeft(point->getParentOp()))
    point = point->getParentOp();
  return point;
}

bool PlannedChannel::isSentAfter(const Send &send) const {
  return repeats || send.point->getParentOfType<scf::ForOp>() ||
         send.point != sends.back().point;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// Where a place starts: whether it is in tensor memory, its first lane, and
/// its first column or byte.
using Place = std::tuple<bool, unsigned, int64_t>;

} // namespace

static Place startOf(TileType type) {
  TileExtent extent = TileExtent::of(type);
  return {extent.inTmem, extent.lane, extent.begin};
}

static bool areReverse(const PlannedChannel &a, const PlannedChannel &b) {
  return a.consumers.contains(b.producer) && b.consumers.contains(a.producer);
}

/// Whether a consumer of `channel` overwrites its messages with those of
/// `next`, so that the slots of both are free when those of `next` are:
///   queries: load -> consumer, output over them: consumer -> store
/// Of channels between the same roles, each overwrites the other one.
static bool takesOver(const PlannedChannel &next,
                      const PlannedChannel &channel) {
  return channel.repeats && &next != &channel && !areReverse(next, channel) &&
         TileExtent::of(next.type).overlaps(TileExtent::of(channel.type)) &&
         channel.consumers.contains(next.producer);
}

/// Returns the chain of products that all users of `channel` belong to; null if
/// there are several.
static Operation *onlyChain(const PlannedChannel &channel,
                            const ProductChains &chains) {
  Operation *chain = chains.firstOf(channel.uses.front().user);
  bool all = llvm::all_of(channel.uses, [&](const Crossing &use) {
    return isa<DotOp>(use.user) && chains.firstOf(use.user) == chain;
  });
  return all ? chain : nullptr;
}

//===----------------------------------------------------------------------===//
// Planner
//===----------------------------------------------------------------------===//

namespace {

class Planner {
public:
  Planner(gpu::GPUFuncOp func, const KernelInfo &info,
          const PartitionFamily &family, const ProductChains &chains)
      : func(func), info(info), family(family), chains(chains) {}
  FailureOr<ChannelPlan> run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult visitUse(Operation *user, OpOperand &use);
  PlannedChannel &channelOf(Value tile);
  void planSends(PlannedChannel &channel);
  void countSends(PlannedChannel &channel);
  LogicalResult checkSends(const PlannedChannel &channel);
  LogicalResult checkConsumers(const PlannedChannel &channel);
  LogicalResult checkStages(const PlannedChannel &channel);
  void decideReleases(PlannedChannel &channel);
  void joinChains();
  std::tuple<bool, unsigned, size_t> nameChannel(PlannedChannel &channel);
  void nameChannels();
  bool isIn(StringRef region, TileType type, StringRef &number);

  gpu::GPUFuncOp func;
  const KernelInfo &info;
  const PartitionFamily &family;
  const ProductChains &chains;
  ChannelPlan plan;
  /// Channels by producer and start of their place.
  std::map<std::pair<StringRef, Place>, PlannedChannel *> byPlace;
};

LogicalResult Planner::visitUse(Operation *user, OpOperand &use) {
  StringRef role = partitionOf(user).getRole();
  if (!family.findRole(role))
    return user->emitOpError()
           << "expected a role that the target's kernels have, got \"" << role
           << '"';
  std::optional<TileSource> other;
  SmallVector<TileSource> sources = sourcesOf(use.get());
  for (TileSource &source : sources) {
    PartitionAttr maker = partitionOf(source.op());
    if (!maker)
      return source.op()->emitOpError() << "expected a tile.partition; run "
                                           "tile-assign-partitions first";
    if (maker.getRole() == role)
      continue;
    if (!isInMemory(source.value))
      return user->emitOpError()
             << "role \"" << role << "\" uses a tile that role \""
             << maker.getRole()
             << "\" has in registers: expected a tile.move through shared or "
                "tensor memory";
    if (other && partitionOf(other->op()).getRole() != maker.getRole())
      return user->emitOpError() << "expected one role to make the tile, got \""
                                 << partitionOf(other->op()).getRole()
                                 << "\" and \"" << maker.getRole() << '"';
    // Both branches may write the tile in place, but only one op may have the
    // slot as an operand.
    bool namesSlot = isa<LoadOpInterface, MoveOp>(source.op());
    bool isOther =
        other && other->op() != source.op() &&
        (namesSlot || other->isOfThisIteration() != source.isOfThisIteration());
    if (isOther || source.previous.size() > 1)
      return user->emitOpError() << "expected one op to make the tile, in this "
                                    "iteration or the one "
                                    "before";
    if (!other)
      other = source;
  }
  if (other)
    channelOf(other->value).uses.push_back({*other, &use, user});
  return success();
}

LogicalResult Planner::visit(Operation *op) {
  if (!isTileOp(op) || isMemorySlice(op) || !partitionOf(op))
    return success();
  SmallVector<OpOperand *> uses;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<TileType>(operand.get().getType()))
      continue;
    Operation *maker = operand.get().getDefiningOp();
    uses.push_back(maker && isMemorySlice(maker) ? &maker->getOpOperand(0)
                                                 : &operand);
  }
  for (OpOperand *use : uses)
    if (failed(visitUse(op, *use)))
      return failure();
  return success();
}

PlannedChannel &Planner::channelOf(Value tile) {
  StringRef producer = partitionOf(tile.getDefiningOp()).getRole();
  auto type = cast<TileType>(tile.getType());
  PlannedChannel *&known = byPlace[{producer, startOf(type)}];
  if (known) {
    if (known->type.getBytes() < type.getBytes())
      known->type = type;
    return *known;
  }
  PlannedChannel &made = plan.emplace_back();
  known = &made;
  made.producer = producer.str();
  made.type = type;
  made.repeats = runsAhead(info);
  return made;
}

/// Checks that `loop` has the same bounds in all iterations of the loops around
/// it.
static LogicalResult checkBounds(scf::ForOp loop) {
  auto around = loop->getParentOfType<scf::ForOp>();
  if (!around || areBoundsInvariant(loop, around))
    return success();
  return loop.emitOpError()
         << "holds an op that sends a tile to another role: expected as many "
            "iterations in all iterations of the loop around it";
}

/// Returns the conditions of the branches around `op`, the innermost first,
/// without those that guard a loop around it. Fails if a condition may differ
/// from iteration to iteration, or `op` is in an else branch.
static FailureOr<SmallVector<Value>> conditionsAround(gpu::GPUFuncOp func,
                                                      Operation *op) {
  SmallVector<Value> conditions;
  for (Operation *point = op; op != func; op = op->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
    if (!branch)
      continue;
    if (branch.getCondition().getParentBlock() != &func.getBody().front() ||
        op->getBlock() != branch.thenBlock())
      return failure();
    if (!testsLoopAround(branch.getCondition(), point))
      conditions.push_back(branch.getCondition());
  }
  return conditions;
}

/// Checks that all roles can count the messages of `channel`: every role has
/// the loops around its sends, and all sends are under the same conditions,
/// which do not change while the kernel runs.
LogicalResult Planner::checkSends(const PlannedChannel &channel) {
  std::optional<SmallVector<Value>> expected;
  for (const Send &send : channel.sends) {
    for (auto loop = send.point->getParentOfType<scf::ForOp>(); loop;
         loop = loop->getParentOfType<scf::ForOp>())
      if (failed(checkBounds(loop)))
        return failure();
    Operation *maker = send.tile.getDefiningOp();
    FailureOr<SmallVector<Value>> found = conditionsAround(func, send.point);
    if (failed(found))
      return maker->emitOpError()
             << "sends a tile to another role: expected it under conditions of "
                "the whole kernel only";
    if (!expected)
      expected = *found;
    if (*found != *expected)
      return maker->emitOpError()
             << "sends a tile through memory that other tiles pass, too: "
                "expected it under the same conditions as those";
  }
  return success();
}

/// Checks the consumers of `channel`: all signal by the same agent, and each
/// receives every message, because a slot is free when all have signaled.
LogicalResult Planner::checkConsumers(const PlannedChannel &channel) {
  ArrayRef<StringRef> roles = channel.consumers.getArrayRef();
  for (StringRef role : roles)
    if (family.findRole(role)->agent != family.findRole(roles[0])->agent)
      return channel.uses.front().user->emitOpError()
             << "takes tiles that role \"" << role
             << "\" takes, too: expected consumers that signal alike, threads, "
                "MMA or TMA; load or move the tile once for each";
  llvm::SetVector<std::pair<Value, StringRef>> taken;
  for (const Crossing &use : channel.uses)
    taken.insert({use.source.value, partitionOf(use.user).getRole()});
  for (const Send &send : channel.sends)
    for (StringRef role : roles)
      if (!taken.contains({send.tile, role}))
        return send.tile.getDefiningOp()->emitOpError()
               << "makes a tile that role \"" << role
               << "\" does not use, in memory that passes other tiles to "
                  "it: expected another region";
  return success();
}

/// Checks a ring in tensor memory: each message begins in a slot, and channels
/// over one another have as many stages, since one release frees the slots of
/// both.
LogicalResult Planner::checkStages(const PlannedChannel &channel) {
  if (!channel.type.getTmem())
    return success();
  for (const Send &send : channel.sends) {
    Operation *maker = send.tile.getDefiningOp();
    auto first = dyn_cast<DotOp>(chains.firstOf(maker));
    if (channel.depth() > 1 && !isa<MoveOp>(maker) &&
        !(first && !first.getAcc()))
      return maker->emitOpError()
             << "updates a tile in place, in tensor memory of "
             << channel.depth()
             << " stages: expected one stage, or a product that begins the "
                "tile";
    if (channel.releasedBy && channel.releasedBy->depth() != channel.depth())
      return maker->emitOpError()
             << "makes a tile of " << channel.depth()
             << (channel.depth() == 1 ? " stage" : " stages")
             << " over another one of " << channel.releasedBy->depth()
             << ": expected equally many";
  }
  return success();
}

void Planner::planSends(PlannedChannel &channel) {
  llvm::MapVector<Value, SmallVector<Operation *>> users;
  for (const Crossing &use : channel.uses) {
    users[use.source.value].push_back(use.user);
    channel.consumers.insert(partitionOf(use.user).getRole());
  }
  for (auto &[tile, all] : users)
    channel.sends.push_back({tile, sendPoint(tile.getDefiningOp(), all)});
  for (const Send &send : channel.sends)
    ++channel.sentAt[send.point];
  countSends(channel);
}

/// Counts the sends before each op that is the point of a send or contains one.
void Planner::countSends(PlannedChannel &channel) {
  llvm::MapVector<Block *, llvm::SetVector<Operation *>> members;
  for (const Send &send : channel.sends)
    for (Operation *op = send.point; op != func; op = op->getParentOp())
      if (!members[op->getBlock()].insert(op))
        break;
  for (auto &[block, all] : members) {
    SmallVector<Operation *> ops = all.takeVector();
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    BlockSends &sends = channel.sendsIn[block];
    for (Operation *op : ops) {
      channel.sendsBefore[op] = {sends.plain, unsigned(sends.nested.size())};
      if (isa<scf::ForOp, scf::IfOp>(op))
        sends.nested.push_back(op);
      else
        ++sends.plain;
    }
  }
}

/// Decides which release frees the slots of `channel`. A channel of one message
/// needs none, nor does an accumulator that two roles update in turn. If a
/// message in the other direction overwrites the same memory, its release frees
/// both:
///   S: mma -> softmax, P over it: softmax -> mma
void Planner::decideReleases(PlannedChannel &channel) {
  channel.drains = info.isProgram;
  channel.unreleased =
      channel.sends.size() == 1 && !channel.isSentAfter(channel.sends.front());
  for (PlannedChannel &other : plan) {
    if (takesOver(other, channel))
      channel.releasedBy = &other;
    if (&other == &channel || !areReverse(channel, other))
      continue;
    if (channel.type == other.type && channel.consumers.size() == 1 &&
        other.consumers.size() == 1)
      channel.unreleased = true;
    else if (TileExtent::of(channel.type)
                 .overlaps(TileExtent::of(other.type)) &&
             isa<DotOp>(other.uses.front().user))
      channel.releasedBy = &other;
  }
}

/// Whether messages of `channel` are sent in the same loop in which `chain`
/// runs.
static bool isSentWith(const PlannedChannel &channel, Operation *chain) {
  return llvm::all_of(channel.sends, [&](const Send &send) {
    return send.point->getParentOfType<scf::ForOp>() ==
           chain->getParentOfType<scf::ForOp>();
  });
}

/// Makes the release of the last message that a chain of products uses free all
/// messages of that chain. Of rings, those in tensor memory have one message of
/// a channel in each chain.
void Planner::joinChains() {
  llvm::MapVector<std::tuple<StringRef, Operation *, unsigned>,
                  SmallVector<PlannedChannel *>>
      joined;
  for (PlannedChannel &channel : plan)
    if (channel.hasReleases() &&
        (channel.depth() == 1 || channel.type.getTmem()))
      if (Operation *chain = onlyChain(channel, chains);
          chain && isSentWith(channel, chain))
        joined[{channel.producer, chain, channel.depth()}].push_back(&channel);
  for (auto &[chain, channels] : joined) {
    llvm::stable_sort(channels, [](PlannedChannel *a, PlannedChannel *b) {
      return a->uses.back().user->isBeforeInBlock(b->uses.back().user);
    });
    for (PlannedChannel *channel : ArrayRef(channels).drop_back())
      channel->releasedBy = channels.back();
  }
  for (PlannedChannel &channel : plan)
    while (channel.releasedBy && channel.releasedBy->releasedBy)
      channel.releasedBy = channel.releasedBy->releasedBy;
}

/// Whether the start of `type` is in a region of the memory map with that name,
/// perhaps followed by a number.
bool Planner::isIn(StringRef name, TileType type, StringRef &number) {
  auto isCalled = [&](const std::string &region) {
    number = region;
    return number.consume_front(name) && llvm::all_of(number, llvm::isDigit);
  };
  if (TmemAttr tmem = type.getTmem())
    return llvm::any_of(info.map.tmem, [&](const schedule::TmemRegion &region) {
      return isCalled(region.name) && region.lane == tmem.getLane() &&
             tmem.getColumn() >= region.column &&
             tmem.getColumn() < region.end();
    });
  unsigned offset = type.getSmem().getOffset();
  return llvm::any_of(info.map.smem, [&](const schedule::SmemRegion &region) {
    return isCalled(region.name) && offset >= region.offset &&
           offset < region.offset + region.bytes * region.stages;
  });
}

/// Names `channel`, and returns its sort key: rings that all instances share
/// come first.
std::tuple<bool, unsigned, size_t>
Planner::nameChannel(PlannedChannel &channel) {
  const RoleRule *role = family.findRole(channel.producer);
  for (auto [rank, rule] : llvm::enumerate(family.channels)) {
    StringRef number;
    bool isThere = rule.with.empty() || info.map.findSmem(rule.with) ||
                   info.map.findTmem(rule.with);
    if (family.findRole(rule.producer) != role || !isThere ||
        !isIn(rule.region, channel.type, number))
      continue;
    channel.name = (rule.name + number).str();
    unsigned instance = 0;
    bool isOwn = !number.getAsInteger(10, instance);
    return {isOwn, instance, rank};
  }
  channel.name = channel.producer + ".out";
  return {true, ~0u, family.channels.size()};
}

/// Channels of one name are parts of one tile: "p0.0", "p0.1", ...
void Planner::nameChannels() {
  llvm::DenseMap<const PlannedChannel *, std::tuple<bool, unsigned, size_t>>
      ranks;
  llvm::StringMap<SmallVector<PlannedChannel *>> named;
  for (PlannedChannel &channel : plan) {
    ranks[&channel] = nameChannel(channel);
    named[channel.name].push_back(&channel);
  }
  for (auto &entry : named) {
    SmallVector<PlannedChannel *> &same = entry.second;
    if (same.size() == 1)
      continue;
    llvm::stable_sort(same, [](PlannedChannel *a, PlannedChannel *b) {
      return startOf(a->type) < startOf(b->type);
    });
    for (auto [n, channel] : llvm::enumerate(same))
      channel->name += "." + std::to_string(n);
  }
  plan.sort([&](const PlannedChannel &a, const PlannedChannel &b) {
    return std::tie(ranks[&a], a.name) < std::tie(ranks[&b], b.name);
  });
}

FailureOr<ChannelPlan> Planner::run() {
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(visit(op)))
      return failure();
  for (PlannedChannel &channel : plan) {
    planSends(channel);
    if (failed(checkConsumers(channel)))
      return failure();
    if (failed(checkSends(channel)))
      return failure();
  }
  for (PlannedChannel &channel : plan)
    decideReleases(channel);
  for (const PlannedChannel &channel : plan)
    if (failed(checkStages(channel)))
      return failure();
  joinChains();
  nameChannels();
  return std::move(plan);
}

} // namespace

FailureOr<ChannelPlan> fmha::tile::planChannels(gpu::GPUFuncOp func,
                                                const KernelInfo &info,
                                                const PartitionFamily &family,
                                                const ProductChains &chains) {
  return Planner(func, info, family, chains).run();
}
