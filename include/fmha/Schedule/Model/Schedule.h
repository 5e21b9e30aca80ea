//===- Schedule.h - How one attention kernel is built -----------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedule is data: the planner writes it, a user may write it by hand,
// passes only obey it. This library does not depend on MLIR: it turns a Problem
// into a Schedule and its MemoryMap.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODEL_SCHEDULE_H
#define FMHA_SCHEDULE_MODEL_SCHEDULE_H

#include "fmha/Schedule/Model/Capture.h"
#include "fmha/Schedule/Model/Facts.h"
#include "fmha/Schedule/Model/Mask.h"

#include <bitset>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fmha::schedule {

enum class DataType { F16, BF16, F32, E4M3 };
/// Which units of the target multiply, and so which family the kernel is of.
/// Mma: its tensor cores (tcgen05 or wgmma). Fma: plain threads, on any target.
enum class FamilyKind { Mma, Fma };
/// Where the exponentiated score tile P is kept for the second matrix product.
enum class PPlacement { Auto, Tmem, Smem, Registers };
/// Which output tiles a CTA computes. Single: one tile, that of its index.
/// Static: as many CTAs as the GPU has SMs compute every n-th tile each.
/// Dynamic: a CTA that has finished takes over the tile of one that has not
/// started.
enum class Scheduler { Single, Static, Dynamic };
/// How K and V are copied to shared memory. Tma: one thread, a message for each
/// tile or page. CpAsync: several warps, 16 bytes of any address per thread.
/// Convert: a warpgroup loads e4m3 to registers, and stores it as f16 or bf16.
/// Gather4: as Tma, but a message has four rows from anywhere.
enum class KvCopy { Tma, CpAsync, Convert, Gather4 };
/// What determines how many CTAs share the keys of a sequence. Sequence: each
/// sequence has the same number. Length: all sequences share splits x batch
/// slots in proportion to their lengths (SplitShares.h).
enum class SplitBy { Sequence, Length };
/// The order of products that one thread issues with tcgen05. Commit: before a
/// product overwrites operands of earlier ones, the thread waits until these
/// are complete. Issue: the tensor core executes them in the order of issue.
enum class MmaOrder { Commit, Issue };

/// The names of the values of each of these enumerations, in order.
inline constexpr std::string_view dataTypeNames[] = {"f16", "bf16", "f32",
                                                     "e4m3"};
inline constexpr std::string_view familyKindNames[] = {"mma", "fma"};
inline constexpr std::string_view placementNames[] = {"auto", "tmem", "smem",
                                                      "registers"};
inline constexpr std::string_view schedulerNames[] = {"single", "static",
                                                      "dynamic"};
inline constexpr std::string_view kvCopyNames[] = {"tma", "cp_async", "convert",
                                                   "gather4"};
inline constexpr std::string_view splitByNames[] = {"sequence", "length"};
inline constexpr std::string_view mmaOrderNames[] = {"commit", "issue"};
inline constexpr std::string_view switchNames[] = {"false", "true"};

/// The compile-time properties of a kernel: lengths, batch and head counts are
/// run-time values and appear only as hints (0 = unknown).
struct Problem : Facts {
  /// The type of Q, and of K, V and O unless a fact gives another one.
  DataType dtype = DataType::BF16;
  unsigned headDim = 128;
  unsigned headDimV = 128;
  /// Number of keys per page if K and V are paged caches, otherwise 0.
  unsigned pageSize = 0;
  /// Number of columns of queries and new keys that the kernel rotates.
  unsigned rotaryDim = 0;
  /// The rows and keys of a block of block lists, 0 without them.
  unsigned blockRows = 0, blockKeys = 0;
  Mask mask;
  /// The mask of a second KV segment.
  Mask mask2;
  /// The tensors that the score region reads.
  std::vector<Capture> captures;
#define FMHA_HINT(member, hint, ...) unsigned hint = 0;
#include "fmha/Schedule/Model/Hints.def"

  bool operator==(const Problem &) const = default;

