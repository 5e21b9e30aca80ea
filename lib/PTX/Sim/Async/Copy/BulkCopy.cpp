//===- BulkCopy.cpp - Bulk copies without a tensor map --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, cp.async.bulk and cp.reduce.async.bulk. Prefetches have no effect.
//
//===----------------------------------------------------------------------===//

#include "CopyTargets.h"
#include "Families.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"
#include "fmha/PTX/Sim/Units/TmaReduce.h"

#include <cstring>

namespace ptxsim {
namespace {

using Bytes = std::shared_ptr<std::vector<uint8_t>>;

struct Reduction {
  ReduceOp op;
  ReduceType type;
};

/// The decoded form of the opcode.
struct Payload {
  AddressOperand destination, source, barrier;
  Operand size, multicast, byteMask;
  std::optional<Reduction> reduction;
};

std::string amount(uint32_t bytes) { return std::to_string(bytes) + " bytes"; }

/// Returns true if `size` bytes at `place` contain any of the bytes.
bool has(const SharedRef &place, uint32_t size, const Cta &cta, uint32_t offset,
         uint32_t bytes) {
  return place.cta == &cta && overlap(place.offset, size, offset, bytes);
}

/// A copy from global memory to shared memory of one or more CTAs.
class BulkLoad : public AsyncOp {
public:
  BulkLoad(const Site &site, uint64_t source, uint32_t bytes,
           std::vector<CopyTarget> targets)
      : AsyncOp(site), source(source), bytes(bytes),
        targets(std::move(targets)) {
    for (CopyTarget &target : this->targets)
      beginAsyncWrite(site, *target.shared.cta, target.shared.offset, bytes);
    tickets = noteLoad(
        site, this->targets,
        [&](Races &races, RaceStream &stream, CopyTarget &target) {
          races.memory.asyncShared(stream, site, *target.shared.cta,
                                   target.shared.offset, bytes, Access::Write);
          races.memory.asyncGlobal(stream, site, source, bytes, Access::Read);
        });
  }
  void complete(Cluster &cluster) override {
    const uint8_t *data = cluster.global(site, source, bytes, 16, Access::Read);
    if (!data)
      return;
    for (size_t i = 0; i < targets.size(); ++i) {
      const SharedRef &to = targets[i].shared;
      endAsyncWrite(*to.cta, to.offset, data, bytes);
      completeTx(cluster, site, targets[i].barrier, bytes, tickets[i]);
    }
  }
  bool notesAccesses() const override { return true; }
  bool touches(const Cta &cta, uint32_t offset, uint32_t size,
               Access access) const override {
    return access == Access::Write &&
           std::any_of(targets.begin(), targets.end(), [&](const auto &target) {
             return has(target.shared, bytes, cta, offset, size);
           });
  }
  std::string describe() const override {
    return "bulk load of " + amount(bytes) + " to shared " +
           describeShared(*targets[0].shared.cta, targets[0].shared.offset);
  }

private:
  uint64_t source;
  uint32_t bytes;
  std::vector<CopyTarget> targets;
  std::vector<RaceTicket> tickets;
};

/// A copy from the CTA's own shared memory to another CTA's, plain or reducing.
class BulkExchange : public AsyncOp {
public:
  BulkExchange(const Site &site, SharedRef source, CopyTarget target,
               uint32_t bytes, std::optional<Reduction> reduction)
      : AsyncOp(site), source(source), target(target), bytes(bytes),
        reduction(reduction) {
    checkAsyncSource(site, *source.cta, source.offset, bytes);
    beginAsyncRead(*source.cta, source.offset, bytes);
    if (!reduction)
      beginAsyncWrite(site, *target.shared.cta, target.shared.offset, bytes);
    if (Races *races = racesOf(site))
      note(*races);
  }
  void complete(Cluster &cluster) override {
    std::vector<uint8_t> data(source.data(), source.data() + bytes);
    endAsyncRead(*source.cta, source.offset, bytes);
    if (reduction) {
      std::vector<uint8_t> sum(target.shared.data(),
                               target.shared.data() + bytes);
      reduceInto(reduction->op, reduction->type, sum, data);
      data = std::move(sum);
    }
    endAsyncWrite(*target.shared.cta, target.shared.offset, data.data(), bytes);
    completeTx(cluster, site, target.barrier, bytes, ticket);
  }
  bool notesAccesses() const override { return true; }
  bool touches(const Cta &cta, uint32_t offset, uint32_t size,
               Access access) const override {
    return access == Access::Read
               ? has(source, bytes, cta, offset, size)
               : !reduction && has(target.shared, bytes, cta, offset, size);
  }
  std::string describe() const override {
    return "bulk copy of " + amount(bytes) + " to shared " +
           describeShared(*target.shared.cta, target.shared.offset);
  }

private:
  void note(Races &races) {
    RaceStream &stream =
        races.clocks.stream(*site.warp, race::Kind::BulkLoad, target.barrier);
    races.memory.asyncShared(stream, site, *source.cta, source.offset, bytes,
                             Access::Read);
    races.memory.asyncShared(stream, site, *target.shared.cta,
                             target.shared.offset, bytes,
                             reduction ? Access::Atomic : Access::Write);
    ticket = ticketFor(site, stream, target.barrier);
  }
  SharedRef source;
  CopyTarget target;
  uint32_t bytes;
  std::optional<Reduction> reduction;
  RaceTicket ticket;
};

class BulkRead : public GroupOp {
public:
  BulkRead(const Site &site, BulkGroups &groups, SharedRef source,
           uint32_t bytes, Bytes staging)
      : GroupOp(site, groups), source(source), bytes(bytes),
        staging(std::move(staging)) {
    checkAsyncSource(site, *source.cta, source.offset, bytes);
    beginAsyncRead(*source.cta, source.offset, bytes);
    if (Races *races = racesOf(site))
      races->memory.asyncShared(
          groupStream(*races, site, groups, race::Kind::BulkRead), site,
          *source.cta, source.offset, bytes, Access::Read);
  }
  void complete(Cluster &cluster) override {
    staging->assign(source.data(), source.data() + bytes);
    endAsyncRead(*source.cta, source.offset, bytes);
    finish(cluster);
  }
  bool touches(const Cta &cta, uint32_t offset, uint32_t size,
               Access access) const override {
    return access == Access::Read && has(source, bytes, cta, offset, size);
  }
  std::string describe() const override {
    return "bulk store reading " + amount(bytes) + " at shared " +
           describeShared(*source.cta, source.offset);
  }

private:
  SharedRef source;
  uint32_t bytes;
  Bytes staging;
};

class BulkWrite : public GroupOp {
public:
  BulkWrite(const Site &site, BulkGroups &groups, uint64_t destination,
            uint32_t bytes, Bytes staging, std::optional<Reduction> reduction,
            uint16_t mask)
      : GroupOp(site, groups), destination(destination),
        staging(std::move(staging)), reduction(reduction), mask(mask) {
    if (Races *races = racesOf(site))
      note(*races, bytes);
  }
  void complete(Cluster &cluster) override {
    if (reduction)
      reduce(cluster);
    else if (mask == 0xffff)
      store(cluster, 0, staging->size());
    else
      for (size_t at = 0; at < staging->size(); ++at)
        if (mask >> (at % 16) & 1)
          store(cluster, at, 1);
    finish(cluster);
  }
  std::string describe() const override {
    return "bulk store to global memory";
  }

private:
  void note(Races &races, uint32_t bytes) {
    RaceStream &stream =
        groupStream(races, site, groups, race::Kind::BulkWrite);
    Access access = reduction ? Access::Atomic : Access::Write;
    if (mask == 0xffff)
      return races.memory.asyncGlobal(stream, site, destination, bytes, access);
    for (uint32_t at = 0; at < bytes; ++at)
      if (mask >> (at % 16) & 1)
        races.memory.asyncGlobal(stream, site, destination + at, 1, access);
  }
  void store(Cluster &cluster, size_t at, size_t count) {
    if (uint8_t *target =
            cluster.global(site, destination + at, count, 1, Access::Write))
      std::memcpy(target, staging->data() + at, count);
  }
  void reduce(Cluster &cluster) {
    if (uint8_t *target = cluster.global(site, destination, staging->size(), 16,
                                         Access::Atomic))
      reduceInto(reduction->op, reduction->type, {target, staging->size()},
                 *staging);
  }
  uint64_t destination;
  Bytes staging;
  std::optional<Reduction> reduction;
  uint16_t mask;
};

/// Checks that sizes and addresses are multiples of 16 bytes. Returns false
/// after a fault.
bool checkOperands(Warp &warp, const Site &site, uint64_t size,
                   uint64_t destination, uint64_t source) {
  for (auto [what, value] : {std::pair{"size", size},
                             {"destination", destination},
                             {"source", source}})
    if (value % 16) {
      warp.machine.fault(FindingId::BulkOperand, site,
                         std::string(what) + " " + std::to_string(value) +
                             ", expected a multiple of 16");
      return false;
    }
  return true;
}

using LaneFunction = void (*)(Warp &, const Instruction &, unsigned lane);

template <LaneFunction perLane>
Outcome executeLanes(Warp &warp, const Instruction &inst, LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    if (!warp.machine.stopped)
      perLane(warp, inst, lane);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

void observe(const Warp &warp, CopyDirection direction, uint32_t bytes,
             uint64_t source = 0) {
  Observer *observer = warp.machine.options.observer;
  if (!observer)
    return;
  observer->copies(warp, direction, bytes);
  if (direction == CopyDirection::FromGlobal)
    observer->reads(source, bytes);
}

void loadLane(Warp &warp, const Instruction &inst, unsigned lane) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  auto destination = sharedAddress(warp, inst, p.destination, lane);
  auto barrier = sharedAddress(warp, inst, p.barrier, lane);
  uint64_t source = warp.addressOf(p.source, lane);
  uint32_t size = uint32_t(warp.row(p.size)[lane]);
  if (!destination || !barrier ||
      !checkOperands(warp, site, size, *destination, source) || !size)
    return;
  std::optional<uint16_t> mask;
  if (p.multicast.valid())
    mask = uint16_t(warp.row(p.multicast)[lane]);
  std::vector<CopyTarget> targets = copyTargets(
      warp.cluster, site, *destination, *barrier, mask, false, size, 16);
  if (targets.empty())
    return;
  observe(warp, CopyDirection::FromGlobal, size, source);
  warp.cluster.issue(
      std::make_unique<BulkLoad>(site, source, size, std::move(targets)));
}

void exchangeLane(Warp &warp, const Instruction &inst, unsigned lane) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  auto destination = sharedAddress(warp, inst, p.destination, lane);
  auto source = sharedAddress(warp, inst, p.source, lane);
  auto barrier = sharedAddress(warp, inst, p.barrier, lane);
  uint32_t size = uint32_t(warp.row(p.size)[lane]);
  if (!destination || !source || !barrier ||
      !checkOperands(warp, site, size, *destination, *source) || !size)
    return;
  SharedRef from = resolveShared(warp.cluster, site, *source, size, 16);
  std::vector<CopyTarget> targets = copyTargets(
      warp.cluster, site, *destination, *barrier, {}, false, size, 16);
  if (!from || targets.empty())
    return;
  observe(warp, CopyDirection::BetweenCtas, size);
  warp.cluster.issue(std::make_unique<BulkExchange>(site, from, targets[0],
                                                    size, p.reduction));
}

void storeLane(Warp &warp, const Instruction &inst, unsigned lane) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  uint64_t destination = warp.addressOf(p.destination, lane);
  auto source = sharedAddress(warp, inst, p.source, lane);
  uint32_t size = uint32_t(warp.row(p.size)[lane]);
  if (!source || !checkOperands(warp, site, size, destination, *source) ||
      !size)
    return;
  SharedRef from = resolveShared(warp.cluster, site, *source, size, 16);
  if (!from)
    return;
  uint16_t mask = 0xffff;
  if (p.byteMask.valid())
    mask = uint16_t(warp.row(p.byteMask)[lane]);
  observe(warp, CopyDirection::ToGlobal, size);
  BulkGroups &groups = warp.states.get<BulkGroups>();
  auto staging = std::make_shared<std::vector<uint8_t>>();
  issueInGroup(warp, lane,
               std::make_unique<BulkRead>(site, groups, from, size, staging),
               std::make_unique<BulkWrite>(site, groups, destination, size,
                                           staging, p.reduction, mask));
}

