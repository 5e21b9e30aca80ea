//===- TensorCopy.cpp - Copies through a tensor map -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, cp.async.bulk.tensor and cp.reduce.async.bulk.tensor.
//
//===----------------------------------------------------------------------===//

#include "CopyTargets.h"
#include "Families.h"

#include "fmha/PTX/Sim/Core/Machine/Observer.h"
#include "fmha/PTX/Sim/Units/TmaReduce.h"
#include "fmha/PTX/Sim/Units/TmaTile.h"

#include <cstring>
#include <sstream>

namespace ptxsim {
namespace {

enum class Mode : uint8_t { Tile, Gather4, Im2col };

/// The decoded form of the opcode.
struct Payload {
  AddressOperand map, shared, barrier;
  std::vector<Operand> coordinates, offsets;
  Operand multicast;
  Mode mode = Mode::Tile;
  bool pair = false;
  std::optional<ReduceOp> reduction;
};

using Plan = std::shared_ptr<const TilePlan>;
using Rows = std::shared_ptr<std::vector<uint8_t>>;

std::string sizeText(const TilePlan &plan) {
  return std::to_string(plan.txBytes) + " bytes";
}

/// Calls `visit(offset, bytes)` for the shared bytes of the box.
template <typename Visit>
void forEachRange(const TilePlan &plan, uint32_t base, Visit visit) {
  if (plan.imageBytes() == plan.pitch && plan.packedBytes == 16)
    return visit(base, plan.sharedBytes);
  for (const TileRow &row : plan.rows)
    forEachChunk(plan, row, base, [&](uint32_t at, uint32_t, uint32_t bytes) {
      visit(at, bytes);
    });
}

/// Returns true if the box contains any of the bytes.
bool boxHas(const TilePlan &plan, const SharedRef &box, const Cta &cta,
            uint32_t offset, uint32_t bytes) {
  bool found = false;
  if (box.cta == &cta)
    forEachRange(plan, box.offset, [&](uint32_t at, uint32_t size) {
      found |= overlap(at, size, offset, bytes);
    });
  return found;
}

class TensorLoad : public AsyncOp {
public:
  TensorLoad(const Site &site, Plan plan, std::vector<CopyTarget> targets)
      : AsyncOp(site), plan(std::move(plan)), targets(std::move(targets)) {
    for (CopyTarget &target : this->targets)
      forEachRange(*this->plan, target.shared.offset,
                   [&](uint32_t at, uint32_t bytes) {
                     beginAsyncWrite(site, *target.shared.cta, at, bytes);
                   });
    tickets = noteLoad(site, this->targets, [&](auto &...of) { note(of...); });
  }
  void complete(Cluster &cluster) override {
    std::vector<uint8_t> image(plan->imageBytes());
    for (const TileRow &row : plan->rows) {
      std::span<const uint8_t> valid;
      if (row.validBytes()) {
        const uint8_t *data =
            cluster.global(site, row.global, row.validBytes(), 1, Access::Read);
        if (!data)
          return;
        valid = {data, row.validBytes()};
      }
      loadRowImage(*plan, row, valid, image);
      for (CopyTarget &target : targets)
        forEachChunk(*plan, row, target.shared.offset,
                     [&](uint32_t at, uint32_t from, uint32_t bytes) {
                       endAsyncWrite(*target.shared.cta, at, &image[from],
                                     bytes);
                     });
    }
    for (size_t i = 0; i < targets.size(); ++i)
      if (!cluster.machine.stopped)
        completeTx(cluster, site, targets[i].barrier, plan->txBytes,
                   tickets[i]);
  }
  bool notesAccesses() const override { return true; }
  bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
               Access access) const override {
    return access == Access::Write &&
           std::any_of(targets.begin(), targets.end(), [&](const auto &target) {
             return boxHas(*plan, target.shared, cta, offset, bytes);
           });
  }
  std::string describe() const override {
    return "TMA load of " + sizeText(*plan) + " to shared " +
           describeShared(*targets[0].shared.cta, targets[0].shared.offset);
  }

private:
  void note(Races &races, RaceStream &stream, CopyTarget &target) {
    Cta &cta = *target.shared.cta;
    race::Access write =
        races.memory.sharedAccess(stream, site, cta, Access::Write);
    race::Shadow &shadow = races.memory.shadowOf(cta);
    forEachRange(*plan, target.shared.offset, [&](uint32_t at, uint32_t bytes) {
      shadow.apply(at, bytes, write);
    });
    for (const TileRow &row : plan->rows)
      if (row.validBytes())
        races.memory.asyncGlobal(stream, site, row.global, row.validBytes(),
                                 Access::Read);
  }
  Plan plan;
  std::vector<CopyTarget> targets;
  std::vector<RaceTicket> tickets;
};

/// Reads the box from shared memory into consecutive rows.
class TensorRead : public GroupOp {
public:
  TensorRead(const Site &site, BulkGroups &groups, Plan plan, SharedRef source,
             Rows rows)
      : GroupOp(site, groups), plan(std::move(plan)), source(source),
        rows(std::move(rows)) {
    for (const TileRow &row : this->plan->rows)
      if (row.validBytes())
        forEachChunk(*this->plan, row, source.offset,
                     [&](uint32_t at, uint32_t from, uint32_t bytes) {
                       if (from < row.validEnd)
                         checkAsyncSource(site, *source.cta, at,
                                          std::min(bytes, row.validEnd - from));
                     });
    forEachRange(*this->plan, source.offset, [&](uint32_t at, uint32_t bytes) {
      beginAsyncRead(*source.cta, at, bytes);
    });
    if (Races *races = racesOf(site))
      note(*races, groupStream(*races, site, groups, race::Kind::BulkRead));
  }
  void complete(Cluster &cluster) override {
    uint32_t rowBytes = plan->imageBytes();
    rows->resize(size_t(rowBytes) * plan->rows.size());
    uint8_t *out = rows->data();
    for (const TileRow &row : plan->rows) {
      forEachChunk(*plan, row, source.offset,
                   [&](uint32_t at, uint32_t from, uint32_t bytes) {
                     std::memcpy(out + from, &source.cta->shared[at], bytes);
                   });
      out += rowBytes;
    }
    forEachRange(*plan, source.offset, [&](uint32_t at, uint32_t bytes) {
      endAsyncRead(*source.cta, at, bytes);
    });
    finish(cluster);
  }
  bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
               Access access) const override {
    return access == Access::Read && boxHas(*plan, source, cta, offset, bytes);
  }
  std::string describe() const override {
    return "TMA store reading " + sizeText(*plan) + " at shared " +
           describeShared(*source.cta, source.offset);
  }

private:
  void note(Races &races, RaceStream &stream) {
    race::Access read =
        races.memory.sharedAccess(stream, site, *source.cta, Access::Read);
    race::Shadow &shadow = races.memory.shadowOf(*source.cta);
    for (const TileRow &row : plan->rows)
      if (row.validBytes())
        forEachChunk(*plan, row, source.offset,
                     [&](uint32_t at, uint32_t from, uint32_t bytes) {
                       if (from < row.validEnd)
                         shadow.apply(at, std::min(bytes, row.validEnd - from),
                                      read);
                     });
  }
  Plan plan;
  SharedRef source;
  Rows rows;
};

