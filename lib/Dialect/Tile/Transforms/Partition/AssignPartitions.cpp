//===- AssignPartitions.cpp - Assign a role to every op -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Common/PartitionFamily.h"
#include "ProgramCheck.h"
#include "TileFlow.h"
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "fmha/Dialect/Tile/Transforms/Passes.h"
#include "fmha/Kernel/KernelInfo.h"
#include "fmha/Schedule/Model/Turns.h"
#include "fmha/Target/Target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace fmha::tile {
#define GEN_PASS_DEF_TILEASSIGNPARTITIONS
#include "fmha/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fmha::tile

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;

namespace {

using Classes = llvm::EquivalenceClasses<Operation *>;

class Assigner {
public:
  Assigner(gpu::GPUFuncOp func, const PartitionFamily &family,
           const KernelInfo &info)
      : func(func), family(family), info(info) {}
  LogicalResult run();

private:
  struct Edge {
    TileSource source;
    Operation *user;
  };

  void eraseUnused();
  void collect();
  const RoleRule *ruleOf(Operation *op);
  const RoleRule *ruleByNeighbors(Operation *op);
  LogicalResult findRules();
  void findInstances();
  bool isFedBy(Operation *op, const Edge &edge);
  bool holdsBlock(ArrayRef<Operation *> products);
  unsigned roundsOf(Operation *op);
  unsigned orderAfterProducts(Operation *op);
  void orderWithProduct(Operation *op, unsigned order);
  void orderProducts();
  void orderLoads(ArrayRef<Operation *> products);
  void orderLoop(ArrayRef<Operation *> products);
  bool sharesProducts(ArrayRef<Operation *> products);
  void assignSlices();
  StringRef nameOf(const RoleRule &rule);
  void write();

  gpu::GPUFuncOp func;
  const PartitionFamily &family;
  const KernelInfo &info;
  /// Ops that a role executes, in program order.
  SmallVector<Operation *> ops;
  SmallVector<Edge> edges;
  llvm::DenseMap<Operation *, SmallVector<unsigned>> edgesOf;
  llvm::DenseMap<Operation *, const RoleRule *> rules;
  llvm::DenseMap<Operation *, unsigned> instances, rounds, ordersAfter;
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> stageAndOrder;
};

void Assigner::collect() {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isTileOp(op) || isMemorySlice(op))
      return;
    ops.push_back(op);
    for (Value operand : op->getOperands()) {
      if (!isa<TileType>(operand.getType()))
        continue;
      for (TileSource &source : sourcesOf(operand)) {
        for (Operation *end : {source.op(), op})
          edgesOf[end].push_back(edges.size());
        edges.push_back({source, op});
      }
    }
  });
}

/// Whether `op` is a move or fill, whose role is that of its neighbors.
static bool isNeutral(Operation *op) { return isa<MoveOp, FillOp>(op); }

const RoleRule *Assigner::ruleOf(Operation *op) {
  if (PartitionAttr written = partitionOf(op))
    return family.findRole(written.getRole());
  if (isNeutral(op))
    return nullptr;
  const RoleRule *rule = llvm::find_if(
      family.roles, [&](const RoleRule &role) { return role.owns(op); });
  return rule == family.roles.end() ? nullptr : rule;
}

/// Returns the rule of a move or fill: a move to memory belongs to the role
/// that defines its input, a move or fill of registers to the role that uses
/// its result.
const RoleRule *Assigner::ruleByNeighbors(Operation *op) {
  bool toMemory = isa<MoveOp>(op) && isInMemory(op->getResult(0));
  for (unsigned number : edgesOf[op]) {
    const Edge &edge = edges[number];
    Operation *other = toMemory ? edge.source.op() : edge.user;
    if (other != op)
      if (const RoleRule *rule = rules.lookup(other))
        return rule;
  }
  return nullptr;
}