Outcome executeNothing(Warp &, const Instruction &, LaneMask) {
  return Outcome::Next;
}

/// Decodes the reduction at the end of the opcode: ".add{.noftz}.f16".
Reduction reductionOf(const Decoder &decoder) {
  const auto &parts = decoder.text().parts;
  std::optional<ReduceOp> op;
  for (std::string_view part : parts)
    if (auto parsed = parseReduceOp(part))
      op = parsed;
  std::optional<ReduceType> type = parseReduceType(parts.back());
  // Sums of .s64 equal those of .u64; only the spelling differs.
  bool isSum = op && *op == ReduceOp::Add;
  if (!op || !type || !isReduction(*op, *type) ||
      (isSum && *type == ReduceType::S64))
    decoder.unsupported("no such reduction");
  bool isHalf = *type == ReduceType::F16 || *type == ReduceType::BF16;
  if (isHalf && isSum && !decoder.has("noftz"))
    decoder.unsupported("expected .noftz after .add of ." +
                        std::string(parts.back()));
  return {*op, *type};
}

const std::initializer_list<std::string_view> modifiers = {
    "async",
    "bulk",
    "reduce",
    "shared::cluster",
    "shared::cta",
    "global",
    "mbarrier::complete_tx::bytes",
    "multicast::cluster",
    "L2::cache_hint",
    "bulk_group",
    "cp_mask",
    "add",
    "min",
    "max",
    "inc",
    "dec",
    "and",
    "or",
    "xor",
    "noftz",
    "u32",
    "s32",
    "u64",
    "s64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "b32",
    "b64"};

