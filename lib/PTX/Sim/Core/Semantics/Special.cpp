//===- Special.cpp - Special registers --------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.2, chapter 10. %warpid is a hardware slot: hardware returned 1 for
// the only warp of a CTA. Here it is the warp's index + 1 modulo 64, so that
// code that assumes %tid / 32 fails at once.
//
//===----------------------------------------------------------------------===//

#include "Machine/Handlers.h"

#include <unordered_map>

using namespace ptxsim;

namespace {

using Read = void (*)(Warp &, Row &, LaneMask);

template <typename F> void each(Row &out, LaneMask active, F value) {
  eachLane(active, [&](unsigned lane) { out[lane] = uint64_t(value(lane)); });
}

/// Writes one value for the whole warp.
template <auto Value> void same(Warp &warp, Row &out, LaneMask active) {
  uint64_t value = uint64_t(Value(warp));
  eachLane(active, [&](unsigned lane) { out[lane] = value; });
}

/// Writes a value per lane.
template <auto Value> void perLane(Warp &warp, Row &out, LaneMask active) {
  eachLane(active,
           [&](unsigned lane) { out[lane] = uint64_t(Value(warp, lane)); });
}

Dim3 gridOf(Warp &w) { return w.machine.config.grid; }
Dim3 blockOf(Warp &w) { return w.machine.config.block; }
Dim3 shapeOf(Warp &w) { return w.machine.clusterShape; }
Dim3 ctaOf(Warp &w) { return w.cta.id; }

uint64_t ctaNumber(Warp &w) {
  Dim3 grid = gridOf(w), id = ctaOf(w);
  return id.x + uint64_t(grid.x) * (id.y + uint64_t(grid.y) * id.z);
}
/// Returns the number of SMs of an H200 or B200; CTAs are assigned to them in
/// turn.
uint64_t multiprocessors(Warp &w) {
  return w.machine.program.module->target.substr(0, 4) == "sm_9" ? 132 : 148;
}
uint64_t totalShared(Warp &w) {
  uint64_t bytes = w.machine.sharedEnd - kSharedBase;
  return (bytes + 127) / 128 * 128;
}
/// Advances with every executed instruction and with every read.
uint64_t ticks(Warp &w) { return ++w.cluster.clock + w.cluster.steps; }

LaneMask lanesBelow(unsigned lane) { return (1u << lane) - 1; }

using Table = std::unordered_map<std::string_view, SpecialRegister>;

void addVectors(Table &table) {
#define VECTOR(NAME, EXPRESSION)                                               \
  table[NAME ".x"] = {32, same<[](Warp &w) { return EXPRESSION(x); }>};        \
  table[NAME ".y"] = {32, same<[](Warp &w) { return EXPRESSION(y); }>};        \
  table[NAME ".z"] = {32, same<[](Warp &w) { return EXPRESSION(z); }>};
#define OF_BLOCK(C) blockOf(w).C
#define OF_CTA(C) ctaOf(w).C
#define OF_GRID(C) gridOf(w).C
#define OF_CLUSTER(C) ctaOf(w).C / shapeOf(w).C
#define OF_CLUSTERS(C) gridOf(w).C / shapeOf(w).C
#define OF_IN_CLUSTER(C) ctaOf(w).C % shapeOf(w).C
#define OF_SHAPE(C) shapeOf(w).C
  VECTOR("%ntid", OF_BLOCK)
  VECTOR("%ctaid", OF_CTA)
  VECTOR("%nctaid", OF_GRID)
  VECTOR("%clusterid", OF_CLUSTER)
  VECTOR("%nclusterid", OF_CLUSTERS)
  VECTOR("%cluster_ctaid", OF_IN_CLUSTER)
  VECTOR("%cluster_nctaid", OF_SHAPE)
#undef VECTOR
  table["%tid.x"] = {
      32,
      perLane<[](Warp &w, unsigned lane) { return w.threadIndex(lane).x; }>};
  table["%tid.y"] = {
      32,
      perLane<[](Warp &w, unsigned lane) { return w.threadIndex(lane).y; }>};
  table["%tid.z"] = {
      32,
      perLane<[](Warp &w, unsigned lane) { return w.threadIndex(lane).z; }>};
}

void addLanes(Table &table) {
  table["%laneid"] = {32, perLane<[](Warp &, unsigned lane) { return lane; }>};
  table["%lanemask_eq"] = {
      32, perLane<[](Warp &, unsigned lane) { return 1u << lane; }>};
  table["%lanemask_lt"] = {
      32, perLane<[](Warp &, unsigned lane) { return lanesBelow(lane); }>};
  table["%lanemask_le"] = {32, perLane<[](Warp &, unsigned lane) {
                             return lanesBelow(lane) | 1u << lane;
                           }>};
  table["%lanemask_ge"] = {
      32, perLane<[](Warp &, unsigned lane) { return ~lanesBelow(lane); }>};
  table["%lanemask_gt"] = {32, perLane<[](Warp &, unsigned lane) {
                             return ~(lanesBelow(lane) | 1u << lane);
                           }>};
}

void addScalars(Table &table) {
  auto add = [&](std::string_view name, unsigned bits, Read read) {
    table[name] = {bits, read};
  };
  add("%warpid", 32, same<[](Warp &w) { return (w.index + 1) % 64; }>);
  add("%nwarpid", 32, same<[](Warp &) { return 64; }>);
  add("%smid", 32,
      same<[](Warp &w) { return ctaNumber(w) % multiprocessors(w); }>);
  add("%nsmid", 32, same<multiprocessors>);
  add("%gridid", 64, same<[](Warp &) { return 1; }>);
  add("%current_graph_exec", 64, same<[](Warp &) { return 0; }>);
  add("%is_explicit_cluster", 1,
      same<[](Warp &w) { return w.machine.explicitCluster; }>);
  add("%cluster_ctarank", 32, same<[](Warp &w) { return w.cta.rank; }>);
  add("%cluster_nctarank", 32,
      same<[](Warp &w) { return shapeOf(w).count(); }>);
  add("%clock", 32, same<[](Warp &w) { return uint32_t(ticks(w)); }>);
  add("%clock_hi", 32, same<[](Warp &w) { return (ticks(w) >> 32); }>);
  add("%clock64", 64, same<ticks>);
  add("%globaltimer", 64, same<ticks>);
  add("%globaltimer_lo", 32, same<[](Warp &w) { return uint32_t(ticks(w)); }>);
  add("%globaltimer_hi", 32, same<[](Warp &w) { return (ticks(w) >> 32); }>);
  add("%total_smem_size", 32, same<totalShared>);
  add("%aggr_smem_size", 32,
      same<[](Warp &w) { return totalShared(w) + kSharedBase; }>);
  add("%dynamic_smem_size", 32,
      same<[](Warp &w) { return w.machine.config.dynamicSharedBytes; }>);
  add("%reserved_smem_offset_begin", 32, same<[](Warp &) { return 0; }>);
  add("%reserved_smem_offset_end", 32,
      same<[](Warp &) { return kSharedBase; }>);
  add("%reserved_smem_offset_cap", 32,
      same<[](Warp &) { return kSharedBase; }>);
}

} // namespace

const SpecialRegister *ptxsim::findSpecial(std::string_view name) {
  static const Table kTable = [] {
    Table table;
    addVectors(table);
    addLanes(table);
    addScalars(table);
    return table;
  }();
  // The registers that belong to the driver read as zero.
  static const SpecialRegister kZero = {32, same<[](Warp &) { return 0; }>};
  static const SpecialRegister kZero64 = {64, same<[](Warp &) { return 0; }>};
  auto found = kTable.find(name);
  if (found != kTable.end())
    return &found->second;
  bool environment =
      name.substr(0, 7) == "%envreg" || name.substr(0, 3) == "%pm";
  if (!environment)
    return nullptr;
  return name.ends_with("_64") ? &kZero64 : &kZero;
}

Outcome ptxsim::executeReadSpecial(Warp &warp, const Instruction &inst,
                                   LaneMask active) {
  inst.data<SpecialRegister>().read(warp, warp.row(inst.dst[0]), active);
  return Outcome::Next;
}