LogicalResult Assigner::findRules() {
  for (Operation *op : ops) {
    rules[op] = ruleOf(op);
    if (PartitionAttr written = partitionOf(op); written && !rules[op])
      return op->emitOpError()
             << "expected a role that the target's kernels have, got \""
             << written.getRole() << '"';
  }
  // A move may depend on another one.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : ops)
      if (!rules[op])
        changed |= (rules[op] = ruleByNeighbors(op)) != nullptr;
  }
  return success();
}

/// Numbers the classes of `members` in the order of their first op.
static llvm::DenseMap<Operation *, unsigned>
number(const Classes &classes, ArrayRef<Operation *> members) {
  llvm::DenseMap<Operation *, unsigned> numbers, made;
  for (Operation *op : members)
    made[op] = numbers.try_emplace(classes.getLeaderValue(op), numbers.size())
                   .first->second;
  return made;
}

/// Numbers the instances of roles: ops of a role that share tiles, and the
/// products on these, are one instance.
void Assigner::findInstances() {
  Classes classes;
  SmallVector<Operation *> members;
  auto isMember = [&](Operation *op) {
    const RoleRule *rule = rules.lookup(op);
    return rule && (rule->perInstance || isa<DotOp>(op));
  };
  for (Operation *op : ops)
    if (isMember(op)) {
      members.push_back(op);
      classes.insert(op);
    }
  for (const Edge &edge : edges)
    if (isMember(edge.source.op()) && isMember(edge.user))
      classes.unionSets(edge.source.op(), edge.user);
  instances = number(classes, members);
}

/// Whether `edge` ends at `op` and has a tile of the same iteration.
bool Assigner::isFedBy(Operation *op, const Edge &edge) {
  return edge.user == op && edge.source.isOfThisIteration() &&
         edge.source.op()->getParentOfType<scf::ForOp>() ==
             op->getParentOfType<scf::ForOp>();
}

/// Returns how often data passes from a product to another role and back,
/// within one iteration, before `op` can run.
unsigned Assigner::roundsOf(Operation *op) {
  auto [known, isNew] = rounds.try_emplace(op, 0);
  if (!isNew)
    return known->second;
  unsigned most = 0;
  for (unsigned number : edgesOf[op]) {
    const Edge &edge = edges[number];
    Operation *from = edge.source.op();
    if (isFedBy(op, edge))
      most = std::max(most,
                      roundsOf(from) + (isa<DotOp>(from) && !isa<DotOp>(op)));
  }
  return rounds[op] = most;
}

/// Returns the order of the last product that `op` depends on; 0 if there is
/// none.
unsigned Assigner::orderAfterProducts(Operation *op) {
  if (isa<DotOp>(op))
    return stageAndOrder.lookup(op).second;
  auto [known, isNew] = ordersAfter.try_emplace(op, 0);
  if (!isNew)
    return known->second;
  unsigned last = 0;
  for (unsigned number : edgesOf[op])
    if (isFedBy(op, edges[number]))
      last = std::max(last, orderAfterProducts(edges[number].source.op()));
  return ordersAfter[op] = last;
}

/// Orders the ops of the role that `op` depends on, except products, before the
/// product with `order`, unless they are before an earlier one.
void Assigner::orderWithProduct(Operation *op, unsigned order) {
  for (unsigned number : edgesOf[op]) {
    Operation *from = edges[number].source.op();
    if (!isFedBy(op, edges[number]) || rules.lookup(from) != rules.lookup(op) ||
        isa<DotOp>(from) || stageAndOrder.contains(from))
      continue;
    stageAndOrder[from] = {0, order};
    orderWithProduct(from, order);
  }
}

/// Returns whether tile.partition gives some of `products` to another instance
/// of the role.
bool Assigner::sharesProducts(ArrayRef<Operation *> products) {
  return llvm::any_of(products, [&](Operation *op) {
    return partitionOf(op) && rules.lookup(op)->perInstance;
  });
}

/// Returns whether `product` makes a tile of several stages.
static bool hasStages(Operation *product) {
  return cast<TileType>(product->getResult(0).getType()).getStages() > 1;
}