  /// Returns whether the tensor maps of keys and values end where a sequence
  /// does: for both segments or none, since one message serves either. Rows
  /// that lists name are copied one by one.
  bool kvEndsPerSequence() const {
    return (cuSeqlensK || kvLens || source2Lens || blockTables) && !topk;
  }
  /// Returns the types of K and V, and of the output.
  DataType kvDtype() const { return kvE4M3 ? DataType::E4M3 : dtype; }
  DataType outDtype() const {
    return outF32    ? DataType::F32
           : outF16  ? DataType::F16
           : outBF16 ? DataType::BF16
                     : dtype;
  }
  /// Makes `type` the type of the output.
  void setOutDtype(DataType type) {
    outF32 = type == DataType::F32;
    outF16 = type == DataType::F16 && dtype != type;
    outBF16 = type == DataType::BF16 && dtype != type;
  }
  /// Returns whether the kernel rotates queries and new keys.
  bool rotates() const { return rotaryDim != 0; }
  /// Returns whether an output depends on which maximum was subtracted.
  bool needsTrueMax() const { return rowMax || rowSum || unnormalised; }
};

/// Returns the problem of a partial kernel of split-KV: unnormalized f32
/// output, maximum and sum. The merge kernel applies the sink and writes LSE.
Problem partOf(Problem problem);

/// Extents of the launch to plan for, 0 where unknown; a kernel serves any
/// other launch as well.
struct Hints {
#define FMHA_HINT(member, ...) unsigned member = 0;
#include "fmha/Schedule/Model/Hints.def"
};

/// A hint: its name as an option, its help, and its members.
struct Hint {
  std::string_view name, help;
  unsigned Problem::*ofProblem;
  unsigned Hints::*there;
};
inline constexpr Hint hints[] = {
#define FMHA_HINT(member, hint, name, help)                                    \
  {name, help, &Problem::hint, &Hints::member},
#include "fmha/Schedule/Model/Hints.def"
};

/// Returns `problem` with the hints that it does not have yet. An unknown batch
/// counts as 1 if queries and heads are known.
Problem withHints(Problem problem, const Hints &given);
/// Returns `problem` without hints.
Problem withoutHints(Problem problem);

/// Warps [firstWarp, firstWarp + warps) of the CTA share one job, with
/// `registers` 32-bit registers per thread (set per warpgroup by setmaxnreg).
struct Role {
  std::string name;
  unsigned firstWarp = 0;
  unsigned warps = 0;
  unsigned registers = 0;
  bool operator==(const Role &) const = default;
};

/// Fields.def describes each field.
struct Schedule {
#define FMHA_FIELD(type, member, name, value, help) type member = value;
#include "fmha/Schedule/Model/Fields.def"

  const Role *findRole(std::string_view name) const;
  bool operator==(const Schedule &) const = default;
};

/// The tensors of a kernel that TMA copies, in the order of its operands.
enum class Operand { Query, Key, Value, Output };

/// Columns [column, column + columns) of all 128 lanes of tensor memory; for a
/// tile of 64 rows, of 16 lanes of every warp's 32, beginning at `lane` (0 or
/// 16). `aliases` names the region that has these columns, empty if they belong
/// to this one. Each stage begins `pitch` columns after the previous one;
/// `pitch` is 0 for a single stage.
struct TmemRegion {
  std::string name;
  unsigned column = 0, columns = 0;
  std::string aliases;
  unsigned lane = 0, stages = 1, pitch = 0;
  unsigned end() const { return column + (stages - 1) * pitch + columns; }
};

/// Bytes of dynamic shared memory from its 1024-byte aligned start; `bytes` is
/// one stage, stages follow each other.
struct SmemRegion {
  std::string name;
  unsigned offset = 0, bytes = 0, stages = 1, alignment = 16;
  std::string aliases;
};

/// Regions of kernels of tiles, for query tile i in {0, 1}: TMEM "S<i>", "O<i>"
/// and, if P is in TMEM, "P<i>", over S<i> unless there is room for two tiles
/// of all three; SMEM "Q<i>", "KV" (the ring, of K alone if there is a "V"),
/// "P<i>" if P is in SMEM, "out<i>" (the staged output, over Q<i>), "stats<i>"
/// (one f32 per thread of a warpgroup), "barriers" (8 bytes each),
/// "tmem_address" (neither of them with wgmma) and, if roles read the next tile
/// in shared memory, "next_tile" (NextTile or DrawnTiles).
struct MemoryMap {
  std::vector<TmemRegion> tmem;
  std::vector<SmemRegion> smem;
  /// Columns of tcgen05.alloc: a power of two, 32 to 512; 0 with wgmma.
  unsigned tmemColumns = 0;
  /// Dynamic shared memory of the launch, alignment slack included.
  unsigned smemBytes = 0;

