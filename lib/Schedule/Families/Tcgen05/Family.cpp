//===- Family.cpp - Kernels that multiply by tcgen05 ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plain.h"

#include "Families/Family.h"
#include "Model/Footprint.h"

#include "fmha/Layout/Tmem.h"
#include "fmha/Schedule/Model/Resources.h"
#include "fmha/Schedule/Model/Schedule.h"
#include "fmha/Schedule/Rules/RegisterDemand.h"
#include "fmha/Target/Target.h"

using namespace fmha;
using namespace fmha::schedule;

/// Returns the registers of each softmax thread of two tiles: a row of 128
/// scores and the state of a row, more with polynomials; shorter rows leave
/// some to correction. Without polynomials a row of 80 with a soft cap and two
/// segments spills 4 bytes with 168.
static unsigned softmaxOfTwo(bool emulating, unsigned kvBlock) {
  unsigned shortRow = emulating ? 80 : 64;
  if (kvBlock <= shortRow)
    return 168;
  return emulating ? 200 : 184;
}

/// With one query tile the warps of softmax1 may convert K and V. With fewer
/// registers ptxas 13.0 spills: conversions with 104 at head dim 224,
/// correction and roles of one thread with 88 next to a head_dim_v of 512 and
/// at head dim 256 (20 bytes each).
static std::vector<Role> convertingRoles() {
  constexpr unsigned other = 96;
  return {{"softmax0", 0, 4, 208},     {"convert", 4, 4, 112},
          {"correction", 8, 4, other}, {"load", 12, 1, other},
          {"mma", 13, 1, other},       {"store", 14, 1, other},
          {"spare", 15, 1, other}};
}

/// 16 warps, as in the fastest public kernels. Counts per thread are such that
/// ptxas 13.0 spills nowhere: a warpgroup of softmax holds a row of scores per
/// thread; the sum over the four warpgroups is 512 = 65536 / 128. With one
/// query tile softmax1 is idle and gives up its registers; with two,
/// polynomials for exponentials take some of correction's.
static std::vector<Role> rolesOf(const Schedule &s) {
  if (s.kvCopy == KvCopy::Convert)
    return convertingRoles();
  unsigned ofTwo = softmaxOfTwo(s.exp2EmulatedPercent, s.kvBlock);
  unsigned softmax0 = s.qTiles == 2 ? ofTwo : 216;
  unsigned softmax1 = s.qTiles == 2 ? ofTwo : 24;
  unsigned correction = s.qTiles == 2 ? 256 - ofTwo : 136, other = correction;
  return {{"softmax0", 0, 4, softmax0},
          {"softmax1", 4, 4, softmax1},
          {"correction", 8, 4, correction},
          {"load", 12, 1, other},
          {"mma", 13, 1, other},
          {"store", 14, 1, other},
          {"spare", 15, 1, other}};
}

/// Returns 0 for loops over tiles, where ptxas 13.0 would spill 8 bytes in
/// kernels with all features, and for caches of pages, whose extents do not
/// give the length of a sequence.
static uint64_t sectionBytesOf(const Problem &p, const Schedule &s) {
  return s.scheduler == Scheduler::Single && !p.pageSize ? bytesOfKeysInL2 : 0;
}

/// Returns whether roles run ahead into the next tile: with a known order of
/// tiles, if an output that is staged leaves the place of the queries to those
/// of the next tile, and the rings hold a block. The response to a request for
/// a tile is one message per tile, so a dynamic scheduler begins each tile with
/// new barriers. So do kernels that read extents again for each tile: the
/// number of a message would not follow from the lengths.
static bool runsAheadOf(const Problem &p, const Schedule &s) {
  if (s.scheduler != Scheduler::Static)
    return false;
  bool staged = !p.outF32 && s.splits == 1;
  return (!staged || stagesOutputApart(p, s)) && ringsOf(p, s).holdBlock() &&
         !demand::needs(demand::Workaround::RereadExtents, p, s);
}

/// Returns whether the tiles of all heads come by their lengths: not with
/// further features, where ptxas 13.0 would spill 8 bytes if a kernel has all
/// of them. Sections would mix long and short tiles in the round where another
/// one begins.
static bool sortsTilesOf(const Problem &p, const Schedule &s) {
  return runsAheadOf(p, s) && isPlain(p);
}

/// Returns one stage for all query tiles: correction writes one after the
/// other.
static unsigned outputStagesOf(const Schedule &s) {
  return s.scheduler == Scheduler::Static;
}

/// Returns the barriers of softmax warps that exchange the halves of a row: a
/// pair of CTAs has one query tile.
static unsigned namedBarriersOf(const Schedule &s) {
  return lanesOfHalves(s) == layout::tmemPairLanes;
}

constinit const Family fmha::schedule::tcgen05Family = {
    .name = "tcgen05",
    .kind = FamilyKind::Mma,
    .serves = [](const target::Target &gpu) { return gpu.hasTcgen05; },
    .takes =
        [](const Problem &problem) {
          bool isOut = problem.outF32 || problem.outDtype() == problem.dtype;
          return bytesOf(problem.dtype) == 2 && isOut && !problem.keyVectors;
        },
    .kernel = {.accumulatesInTensorMemory = true,
               .announcesNextTile = true,
               .drawsTiles = false,
               .sectionBytes = sectionBytesOf,
               .runsAhead = runsAheadOf,
               .outputStages = outputStagesOf,
               .skipsEmptyTiles = true,
               .pairsTiles = true,
               .sortsTiles = sortsTilesOf,
               .columnsOfConsumer = 0,
               .usesAddresses = false,
               .readsNewKeys = false,
               .regions = nullptr,
               .namedBarriers = namedBarriersOf,
               .roles = rolesOf},
    .rules = tcgen05Rules,
    .cost = tcgen05Cost,
    .candidates = tcgen05Candidates};