/// Returns whether each ring holds all messages of an iteration that `products`
/// read.
bool Assigner::holdsBlock(ArrayRef<Operation *> products) {
  llvm::DenseMap<int64_t, llvm::SmallPtrSet<Operation *, 4>> loads;
  for (Operation *product : products)
    for (unsigned number : edgesOf[product]) {
      Operation *load = edges[number].source.op();
      if (!isFedBy(product, edges[number]) || !isa<LoadOpInterface>(load))
        continue;
      auto type = cast<TileType>(load->getResult(0).getType());
      SmemAttr ring = type.getSmem();
      if (ring && loads[ring.getOffset()].insert(load).second &&
          loads[ring.getOffset()].size() > type.getStages())
        return false;
    }
  return true;
}

/// Gives a load the stage and order of the first product that reads it, so that
/// K of the next block is loaded before V of this one. If products of both
/// stages read a ring, its loads stay in program order, because its messages
/// are numbered in that order.
void Assigner::orderLoads(ArrayRef<Operation *> products) {
  llvm::MapVector<Operation *, std::pair<unsigned, unsigned>> loads;
  llvm::DenseMap<int64_t, unsigned> stagesOfRing;
  auto placeOf = [](Operation *load) {
    return cast<TileType>(load->getResult(0).getType()).getSmem();
  };
  for (Operation *product : products)
    for (unsigned number : edgesOf[product]) {
      Operation *load = edges[number].source.op();
      if (!isFedBy(product, edges[number]) || !isa<LoadOpInterface>(load) ||
          !placeOf(load))
        continue;
      auto own = stageAndOrder.lookup(product);
      loads.insert({load, own});
      stagesOfRing[placeOf(load).getOffset()] |= 1 << own.first;
    }
  for (auto &[load, first] : loads)
    if (stagesOfRing[placeOf(load).getOffset()] != 3)
      stageAndOrder[load] = first;
}

/// Returns whether `products` take the tensor core at least as long as an SM of
/// `gpu` needs for an exponential of each element of the early ones.
static bool boundTensorCore(const target::Target &gpu,
                            ArrayRef<Operation *> products,
                            llvm::function_ref<bool(Operation *)> isEarly) {
  int64_t all = 0, elements = 0;
  for (Operation *op : products) {
    auto dot = cast<DotOp>(op);
    TileType type = dot.getType();
    int64_t size = type.getRows() * type.getColumns();
    all += size * cast<TileType>(dot.getA().getType()).getColumns();
    elements += isEarly(op) ? size : 0;
  }
  return elements && all >= elements * schedule::multiplicationsOfTurns(gpu);
}

/// Orders the ops of a loop. Products of an instance are consecutive, those of
/// the later stage first or last. After the first products of all instances
/// come the later ones if the next block has free slots: a result has several
/// stages, or nothing that is read later lies over any of them. But if the
/// tensor core bounds the loop, both products of an instance stay together:
/// then instances take turns, and it has work while one computes. The later
/// ones come first if consumers share them: all multiply by V at the same time,
/// and then release it. Other ops of the role come after all products, but ops
/// that products of the first stage depend on before those, and ops that depend
/// on products of the later stage after those. In
///   %s = tile.dot ...; %p = tile.cast %s; %t = tile.dot %p, ...
///   %q = tile.cast %t; %u = tile.dot %q, ...
/// an iteration has %t, %q, %u of this block, and then %s, %p of the next one.
void Assigner::orderLoop(ArrayRef<Operation *> products) {
  SmallVector<Operation *> sorted(products);
  auto later = llvm::filter_to_vector(
      products, [&](Operation *op) { return roundsOf(op) > 0; });
  bool areFree = llvm::all_of(products, [&](Operation *op) {
    return roundsOf(op) || isFreeBefore(op, later);
  });
  bool isStaged =
      llvm::any_of(products, hasStages) || (areFree && holdsBlock(products));
  bool laterFirst =
      (family.laterStageFirst && !isStaged) || sharesProducts(products);
  bool stagesFirst =
      !boundTensorCore(*target::findTarget(info.schedule.target), products,
                       [&](Operation *op) { return !roundsOf(op); });
  auto key = [&](Operation *op) {
    unsigned stage = std::min(roundsOf(op), 1u), instance = instances[op];
    return isStaged ? stagesFirst ? std::pair(stage, instance)
                                  : std::pair(instance, stage)
                    : std::pair(instance, laterFirst ? 1 - stage : stage);
  };
  llvm::stable_sort(
      sorted, [&](Operation *a, Operation *b) { return key(a) < key(b); });
  bool rotates =
      llvm::any_of(sorted, [&](Operation *op) { return roundsOf(op); });
  if (!rotates)
    return;
  for (auto [order, op] : llvm::enumerate(sorted))
    stageAndOrder[op] = {std::min(roundsOf(op), 1u), order};
  for (auto [order, op] : llvm::enumerate(sorted))
    if (!roundsOf(op))
      orderWithProduct(op, order);
  if (isStaged)
    orderLoads(sorted);
  Operation *loop = products.front()->getParentOfType<scf::ForOp>();
  for (Operation *op : ops)
    if (rules.lookup(op) == rules.lookup(products.front()) &&
        !stageAndOrder.contains(op) &&
        op->getParentOfType<scf::ForOp>() == loop) {
      if (roundsOf(op) > 1)
        stageAndOrder[op] = {1, orderAfterProducts(op)};
      else
        stageAndOrder[op] = {0, products.size()};
    }
}