  const TmemRegion *findTmem(std::string_view name) const;
  const SmemRegion *findSmem(std::string_view name) const;
};

/// The layout of "next_tile": the response of clusterlaunchcontrol.try_cancel,
/// the mbarrier that it signals, and the index of the next tile.
struct NextTile {
  static constexpr unsigned response = 0, barrier = 16, number = 24, bytes = 32;
};

/// The layout of "next_tile" if drawsTiles(): a ring of tile indices, with one
/// mbarrier per slot that signals "full" and one that signals "free".
struct DrawnTiles {
  static constexpr unsigned slots = 2, full = 0, free = 16, numbers = 32,
                            bytes = 40;
};

/// A field that a user may fix.
enum class Choice : unsigned {
#define FMHA_CHOICE(choice, ...) choice,
#include "fmha/Schedule/Model/Fields.def"
};
inline constexpr unsigned choiceCount = 0
#define FMHA_CHOICE(...) +1
#include "fmha/Schedule/Model/Fields.def"
    ;

/// The fields that a user fixes before planning; Overrides.h lists them.
class Overrides {
public:
  PPlacement pPlacement = PPlacement::Auto;
  /// Value of Choice::PackHeads: all query heads of a KV head in the hints.
  static constexpr unsigned wholeGroup = 0;

  /// Returns the value that a field is fixed at.
  std::optional<unsigned> operator[](Choice choice) const;
  /// Fixes a field, or leaves it open.
  Overrides &fix(Choice choice, std::optional<unsigned> value);
  bool operator==(const Overrides &) const = default;

private:
  /// Fields that are open have their default value.
  Schedule wanted;
  std::bitset<choiceCount> fixed;
};

/// A schedule that was considered and not chosen. Without roles it stands for
/// one with those of withRoles(). whyRejected() and Explain.h compute the
/// reason on demand: a plan has hundreds, and most are never asked about.
struct Rejected {
  Schedule schedule;
  /// The number of candidates that this one represents, itself included: those
  /// that differ from it only in fields that the reason does not depend on.
  unsigned candidates = 1;
};

struct Plan {
  Schedule schedule;
  MemoryMap map;
  /// The unit that bounds the chosen kernel, and its modeled clocks.
  std::string reason;
  /// Schedules that can serve the problem, best first.
  std::vector<Rejected> runnersUp;
  /// Schedules that violate a rule.
  std::vector<Rejected> rejected;
};
/// Receives each plan of an op without a schedule.
using PlanListener = std::function<void(const Plan &)>;

/// Returns the registers that each thread of a CTA of `threads` starts with,
/// out of the 65536 of an SM, which has `ctasPerSm` such CTAs: ptxas uses
/// multiples of 8. setmaxnreg moves registers only inside this pool.
unsigned registersAtLaunch(unsigned threads, unsigned ctasPerSm = 1);

/// Returns whether the roles of a CTA run ahead into its next tile: barriers
/// are initialized once, and messages are counted from tile to tile. Otherwise
/// a CTA that computes several tiles initializes its barriers again between
/// two of them, when no operation is in flight.
bool runsAhead(const Problem &problem, const Schedule &schedule);

/// Returns the distance, in lanes of tensor memory and in threads, of the
/// halves of a row of S and O: 16, or 64 in pairs of CTAs. 0 if rows are not
/// cut in halves.
unsigned lanesOfHalves(const Schedule &schedule);

/// Returns whether a CTA without rows for its second query tile skips that
/// tile. Otherwise it computes the tile on zeros: with wgmma other warpgroups
/// wait for it in any case, and roles that run ahead count equally many
/// messages in every tile.
bool skipsEmptyTiles(const Problem &problem, const Schedule &schedule);