std::optional<ReduceType> reduceTypeOf(MapType type) {
  return parseReduceType(nameOf(type));
}

class TensorWrite : public GroupOp {
public:
  TensorWrite(const Site &site, BulkGroups &groups, Plan plan, Rows rows,
              std::optional<ReduceOp> reduction)
      : GroupOp(site, groups), plan(std::move(plan)), rows(std::move(rows)),
        reduction(reduction) {
    if (Races *races = racesOf(site))
      note(*races, groupStream(*races, site, groups, race::Kind::BulkWrite));
  }
  void complete(Cluster &cluster) override {
    const uint8_t *in = rows->data();
    for (const TileRow &row : plan->rows) {
      if (row.validBytes() && !writeRow(cluster, row, in))
        return;
      in += plan->imageBytes();
    }
    finish(cluster);
  }
  std::string describe() const override {
    return "TMA store of " + sizeText(*plan) + " to global memory";
  }

private:
  void note(Races &races, RaceStream &stream) {
    Access access = reduction ? Access::Atomic : Access::Write;
    for (const TileRow &row : plan->rows)
      if (row.validBytes())
        races.memory.asyncGlobal(stream, site, row.global, row.validBytes(),
                                 access);
  }
  bool writeRow(Cluster &cluster, const TileRow &row, const uint8_t *in) {
    Access access = reduction ? Access::Atomic : Access::Write;
    uint8_t *target =
        cluster.global(site, row.global, row.validBytes(), 1, access);
    if (!target)
      return false;
    std::span<uint8_t> out(target, row.validBytes());
    std::span<const uint8_t> from(in + row.validBegin, row.validBytes());
    if (reduction)
      reduceInto(*reduction, *reduceTypeOf(plan->type), out, from);
    else
      std::copy(from.begin(), from.end(), out.begin());
    return true;
  }
  Plan plan;
  Rows rows;
  std::optional<ReduceOp> reduction;
};

