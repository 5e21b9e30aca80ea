//===- LoopGraphs.cpp - Graphs of the loops of a placed kernel ------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopGraphs.h"

#include "Common/PartitionFamily.h"
#include "OpCosts.h"
#include "TileExtent.h"
#include "TileFlow.h"
#include "fmha/Target/Target.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fmha;
using namespace fmha::tile;
using namespace fmha::schedule::modulo;

namespace {

/// A tile that an op reads or writes.
struct Access {
  unsigned op;
  TileType tile;
  /// Of a read: the op that writes the tile, and how many iterations before.
  unsigned writer = 0, distance = 0;
  Value value = {};
};

/// Counts the registers of the clusters of a graph.
class RegisterCounter {
public:
  RegisterCounter(GraphOfLoop &made, ArrayRef<Access> reads)
      : made(made), reads(reads) {
    findRoots();
  }
  void run();
  /// Returns, by op, the first op of the iteration whose result is in the same
  /// registers.
  ArrayRef<unsigned> getRoots() const { return roots; }

private:
  LoopGraph &graph() { return made.graph; }
  void findRoots();
  llvm::SetVector<unsigned> findHeld();
  unsigned mostAtOnce(unsigned cluster, const llvm::SetVector<unsigned> &held);

  GraphOfLoop &made;
  ArrayRef<Access> reads;
  SmallVector<unsigned> roots;
};

class GraphBuilder {
public:
  GraphBuilder(scf::ForOp loop, const KernelInfo &info)
      : info(info), family(partitionFamilyOf(info.schedule)),
        gpu(*target::findTarget(info.schedule.target)),
        times(gpu, info.schedule.ctaGroup,
              info.schedule.rescaleThreshold == 0) {
    made.loop = loop;
  }
  GraphOfLoop run();

private:
  LoopGraph &graph() { return made.graph; }
  void addOp(Operation *op);
  StringRef roleOf(Operation *op);
  std::optional<unsigned> branchOf(Operation *op);
  bool isConditional(Operation *op);
  bool sharesRegisters(unsigned from, unsigned to, Value tile);
  void addClusters();
  void nameClusters();
  void addOperands(unsigned to);
  void addFlow(unsigned from, unsigned to, unsigned distance, Value tile);
  unsigned latencyOf(unsigned from, unsigned to, Value tile);
  void addReuse(unsigned from, unsigned to, unsigned distance);
  void addRegisterReuse(const Access &read, ArrayRef<unsigned> roots);
  void addMemoryReuse(const Access &read, const Access &write);
  void addReuses(ArrayRef<unsigned> roots);
  void addOrderOfLoads();

