//===- Family.h - The interface of a kernel family --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the planner asks of the way in which a kernel multiplies. Each family
// has one such record in its folder; Family.cpp lists them. The parts that only
// one folder reads are described there.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_FAMILIES_FAMILY_H
#define FMHA_LIB_SCHEDULE_FAMILIES_FAMILY_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace fmha::target {
struct Target;
} // namespace fmha::target

namespace fmha::schedule {

enum class FamilyKind;
struct FamilyCandidates;
struct FamilyCost;
struct FamilyRules;
struct Problem;
struct Role;
struct Schedule;
struct SmemRegion;

/// What the roles of a CTA are, and where they keep tiles (Model).
struct KernelTraits {
  /// S and O are in tensor memory, and statistics of rows in shared memory,
  /// since different roles read them; else all are in registers of one role.
  bool accumulatesInTensorMemory;
  /// Roles read the next tile of their CTA from shared memory with every
  /// scheduler.
  bool announcesNextTile;
  /// With the scheduler `dynamic`, a CTA draws its next tile from a counter in
  /// device memory. If false, it takes over the tile of a CTA that has not
  /// started.
  bool drawsTiles;
  /// Returns the value of sectionBytes(); null if that is always 0.
  uint64_t (*sectionBytes)(const Problem &problem, const Schedule &schedule);
  /// Returns the value of runsAhead(); null if that is always false.
  bool (*runsAhead)(const Problem &problem, const Schedule &schedule);
  /// Returns the regions in which outputs of 16 bits are staged apart from
  /// queries, so that a CTA may run ahead: one for each query tile, or one that
  /// a role uses for one tile after the other; null or 0 if there are none.
  unsigned (*outputStages)(const Schedule &schedule);
  /// A CTA without rows for a query tile skips it, unless it runs ahead: no
  /// other tile waits for it.
  bool skipsEmptyTiles;
  /// A CTA of the scheduler `static` that runs ahead computes a long and a
  /// short tile in turn.
  bool pairsTiles;
  /// Returns the value of sortsTiles(); null if that is always false.
  bool (*sortsTiles)(const Problem &problem, const Schedule &schedule);
  /// The most columns of O that one role accumulates. With more `o_columns`
  /// several consumers share them. 0: there is no such bound.
  unsigned columnsOfConsumer;
  /// The value of usesAddresses().
  bool usesAddresses;
  /// The value of readsNewKeys().
  bool readsNewKeys;
  /// Returns the regions of shared memory in order, without offsets; null for
  /// those of tiles and rings, as Footprint computes them.
  std::vector<SmemRegion> (*regions)(const Problem &problem,
                                     const Schedule &schedule);
  /// Returns the barriers of bar.sync besides the CTA's.
  unsigned (*namedBarriers)(const Schedule &schedule);
  /// Returns the planner's roles.
  std::vector<Role> (*roles)(const Schedule &schedule);
};

struct Family {
  /// "wgmma", for reports.
  std::string_view name;
  FamilyKind kind;
  bool (*serves)(const target::Target &target);
  /// Returns whether kernels take q, k and v of that type, and keys in vectors
  /// if the problem has them.
  bool (*takes)(const Problem &problem);
  KernelTraits kernel;
  const FamilyRules &rules;
  const FamilyCost &cost;
  const FamilyCandidates &candidates;
};

/// Returns the family of that kind that serves the target, the first one if the
/// target is unknown (null) or none serves it.
const Family &familyServing(const target::Target *target, FamilyKind kind);
const Family &familyOf(const Schedule &schedule);
/// Returns the kind of the first family that serves the target and takes the
/// problem's q, k and v, that of the first one if none does.
FamilyKind usualFamily(const target::Target *target, const Problem &problem);

extern const Family tcgen05Family, wgmmaFamily, mmaSyncFamily, fmaFamily;
extern const FamilyRules tcgen05Rules, wgmmaRules, mmaSyncRules, fmaRules;
extern const FamilyCost tcgen05Cost, wgmmaCost, mmaSyncCost, fmaCost;
extern const FamilyCandidates tcgen05Candidates, wgmmaCandidates,
    mmaSyncCandidates, fmaCandidates;

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_FAMILIES_FAMILY_H