/// Returns the 128 bytes of the map operand, or null after a fault.
const uint8_t *mapBytes(Warp &warp, const Instruction &inst,
                        const AddressOperand &map, unsigned lane) {
  Site site = warp.site(inst, int(lane));
  uint64_t address = warp.addressOf(map, lane);
  if (map.space != Space::Param)
    return warp.cluster.generic(site, address, 128, 64, Access::Read);
  const uint8_t *bytes = warp.cluster.parameter(address, 128);
  if (!bytes)
    warp.machine.fault(FindingId::OutOfBounds, site,
                       "a tensor map beyond the kernel's parameters");
  return bytes;
}

std::optional<TensorMap> readMap(Warp &warp, const Instruction &inst,
                                 const AddressOperand &operand, unsigned lane) {
  const uint8_t *bytes = mapBytes(warp, inst, operand, lane);
  if (!bytes)
    return std::nullopt;
  auto map = decodeTensorMap(std::span<const uint8_t, 128>(bytes, 128));
  if (!map)
    warp.machine.fault(FindingId::TmaBadMap, warp.site(inst, int(lane)),
                       "the 128 bytes of the operand were not written by a "
                       "tensor map encoder");
  return map;
}

FindingId findingOf(TileFault fault) {
  static constexpr std::array<FindingId, 5> ids = {
      FindingId::Count, FindingId::TmaInnerUnaligned,
      FindingId::TmaNegativeStore, FindingId::TmaBadMap, FindingId::TmaBadMap};
  return ids[unsigned(fault)];
}

Plan planOf(Warp &warp, const Instruction &inst, unsigned lane,
            TileDirection direction) {
  const Payload &p = inst.data<Payload>();
  std::optional<TensorMap> map = readMap(warp, inst, p.map, lane);
  if (!map)
    return nullptr;
  std::vector<int32_t> coordinates;
  for (Operand operand : p.coordinates)
    coordinates.push_back(int32_t(warp.row(operand)[lane]));
  std::vector<uint16_t> offsets;
  for (Operand operand : p.offsets)
    offsets.push_back(uint16_t(warp.row(operand)[lane]));
  auto plan = std::make_shared<TilePlan>(
      p.mode == Mode::Im2col    ? planIm2col(*map, coordinates, offsets)
      : p.mode == Mode::Gather4 ? planGather4(*map, coordinates, direction)
                                : planTile(*map, coordinates, direction));
  if (plan->fault == TileFault::None)
    return plan;
  warp.machine.fault(
      findingOf(plan->fault), warp.site(inst, int(lane)),
      std::string(describe(plan->fault)) + "; first coordinate " +
          std::to_string(coordinates[0]) + " of " + nameOf(map->type));
  return nullptr;
}