/// Returns whether a CTA computes neighboring tiles of a known order one after
/// the other, so that a long one comes with a short one.
bool pairsTiles(const Problem &problem, const Schedule &schedule);

/// Returns whether a CTA draws its next tile from a counter in device memory,
/// `tile_counter`.
bool drawsTiles(const Schedule &schedule);

/// Returns whether a host launches at most as many CTAs as the device runs at
/// once, so that each CTA computes several tiles.
bool boundsCtas(const Schedule &schedule);

/// Returns whether plain threads read and write the tensors by their addresses;
/// otherwise passes on tiles make the kernel, and TMA copies.
bool usesAddresses(const Schedule &schedule);

/// Returns whether sequences share the slots of a batch by their lengths.
bool splitsByLength(const Schedule &schedule);

/// Returns whether threads copy K and V by their addresses; otherwise TMA does.
bool copiesKeysByThreads(const Schedule &schedule);

/// Returns whether a message of TMA has several rows of K or V from anywhere
/// (tile::gather4). Its coordinates follow from the strides, which the kernel
/// then needs.
bool gathersRows(const Schedule &schedule);

/// Returns `schedule`, with the planner's roles if it has none.
Schedule withRoles(Schedule schedule);

/// Returns `dim` rounded up to the 16 elements of an MMA step: the columns of
/// its tiles. Those from `dim` on hold zeros.
unsigned paddedColumns(unsigned dim);
/// The largest num_splits: more cost more to combine than to compute.
constexpr unsigned mostSplits = 256;
/// The rows of a message of KvCopy::Gather4.
constexpr unsigned gatheredRows = 4;
/// Returns the problem of the kernel of `schedule`, which may be a partial one.
Problem kernelProblem(const Problem &problem, const Schedule &schedule);

/// Returns the columns of O that one CTA computes, padded, and how many CTAs
/// share the rows of a query tile: ceil(head_dim_v / o_columns).
unsigned outputColumns(const Problem &problem, const Schedule &schedule);
unsigned outputPasses(const Problem &problem, const Schedule &schedule);
/// Returns the consumers that share the columns of O of a query tile, and how
/// many of those columns each has, in whole panels; the last one may have
/// fewer. Only the first one computes S and P.
unsigned outputConsumers(const Schedule &schedule);
unsigned consumerColumns(const Problem &problem, const Schedule &schedule);

/// Returns the rows of the box that one TMA instruction copies of `operand`: a
/// query tile, the keys of a block, or those of a message of V. Of a cache of
/// pages it is the most rows that never cross a page; gathered rows
/// are four.
unsigned boxRows(const Problem &problem, const Schedule &schedule,
                 Operand operand);

/// Returns the query heads per KV head, 0 without a hint.
unsigned groupHint(const Problem &problem);
/// Returns the queries of one head in a query tile.
unsigned queriesOfTile(const Schedule &schedule);

/// Returns log2 of the largest P in `type`: f16 ends below 2^16; bf16 and f32
/// below 2^128, and a row sums up to 2^31 keys. The caller bounds the sums of P
/// times V, which are finite as long as kv_len times the largest |v| stays
/// below 2^(128 - rescale_threshold - p_offset). With a scale per page P is
/// multiplied by a ratio of scales of V, which may be up to 2^8 in f16.
double mostGrowth(const Problem &problem);
/// The largest p_offset of any type.
constexpr unsigned mostPOffset = 96;