void Assigner::orderProducts() {
  llvm::MapVector<Operation *, SmallVector<Operation *>> loops;
  for (Operation *op : ops)
    if (auto loop = op->getParentOfType<scf::ForOp>(); loop && isa<DotOp>(op))
      loops[loop].push_back(op);
  // A loop around another one keeps its order.
  for (auto &[loop, products] : loops)
    if (llvm::none_of(loops, [around = loop](auto &other) {
          return around->isProperAncestor(other.first);
        }))
      orderLoop(products);
}

/// Clones slices of memory, which are only addresses, for each user.
///   %k0 = tile.slice %k ...; tile.dot %q, %k0; tile.dot %p, %k0
/// ->
///   %k0 = tile.slice %k ...; tile.dot %q, %k0
///   %k1 = tile.slice %k ...; tile.dot %p, %k1
void Assigner::assignSlices() {
  SmallVector<Operation *> slices;
  func.walk([&](SliceOp op) {
    if (isMemorySlice(op))
      slices.push_back(op);
  });
  for (Operation *slice : slices) {
    for (OpOperand &use : llvm::make_early_inc_range(slice->getUses())) {
      PartitionAttr partition = partitionOf(use.getOwner());
      if (!partition)
        continue;
      Operation *own = OpBuilder(use.getOwner()).clone(*slice);
      setPartition(own, partition);
      use.set(own->getResult(0));
    }
    if (slice->use_empty())
      slice->erase();
  }
}

/// Returns the role name of `rule`, without an instance number. If the author
/// of a program wrote the name that attention uses, that name is kept.
StringRef Assigner::nameOf(const RoleRule &rule) {
  auto isOld = [&](StringRef role) { return rule.isNamed(role, rule.name); };
  bool keepsOld = !info.isProgram || rule.programName.empty() ||
                  llvm::any_of(info.schedule.roles,
                               [&](const schedule::Role &role) {
                                 return isOld(role.name);
                               }) ||
                  llvm::any_of(ops, [&](Operation *op) {
                    return partitionOf(op) && isOld(partitionOf(op).getRole());
                  });
  return keepsOld ? rule.name : rule.programName;
}

void Assigner::write() {
  llvm::DenseMap<const RoleRule *, StringRef> names;
  for (const RoleRule &rule : family.roles)
    names[&rule] = nameOf(rule);
  for (Operation *op : ops) {
    const RoleRule *rule = rules.lookup(op);
    if (!rule || partitionOf(op))
      continue;
    std::string name(names[rule]);
    if (rule->perInstance)
      name += std::to_string(instances[op]);
    auto [stage, order] = stageAndOrder.lookup(op);
    setPartition(op, PartitionAttr::get(op->getContext(), name, stage, order));
  }
}