bool checkShared(Warp &warp, const Site &site, uint32_t address) {
  if (address % 128 == 0)
    return true;
  warp.machine.fault(FindingId::TmaSharedAlignment, site,
                     "shared address " + std::to_string(address & 0xffffff) +
                         ", expected a multiple of 128");
  return false;
}

/// Checks the map's address. A load of a box entirely outside its map still
/// reads at that address: an H200 faults if nothing is mapped there, whatever
/// the coordinates, while stores, and boxes partly inside, do not fault
/// (scripts/probes/tma_outside.cu). The H200 checks pages; the simulator checks
/// allocations.
bool checkMapAddress(Warp &warp, const Site &site, const TilePlan &plan) {
  if (!plan.isOutside() || warp.cluster.hasGlobal(plan.address))
    return true;
  std::ostringstream text;
  text << "a TMA load of a box wholly outside its tensor map reads at the "
          "map's address, 0x"
       << std::hex << plan.address
       << ", which is in no allocation; begin the box inside the map, or "
          "let the map begin inside an allocation.";
  warp.machine.fault(FindingId::OutOfBounds, site, text.str());
  return false;
}

void observeLoad(const Warp &warp, const TilePlan &plan) {
  Observer *observer = warp.machine.options.observer;
  if (!observer)
    return;
  observer->copies(warp, CopyDirection::FromGlobal, plan.txBytes);
  for (const TileRow &row : plan.rows)
    if (row.validBytes())
      observer->reads(row.global, row.validBytes());
}

void loadLane(Warp &warp, const Instruction &inst, unsigned lane) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  auto destination = sharedAddress(warp, inst, p.shared, lane);
  auto barrier = sharedAddress(warp, inst, p.barrier, lane);
  if (!destination || !barrier || !checkShared(warp, site, *destination))
    return;
  Plan plan = planOf(warp, inst, lane, TileDirection::Load);
  if (!plan || (p.mode == Mode::Tile && !checkMapAddress(warp, site, *plan)))
    return;
  std::optional<uint16_t> mask;
  if (p.multicast.valid())
    mask = uint16_t(warp.row(p.multicast)[lane]);
  std::vector<CopyTarget> targets =
      copyTargets(warp.cluster, site, *destination, *barrier, mask, p.pair,
                  plan->sharedBytes, 128);
  if (targets.empty())
    return;
  observeLoad(warp, *plan);
  warp.cluster.issue(
      std::make_unique<TensorLoad>(site, plan, std::move(targets)));
}

void storeLane(Warp &warp, const Instruction &inst, unsigned lane) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  auto source = sharedAddress(warp, inst, p.shared, lane);
  if (!source || !checkShared(warp, site, *source))
    return;
  Plan plan = planOf(warp, inst, lane, TileDirection::Store);
  if (!plan)
    return;
  SharedRef from =
      resolveShared(warp.cluster, site, *source, plan->sharedBytes, 128);
  if (!from)
    return;
  if (p.reduction) {
    auto type = reduceTypeOf(plan->type);
    if (!type || !isReduction(*p.reduction, *type))
      return warp.machine.fault(FindingId::TmaBadMap, site,
                                "the map's type " +
                                    std::string(nameOf(plan->type)) +
                                    " has no such reduction");
  }
  if (Observer *observer = warp.machine.options.observer)
    observer->copies(warp, CopyDirection::ToGlobal, plan->txBytes);
  BulkGroups &groups = warp.states.get<BulkGroups>();
  auto rows = std::make_shared<std::vector<uint8_t>>();
  issueInGroup(
      warp, lane, std::make_unique<TensorRead>(site, groups, plan, from, rows),
      std::make_unique<TensorWrite>(site, groups, plan, rows, p.reduction));
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