/// Returns a message that names the violated rule, what it requires and what
/// `schedule` has, or nothing if `schedule` can serve `problem` on its target.
/// A message begins with the id of its rule:
///
///   plan.C1   the target is known, attention can be compiled for it, and the
///             family takes the type of q, k and v
///   plan.C2   head dims are multiples of 8 (16 bytes, the unit of TMA), and S,
///             O and, with wgmma, P fit tensor memory or the registers that
///             RegisterDemand.def leaves
///   plan.C3   one or two query tiles of 128 rows or one of 64, KV blocks of
///             16 to 128 keys, by 16s; two tiles take whole blocks; pack_heads
///             is a power of two up to the rows of a tile. With wgmma one to
///             three tiles of 64 rows (one if ctas_per_sm, at most 3, is more
///             than 1), and KV blocks of a multiple of 16 keys up to 256. With
///             topk one tile, whose rows are heads of one query: pack_heads is
///             q_tile_rows. With blocks one head and no splits, a kv_block that
///             divides block_keys, and rows of a CTA that divide block_rows or
///             are a multiple of it, at most 16
///   plan.C4   one CTA or a pair of CTAs issues an MMA
///   plan.C5   P is in shared memory, or in tensor memory if O is in the same
///             lanes as S; with wgmma in registers or, with one CTA per SM, in
///             shared memory
///   plan.C6   there are at least two KV stages (one if V has a separate ring),
///             and shared memory holds all regions
///   plan.C7   P, at most 2^(rescale_threshold + p_offset), is finite in the
///             input type; the threshold is 0 if an output depends on the true
///             maximum: row_max, row_sum, unnormalised
///   plan.C8   every field has a value that a pass builds and that no limit of
///             RegisterDemand.def excludes; with wgmma at most two consumers
///             share the columns of O
///   plan.C9   passes know the roles, each with its number of warps
///   plan.C10  every warp of every warpgroup has one role
///   plan.C11  the roles of a warpgroup share a count that setmaxnreg can set,
///             no lower than the planner's, and the register file holds all
///
/// Plain threads (family = fma) have rules of the same numbers: any type, also
/// e4m3 (C1); head dims of whole vectors of 16 bytes (C2); one query of 1, 2 or
/// 4 heads and blocks of up to 1024 keys (C3); P in shared memory (C5), which
/// holds all regions (C6); the true maximum (C7); no field of tiles, no score
/// region, no blocks, no second segment and no packed sequences (C8); one role
/// of 2, 4 or 8 warps (C9) with no fewer registers than the planner's (C11).
std::optional<std::string> check(const Problem &problem,
                                 const Schedule &schedule);

/// Returns the memory map of `schedule`, which must have passed check().
MemoryMap layOut(const Problem &problem, const Schedule &schedule);

/// Returns a message that names the rule that `map` violates, or nothing. A
/// message begins with the id of its rule:
///
///   map.V1  every region that the schedule needs exists once, and no other
///   map.V2  a region has the size that its tile needs
///   map.V3  an alias lies inside the region that it names, P in the columns of
///           S that its layout requires
///   map.V4  regions that are no aliases do not overlap
///   map.V5  starts are aligned: tiles to the 1024-byte pattern of the swizzle
///   map.V6  all regions lie inside the requested memory, and that inside the
///           target's capacities; tensor memory comes in powers of two from 32
///           columns
///   map.V7  tiles of 128 rows begin at lane 0, tiles of 64 at lane 0 or 16,
///           and P in tensor memory has the lanes of its S and of its O
std::optional<std::string>
verify(const Problem &problem, const Schedule &schedule, const MemoryMap &map);

/// The memory map of a schedule, or the message of check() or verify().
struct CheckedMap {
  MemoryMap map;
  std::optional<std::string> error;
};
CheckedMap checkAndLayOut(const Problem &problem, const Schedule &schedule);

/// Enumerates candidates, ranks those that pass check() by the cost model and
/// returns the best. On failure `error` is the reason of the candidate that
/// violates the fewest rules, with the nearest changes of one field that help,
/// if there are any.
std::optional<Plan> plan(const Problem &problem, std::string_view target,
                         const Overrides &overrides, std::string &error);

/// Returns why `other`, one of `Plan::rejected`, violates a rule: "q_tiles = 2,
/// ...: plan.C6: ...".
std::string whyRejected(const Problem &problem, const Schedule &other);

std::string_view stringify(DataType type);
/// Returns the name in MLIR: "f8E4M3FN" of e4m3.
std::string_view elementName(DataType type);
/// Returns the bytes of an element.
unsigned bytesOf(DataType type);
std::string_view stringify(FamilyKind kind);
std::string_view stringify(PPlacement placement);
std::string_view stringify(Scheduler scheduler);
std::string_view stringify(KvCopy copy);
std::string_view stringify(SplitBy what);
std::string_view stringify(MmaOrder order);

} // namespace fmha::schedule

#endif // FMHA_SCHEDULE_MODEL_SCHEDULE_H