/// Returns the state spaces in the opcode: destination, then source.
std::pair<std::string_view, std::string_view> spacesOf(const Decoder &decoder) {
  std::pair<std::string_view, std::string_view> spaces;
  for (std::string_view part : decoder.text().parts)
    if (part == "global" || part == "shared::cta" || part == "shared::cluster")
      (spaces.first.empty() ? spaces.first : spaces.second) = part;
  return spaces;
}

void decodeToShared(Decoder &decoder, Instruction &inst, Payload &payload,
                    bool fromGlobal) {
  bool multicast = decoder.has("multicast::cluster");
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(4 + multicast + hint, 4 + multicast + hint);
  payload.destination = decoder.address(0, Space::Shared);
  payload.source =
      decoder.address(1, fromGlobal ? Space::Global : Space::Shared);
  payload.size = decoder.source(2, Type::U32);
  payload.barrier = decoder.address(3, Space::Shared);
  if (multicast)
    payload.multicast = decoder.source(4, Type::U16);
  decoder.expectCacheHint(4 + multicast);
  inst.handler =
      fromGlobal ? executeLanes<loadLane> : executeLanes<exchangeLane>;
}

void decodeToGlobal(Decoder &decoder, Instruction &inst, Payload &payload) {
  bool byteMask = decoder.has("cp_mask");
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(3 + byteMask + hint, 3 + byteMask + hint);
  payload.destination = decoder.address(0, Space::Global);
  payload.source = decoder.address(1, Space::Shared);
  payload.size = decoder.source(2, Type::U32);
  if (byteMask)
    payload.byteMask = decoder.source(3 + hint, Type::U16);
  decoder.expectCacheHint(3);
  inst.handler = executeLanes<storeLane>;
}

void decodeBulk(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  Payload payload;
  if (decoder.has("reduce"))
    payload.reduction = reductionOf(decoder);
  auto [to, from] = spacesOf(decoder);
  if (to == "global" && from == "shared::cta" && decoder.has("bulk_group"))
    decodeToGlobal(decoder, inst, payload);
  else if (to != "global" && decoder.has("mbarrier::complete_tx::bytes") &&
           (from == "global" || from == "shared::cta"))
    decodeToShared(decoder, inst, payload, from == "global");
  else
    decoder.unsupported("no bulk copy has these state spaces and completion");
  inst.payload = decoder.payload(payload);
}

void decodePrefetch(Decoder &decoder, Instruction &inst) {
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(2 + hint, 2 + hint);
  decoder.address(0, Space::Global);
  decoder.expectType(1, Type::U32);
  decoder.expectCacheHint(2);
  inst.handler = executeNothing;
}

} // namespace

void registerBulkCopy(Registry &registry) {
  registry.add("cp.async.bulk", decodeBulk);
  registry.add("cp.reduce.async.bulk", decodeBulk);
  registry.add("cp.async.bulk.prefetch", decodePrefetch);
}

} // namespace ptxsim