Outcome executeNothing(Warp &, const Instruction &, LaneMask) {
  return Outcome::Next;
}

const std::initializer_list<std::string_view> modifiers = {
    "async",
    "bulk",
    "tensor",
    "reduce",
    "1d",
    "2d",
    "3d",
    "4d",
    "5d",
    "shared::cluster",
    "shared::cta",
    "global",
    "tile",
    "tile::gather4",
    "tile::scatter4",
    "im2col",
    "mbarrier::complete_tx::bytes",
    "multicast::cluster",
    "cta_group::1",
    "cta_group::2",
    "L2::cache_hint",
    "bulk_group",
    "add",
    "min",
    "max",
    "inc",
    "dec",
    "and",
    "or",
    "xor"};

Mode modeOf(const Decoder &decoder) {
  if (decoder.has("im2col"))
    return Mode::Im2col;
  bool rows = decoder.has("tile::gather4") || decoder.has("tile::scatter4");
  return rows ? Mode::Gather4 : Mode::Tile;
}

void decodeLoad(Decoder &decoder, Instruction &inst, Payload &payload) {
  size_t operands = 3;
  payload.shared = decoder.address(0, Space::Shared);
  payload.map = decoder.address(1, Space::Generic);
  payload.coordinates = decoder.coordinates(1);
  payload.barrier = decoder.address(2, Space::Shared);
  if (payload.mode == Mode::Im2col) {
    auto offsets = decoder.sources(operands++, Type::U16);
    payload.offsets.assign(offsets.begin(), offsets.end());
  }
  if (decoder.has("multicast::cluster"))
    payload.multicast = decoder.source(operands++, Type::U16);
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(operands + hint, operands + hint);
  decoder.expectCacheHint(operands);
  inst.handler = executeLanes<loadLane>;
}

void decodeStore(Decoder &decoder, Instruction &inst, Payload &payload) {
  bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(2 + hint, 2 + hint);
  decoder.expectCacheHint(2);
  payload.map = decoder.address(0, Space::Generic);
  payload.coordinates = decoder.coordinates(0);
  payload.shared = decoder.address(1, Space::Shared);
  inst.handler = executeLanes<storeLane>;
}

void decodeTensor(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(modifiers);
  Payload payload;
  payload.mode = modeOf(decoder);
  if (decoder.has("multicast::cluster") && !decoder.has("shared::cluster"))
    decoder.unsupported("expected .shared::cluster as the destination of "
                        ".multicast::cluster, got .shared::cta");
  payload.pair = decoder.has("cta_group::2");
  for (std::string_view part : decoder.text().parts)
    if (auto op = parseReduceOp(part))
      payload.reduction = op;
  if (decoder.has("reduce") != payload.reduction.has_value())
    decoder.unsupported("a reduction needs an operation, a copy has none");
  if (decoder.has("bulk_group"))
    decodeStore(decoder, inst, payload);
  else
    decodeLoad(decoder, inst, payload);
  inst.payload = decoder.payload(std::move(payload));
}

/// Prefetches a part of a tensor, or its map.
void decodePrefetch(Decoder &decoder, Instruction &inst) {
  decoder.address(0, Space::Generic);
  if (decoder.text().parts[0] == "cp")
    decoder.coordinates(0);
  if (decoder.has("L2::cache_hint"))
    decoder.expectType(decoder.size() - 1, Type::U64);
  inst.handler = executeNothing;
}

} // namespace

void registerTensorCopy(Registry &registry) {
  registry.add("cp.async.bulk.tensor", decodeTensor);
  registry.add("cp.reduce.async.bulk.tensor", decodeTensor);
  registry.add("cp.async.bulk.prefetch.tensor", decodePrefetch);
  registry.add("prefetch.tensormap", decodePrefetch);
  registry.add("prefetch.param.tensormap", decodePrefetch);
  registry.add("prefetch.const.tensormap", decodePrefetch);
}

} // namespace ptxsim