  const KernelInfo &info;
  const PartitionFamily &family;
  const target::Target &gpu;
  OpTimes times;
  GraphOfLoop made;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::StringMap<unsigned> counts;
  llvm::SetVector<Value> conditions;
  llvm::EquivalenceClasses<unsigned> classes;
  SmallVector<Access> reads, writes;
  SmallVector<Access> registerReads;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Returns the role of `op` in the table of the family, with * for the number
/// of an instance; "" if `op` takes the role of its neighbors.
StringRef GraphBuilder::roleOf(Operation *op) {
  static constexpr StringLiteral neutral = "";
  if (PartitionAttr written = partitionOf(op))
    return written.getRole();
  if (isa<MoveOp, FillOp>(op))
    return neutral;
  for (const RoleRule &rule : family.roles)
    if (rule.owns(op))
      return rule.name;
  return neutral;
}

/// Returns the number of the condition around `op` that the loop does not
/// change.
std::optional<unsigned> GraphBuilder::branchOf(Operation *op) {
  for (auto branch = op->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>()) {
    Value condition = branch.getCondition();
    if (!made.loop->isProperAncestor(branch))
      break;
    if (!made.loop.isDefinedOutsideOfLoop(condition))
      continue;
    conditions.insert(condition);
    return unsigned(llvm::find(conditions, condition) - conditions.begin());
  }
  return std::nullopt;
}

/// Whether `op` is under a condition that the loop changes.
bool GraphBuilder::isConditional(Operation *op) {
  for (auto branch = op->getParentOfType<scf::IfOp>();
       branch && made.loop->isProperAncestor(branch);
       branch = branch->getParentOfType<scf::IfOp>())
    if (!made.loop.isDefinedOutsideOfLoop(branch.getCondition()))
      return true;
  return false;
}

void GraphBuilder::addOp(Operation *op) {
  StringRef base = op->getName().stripDialect();
  LoopOp node;
  node.name = (base + Twine(counts[base]++)).str();
  node.role = roleOf(op).str();
  node.executor = executorOf(op);
  node.branch = branchOf(op);
  node.reduces = reducesRows(op);
  OpTime time = timeOf(op, times);
  (isConditional(op) ? OpTimes::sometimes(time) : time).write(node);
  numbers[op] = unsigned(made.ops.size());
  made.ops.push_back(op);
  graph().ops.push_back(std::move(node));
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Whether op `to` reads `tile` from registers of the threads of op `from`. A
/// move reads or writes these registers, too.
bool GraphBuilder::sharesRegisters(unsigned from, unsigned to, Value tile) {
  auto isThere = [&](unsigned op) {
    return graph().ops[op].executor != Executor::Tma;
  };
  bool moves = isa<MoveOp>(made.ops[from]) || isa<MoveOp>(made.ops[to]);
  return (registersOf(tile) || (moves && !isInMemory(tile))) && isThere(from) &&
         isThere(to);
}

void GraphBuilder::addClusters() {
  llvm::MapVector<unsigned, unsigned> clusters;
  for (unsigned n = 0; n < made.ops.size(); ++n) {
    if (!classes.contains(n) && graph().ops[n].executor == Executor::Threads)
      classes.insert(n);
    if (!classes.contains(n))
      continue;
    auto [known, isNew] =
        clusters.insert({classes.getLeaderValue(n), unsigned(clusters.size())});
    graph().ops[n].cluster = known->second;
    if (isNew)
      graph().clusters.push_back({graph().ops[n].name, 0, 0});
  }
}

/// Gives ops without a role the role of the other ops of their cluster.
void GraphBuilder::nameClusters() {
  std::vector<std::string> roles(graph().clusters.size());
  for (const LoopOp &op : graph().ops)
    if (op.cluster && roles[*op.cluster].empty())
      roles[*op.cluster] = op.role;
  for (LoopOp &op : graph().ops) {
    if (op.cluster)
      op.role = roles[*op.cluster];
    const RoleRule *rule = family.findRole(op.role);
    if (rule && rule->perInstance && op.role == rule->name)
      op.role += '*';
  }
}

/// Returns the operand whose registers the result of `op` takes over; null if
/// it needs its own.
static Value takenOver(Operation *op) {
  if (auto dot = dyn_cast<DotOp>(op))
    return dot.getAcc();
  if (!op->getNumOperands() || !op->getNumResults() ||
      !registersOf(op->getResult(0)) || !registersOf(op->getOperand(0)))
    return {};
  Value input = op->getOperand(0);
  bool isPart = isa<SliceOp, JoinOp>(op);
  return isPart || input.getType() == op->getResult(0).getType() ? input
                                                                 : Value();
}

/// Finds the root of each op: the first op of this iteration whose result is in
/// the same registers.
void RegisterCounter::findRoots() {
  for (unsigned op = 0; op < made.ops.size(); ++op) {
    roots.push_back(op);
    Value input = takenOver(made.ops[op]);
    for (const Access &read : reads)
      if (input && read.op == op && !read.distance && read.value == input)
        roots[op] = roots[read.writer];
  }
}

/// Returns the ops whose tiles stay in registers for the whole iteration: those
/// of products, and those that the next iteration reads.
llvm::SetVector<unsigned> RegisterCounter::findHeld() {
  llvm::SetVector<unsigned> held;
  auto isProduct = [&](unsigned op) {
    return graph().ops[op].executor == Executor::Mma && graph().ops[op].cluster;
  };
  for (unsigned op = 0; op < made.ops.size(); ++op)
    if (isProduct(op))
      held.insert(roots[op]);
  for (const Access &read : reads)
    if (isProduct(read.op) || read.distance)
      held.insert(roots[read.writer]);
  return held;
}

/// Returns the most registers that tiles which are not held take at once.
unsigned RegisterCounter::mostAtOnce(unsigned cluster,
                                     const llvm::SetVector<unsigned> &held) {
  unsigned most = 0;
  for (unsigned at = 0; at < made.ops.size(); ++at) {
    llvm::SetVector<unsigned> live;
    for (const Access &read : reads)
      if (unsigned root = roots[read.writer];
          graph().ops[root].cluster == cluster && !held.contains(root) &&
          root <= at && read.op > at)
        live.insert(root);
    unsigned all = 0;
    for (unsigned root : live)
      all += registersOf(made.ops[root]->getResult(0));
    most = std::max(most, all);
  }
  return most;
}

/// Counts all registers. Code that changes an accumulator in tensor memory
/// loads a piece of it at a time.
void RegisterCounter::run() {
  constexpr unsigned piece = 16;
  llvm::SetVector<unsigned> held = findHeld();
  for (unsigned op : held)
    if (graph().ops[op].cluster)
      graph().clusters[*graph().ops[op].cluster].held +=
          registersOf(made.ops[op]->getResult(0));
  for (unsigned n = 0; n < graph().clusters.size(); ++n) {
    Cluster &cluster = graph().clusters[n];
    cluster.transient = mostAtOnce(n, held);
    if (!cluster.held && !cluster.transient)
      cluster.transient = piece;
  }
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

/// Returns the clocks from the end of `from` to the start of `to`, which reads
/// `tile`.
unsigned GraphBuilder::latencyOf(unsigned from, unsigned to, Value tile) {
  Executor user = graph().ops[to].executor;
  auto type = cast<TileType>(tile.getType());
  switch (graph().ops[from].executor) {
  case Executor::Tma:
    // Many CTAs load the same keys, most of them from L2.
    return gpu.memoryLatency / 2;
  case Executor::Mma:
    return user == Executor::Mma ? 0 : gpu.mmaLatency;
  case Executor::Threads:
    break;
  }
  if (user != Executor::Threads)
    return gpu.probabilityLatency +
           (type.getSmem() ? gpu.proxyFenceLatency : 0);
  auto move = dyn_cast<MoveOp>(made.ops[from]);
  auto loaded = move ? cast<TileType>(move.getInput().getType()) : TileType();
  return loaded && loaded.getTmem() ? gpu.scoreLatency : 0;
}

void GraphBuilder::addFlow(unsigned from, unsigned to, unsigned distance,
                           Value tile) {
  Dependence edge{from, to, distance, latencyOf(from, to, tile)};
  bool ofThreads = graph().ops[from].executor == Executor::Threads &&
                   graph().ops[to].executor == Executor::Threads;
  if (ofThreads)
    edge.crossing = gpu.probabilityLatency;
  if (!llvm::is_contained(graph().dependences, edge))
    graph().dependences.push_back(edge);
}

/// Adds the dependences of op `to` on the ops that write its operands.
void GraphBuilder::addOperands(unsigned to) {
  for (Value operand : made.ops[to]->getOperands()) {
    if (!isa<TileType>(operand.getType()))
      continue;
    for (TileSource &source : sourcesOf(operand)) {
      auto known = numbers.find(source.op());
      if (known == numbers.end() || !source.last.empty())
        continue;
      unsigned from = known->second;
      unsigned distance = llvm::is_contained(source.previous, made.loop);
      if (!distance && from >= to)
        continue;
      Access read{to, cast<TileType>(operand.getType()), from, distance,
                  operand};
      addFlow(from, to, distance, source.value);
      if (sharesRegisters(from, to, operand)) {
        classes.insert(from);
        classes.insert(to);
        classes.unionSets(from, to);
        registerReads.push_back(read);
      }
      if (isInMemory(operand))
        reads.push_back(read);
    }
  }
  for (Value result : made.ops[to]->getResults())
    if (isInMemory(result))
      writes.push_back({to, cast<TileType>(result.getType())});
}

//===----------------------------------------------------------------------===//
// Reuse of memory and registers
//===----------------------------------------------------------------------===//

void GraphBuilder::addReuse(unsigned from, unsigned to, unsigned distance) {
  if (from == to)
    return;
  Executor reader = graph().ops[from].executor,
           writer = graph().ops[to].executor;
  bool waits = reader == Executor::Mma &&
               (writer != Executor::Mma ||
                info.schedule.mmaOrder == schedule::MmaOrder::Commit);
  Dependence edge{from, to, distance, waits ? gpu.mmaLatency : 0};
  edge.reuses = true;
  if (!llvm::is_contained(graph().dependences, edge))
    graph().dependences.push_back(edge);
}

/// Adds the reuse of the registers that a product reads or writes: the next
/// iteration needs the same ones.
void GraphBuilder::addRegisterReuse(const Access &read,
                                    ArrayRef<unsigned> roots) {
  unsigned root = roots[read.writer];
  bool isAsync = graph().ops[read.op].executor == Executor::Mma ||
                 graph().ops[root].executor == Executor::Mma;
  if (isAsync && !read.distance)
    addReuse(read.op, root, 1);
}

/// Adds the reuse of memory. Messages of a ring use its stages in turn; another
/// tile in the same place follows in the order of the program.
void GraphBuilder::addMemoryReuse(const Access &read, const Access &write) {
  TileType tile = cast<TileType>(made.ops[read.writer]->getResult(0).getType());
  TileExtent place = TileExtent::of(tile), other = TileExtent::of(write.tile);
  if (!place.overlaps(other))
    return;
  unsigned stages = write.tile.getStages();
  if (place.begin != other.begin) {
    addReuse(read.op, write.op, write.op > read.op ? 0 : stages);
    return;
  }
  SmallVector<unsigned> ring;
  for (const Access &access : writes)
    if (TileExtent own = TileExtent::of(access.tile);
        own.overlaps(place) && own.begin == place.begin)
      ring.push_back(access.op);
  unsigned message =
      unsigned(llvm::find(ring, read.writer) - ring.begin()) + stages;
  if (ring[message % ring.size()] == write.op)
    addReuse(read.op, write.op,
             unsigned(message / ring.size()) -
                 std::min<unsigned>(read.distance, message / ring.size()));
}

void GraphBuilder::addReuses(ArrayRef<unsigned> roots) {
  for (const Access &read : registerReads)
    addRegisterReuse(read, roots);
  for (const Access &read : reads)
    for (const Access &write : writes)
      addMemoryReuse(read, write);
}

/// Orders the loads of each ring as in the program.
void GraphBuilder::addOrderOfLoads() {
  llvm::MapVector<int64_t, SmallVector<unsigned>> rings;
  for (const Access &write : writes)
    if (graph().ops[write.op].executor == Executor::Tma)
      rings[TileExtent::of(write.tile).begin].push_back(write.op);
  for (auto &[place, loads] : rings)
    for (unsigned n = 0; loads.size() > 1 && n < loads.size(); ++n)
      graph().dependences.push_back(
          {loads[n], loads[(n + 1) % loads.size()], n + 1 == loads.size()});
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

GraphOfLoop GraphBuilder::run() {
  made.loop.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isTileOp(op) && !isMemorySlice(op))
      addOp(op);
  });
  for (unsigned op = 0; op < made.ops.size(); ++op)
    addOperands(op);
  addClusters();
  nameClusters();
  RegisterCounter registers(made, registerReads);
  registers.run();
  addReuses(registers.getRoots());
  addOrderOfLoads();
  return std::move(made);
}

/// Returns the title of the graph: target, head dims and fields of the
/// schedule.
static std::string titleOf(const KernelInfo &info) {
  const schedule::Schedule &plan = info.schedule;
  std::string text = plan.target;
  if (info.isProgram)
    return text;
  auto add = [&](StringRef name, auto value) {
    text += (" " + name + "=" + Twine(value)).str();
  };
  add("head_dim", info.problem.headDim);
  add("head_dim_v", info.problem.headDimV);
  add("q_tiles", plan.qTiles);
  add("kv_block", plan.kvBlock);
  add("p_placement", StringRef(schedule::stringify(plan.pPlacement)));
  add("p_slices", plan.pSlices);
  add("s_stages", plan.sStages);
  return text + (info.problem.mask.isFull() ? "" : " masked");
}

/// Sets the capacities of all warpgroups except the one of the issuing roles.
static void setCapacities(LoopGraph &graph, const KernelInfo &info) {
  constexpr unsigned others = 32, issuing = 24;
  const schedule::Schedule &plan = info.schedule;
  unsigned warps = 0;
  for (const schedule::Role &role : plan.roles)
    warps = std::max(warps, role.firstWarp + role.warps);
  unsigned groups = warps / target::warpgroupWarps;
  graph.warpgroups = std::max(groups, 2u) - 1;
  graph.otherRegisters = others;
  graph.registers = target::Target::registersPerSm / plan.ctasPerSm /
                        target::warpgroupThreads -
                    issuing;
  graph.rows = plan.qTiles * plan.qTileRows;
  graph.keys = plan.kvBlock;
}

template <typename OpT> static bool contains(scf::ForOp loop) {
  return loop.getBody()
      ->walk([](OpT) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

SmallVector<GraphOfLoop> fmha::tile::graphsOf(gpu::GPUFuncOp func,
                                              const KernelInfo &info) {
  SmallVector<GraphOfLoop> graphs;
  if (partitionFamilyOf(info.schedule).hasOneRole)
    return graphs;
  func.walk([&](scf::ForOp loop) {
    if (contains<scf::ForOp>(loop) || !contains<DotOp>(loop))
      return;
    graphs.push_back(GraphBuilder(loop, info).run());
    graphs.back().graph.title = titleOf(info);
    setCapacities(graphs.back().graph, info);
  });
  return graphs;
}
