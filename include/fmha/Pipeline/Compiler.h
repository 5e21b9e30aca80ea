//===- Compiler.h - From an attention op to PTX -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as a function. Tools, the Python package and other programs call
// only this; it includes no MLIR header.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_COMPILER_H
#define FMHA_PIPELINE_COMPILER_H

#include "fmha/Kernel/AppendAbi.h"
#include "fmha/Schedule/Model/Schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fmha {

/// The levels of the IR, in the order in which an op passes them.
enum class Level { Attention, Tiled, Placed, Specialized, Machine, NVVM };
/// "attention", "tiled", "placed", "specialised", "machine", "nvvm".
/// parseLevel() also accepts "specialized".
std::optional<Level> parseLevel(std::string_view name);
std::string_view stringify(Level level);

/// The steps from a scaled score to the result, in order: c·tanh(s / c); minus
/// a slope of the head times the distance of row and key; plus a bias; -inf
/// where a mask is 0. Memory is read in this order: slopes [q_heads] f32,
/// biases and mask [batch, q_heads, q_len, kv_len] f32 and i8, where an extent
/// of 1 is broadcast. With two KV segments the first has all steps, the second
/// the cap.
struct ScoreSpec {
  std::optional<double> softcap;
  bool alibi = false, bias = false, mask = false;
  /// tanh may be approximate (fastmath<afn>): off by up to 2^-11.
  bool softcapApprox = false;
  bool any() const { return softcap || alibi || bias || mask; }
};

/// The problem of one kernel, if there is no MLIR text. Without `scale` it is
/// 1/sqrt(headDim).
struct KernelSpec {
  schedule::Problem problem;
  std::optional<double> scale;
  ScoreSpec score;
  /// A schedule as an MLIR attribute, `#fmha.schedule<...>`, from
  /// readSchedule(); empty leaves it to the planner.
  std::string schedule;
  /// Extents that the input fixes. The kernel serves any; a host must not run
  /// the function with others.
  std::optional<uint64_t> batch, qLen, kvLen, qHeads, kvHeads, kvLen2, newLen;
};

/// Returns the module text of `spec`: one public function with one
/// fmha.attention on strided memrefs with dynamic lengths.
std::string buildModule(const KernelSpec &spec);

/// Where roles, stages and orders of loops come from. Table: the table of the
/// kernel family, written by hand. Derived: the results of a solver.
enum class PipelineSource { Table, Derived };

struct CompileOptions {
  std::string target = "sm_100a";
  schedule::Overrides overrides;
  /// Extents of the launch for the planner, besides those that the module
  /// fixes.
  schedule::Hints hints;
  Level from = Level::Attention;
  /// Absent: down to PTX.
  std::optional<Level> to;
  /// Keep the IR text of every level passed (CompileResult::levels).
  bool keepLevels = false;
  /// Keep LLVM IR text (CompileResult::llvm).
  bool keepLLVM = false;
  /// Verify capacities and synchronization after each level with memory spaces.
  bool verifyKernels = true;
  PipelineSource pipeline = PipelineSource::Table;
  /// Run ptxas on the kernel, and if it spills, use the best runner-up of the
  /// plan that it does not spill. An error without ptxas.
  bool verifyRegisters = false;
};

struct Diagnostic {
  enum class Severity { Error, Warning, Remark, Note } severity;
  /// "file:line:col", and the message, with its notes as further entries.
  std::string location, message;
};

struct CompileResult {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  std::string ptx;
  /// Launch manifest (JSON text), schema in include/fmha/Runtime/README.md.
  std::string manifest;
  std::string llvm;
  /// IR of the level `to`, or of the last level reached.
  std::string ir;
  std::vector<std::pair<Level, std::string>> levels;
  /// The spec of the input op (the flags of a tool must not contradict it),
  /// with the hints of the options in its problem.
  KernelSpec spec;
  /// Whether the input is one fmha.attention, which `spec` describes.
  bool isAttention = false;
  std::optional<schedule::Plan> plan;
};

/// A separate schedule, with diagnostics if `ok` is false.
struct ScheduleText {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  /// For KernelSpec::schedule: one attribute and nothing else.
  std::string text;
};

/// Reads `text`, `#fmha.schedule<...>`, named `name` in messages. Without a
/// target it is for `target`.
ScheduleText readSchedule(const std::string &text, const std::string &name,
                          const std::string &target);

/// Compiles the only fmha.attention, fmha.append or fmha.merge of `moduleText`,
/// MLIR text that messages call `name`. For an append or a merge only `ptx` and
/// `manifest` are set. On bad input `ok` is false and `diagnostics` has the
/// reasons; it never aborts.
CompileResult compile(const std::string &moduleText, const std::string &name,
                      const CompileOptions &options);

/// The problem of a kernel of fmha.merge, with the facts that merges have.
struct MergeSpec : schedule::Facts {
  unsigned headDim = 128;
  /// "f16", "bf16" or "f32".
  std::string output = "bf16";
};

/// Returns a module with one function @merge, of one fmha.merge.
std::string mergeModule(const MergeSpec &spec);

/// Compiles one fmha.merge on strided memrefs with dynamic extents. Sets `ptx`
/// and `manifest` of the result.
CompileResult compileMerge(const MergeSpec &spec, const std::string &target);

/// Returns a module with one function @append, of one fmha.append on strided
/// memrefs with dynamic extents, for compile().
std::string appendModule(const AppendProblem &problem);

/// Parses and verifies `moduleText`, and returns only its problem, if it has
/// one fmha.attention.
CompileResult inspect(const std::string &moduleText, const std::string &name);

/// The report of ptxas on a kernel.
struct AssembleResult {
  enum class Status { Ok, Failed, Missing } status = Status::Missing;
  std::string log;
  std::string cubin;
  std::optional<unsigned> registers, spillStoreBytes, spillLoadBytes;
};

/// Runs ptxas (on the PATH, or the one that FMHA_PTXAS names) on `ptx`.
AssembleResult assemble(const std::string &ptx, const std::string &target);

} // namespace fmha

#endif // FMHA_PIPELINE_COMPILER_H