/// Moves the computation of bounds of inner loops out of the loops that do not
/// change it.
static void hoistBounds(gpu::GPUFuncOp func) {
  SetVector<Operation *> makers;
  func.walk([&](scf::ForOp loop) {
    for (Value bound :
         {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      if (Operation *maker = bound.getDefiningOp())
        makers.insert(maker);
  });
  for (size_t n = 0; n < makers.size(); ++n)
    for (Value operand : makers[n]->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        makers.insert(maker);
  func.walk([&](scf::ForOp loop) {
    moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *) {
          return loop.isDefinedOutsideOfLoop(value);
        },
        [&](Operation *op, Region *) {
          return makers.contains(op) && isPure(op) && !isTileOp(op);
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  });
}

/// Erases ops whose tiles have no users: no role would wait until their memory
/// is free.
void Assigner::eraseUnused() {
  func.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isTileOp(op) && op->getNumResults() && op->use_empty())
      op->erase();
  });
}

LogicalResult Assigner::run() {
  if (failed(checkProgram(func)))
    return failure();
  eraseUnused();
  collect();
  if (failed(findRules()))
    return failure();
  findInstances();
  if (!family.hasOneRole)
    orderProducts();
  write();
  assignSlices();
  return success();
}

/// Returns the roles of the ops of `func`, with their warps.
std::vector<schedule::Role> rolesOf(gpu::GPUFuncOp func,
                                    const PartitionFamily &family) {
  SetVector<StringRef> names;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (PartitionAttr partition = partitionOf(op))
      names.insert(partition.getRole());
  });
  return layOutRoles(family, names.getArrayRef());
}

/// Writes the roles of `func`, a program, which are `given` or, if that is
/// empty, those of its ops, and the number of threads of the CTA.
LogicalResult writeRoles(gpu::GPUFuncOp func, const PartitionFamily &family,
                         const std::vector<schedule::Role> &given) {
  std::vector<schedule::Role> roles =
      given.empty() ? rolesOf(func, family) : given;
  int32_t threads = 0;
  for (const schedule::Role &role : roles)
    threads = std::max<int32_t>(threads, (role.firstWarp + role.warps) *
                                             target::warpThreads);
  if (!threads)
    return func.emitError() << "expected an op that stores a tile, got none "
                               "with an effect";
  if (threads > int32_t(target::Target::maxThreadsPerCta))
    return func.emitError()
           << "needs " << threads << " threads for " << roles.size()
           << " roles, but a CTA has at most "
           << target::Target::maxThreadsPerCta
           << "; expected fewer sets of rows that share no tile";
  MLIRContext *ctx = func.getContext();
  auto attributes =
      llvm::map_to_vector(roles, [&](const schedule::Role &role) -> Attribute {
        return RoleAttr::get(ctx, role);
      });
  auto kernel = func->getAttrOfType<KernelAttr>("tile.kernel");
  func->setAttr("tile.kernel",
                KernelAttr::get(ctx, kernel.getTarget(), kernel.getMemory(),
                                kernel.getBoxRows(), kernel.getSequences(),
                                ArrayAttr::get(ctx, attributes)));
  if (!func.getKnownBlockSizeAttr())
    func.setKnownBlockSizeAttr(DenseI32ArrayAttr::get(ctx, {threads, 1, 1}));
  return success();
}

struct TileAssignPartitionsPass
    : public fmha::tile::impl::TileAssignPartitionsBase<
          TileAssignPartitionsPass> {
  void runOnOperation() override {
    if (!isTiledKernel(getOperation()))
      return;
    gpu::GPUFuncOp func = getOperation();
    FailureOr<KernelInfo> info = readKernelInfo(func);
    if (failed(info) ||
        failed(expectStage(func, KernelStage::Placed, getArgument())))
      return signalPassFailure();
    const PartitionFamily &family = partitionFamilyOf(info->schedule);
    if (info->isProgram)
      hoistBounds(func);
    if (failed(Assigner(func, family, *info).run()) ||
        (info->isProgram &&
         failed(writeRoles(func, family, info->schedule.roles))))
      signalPassFailure();
  }
};

} // namespace
