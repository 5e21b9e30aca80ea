//===- Compiler.h - From an attention op to PTX -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as a function. Tools, the Python package and other programs call
// this and nothing below it; it includes no MLIR header.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PIPELINE_COMPILER_H
#define FMHA_PIPELINE_COMPILER_H

#include "fmha/Schedule/Model/Schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fmha {

/// The levels of the IR, in the order in which an op passes them.
enum class Level { Attention, Tiled, Placed, Specialised, Machine, NVVM };
/// "attention", "tiled", "placed", "specialised", "machine", "nvvm".
std::optional<Level> parseLevel(std::string_view name);
std::string_view stringify(Level level);

/// What becomes of a score after the scale, one step behind the other: c·tanh(s
/// / c); minus a slope of the head times the distance of row and key; plus a
/// bias; -inf where a mask is 0. Memory is read in this order: slopes [q_heads]
/// f32, biases and mask [batch, q_heads, q_len, kv_len] f32 and i8, in which an
/// extent of 1 serves all. Of two sources the first takes all steps, the second
/// the cap.
struct ScoreSpec {
  std::optional<double> softcap;
  bool alibi = false, bias = false, mask = false;
  bool any() const { return softcap || alibi || bias || mask; }
};

/// What one kernel computes, where no MLIR text is given. `scale` absent means
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
  std::optional<uint64_t> batch, qLen, kvLen, qHeads, kvHeads, kvLen2;
};

/// The module text that `spec` stands for: one public function with one
/// fmha.attention on strided memrefs with dynamic lengths.
std::string buildModule(const KernelSpec &spec);

struct CompileOptions {
  std::string target = "sm_100a";
  schedule::Overrides overrides;
  /// What the planner may know of the launch, besides the extents that the
  /// module fixes.
  schedule::Hints hints;
  Level from = Level::Attention;
  /// Absent: down to PTX.
  std::optional<Level> to;
  /// Keep the IR text of every level passed (CompileResult::levels).
  bool keepLevels = false;
  /// Keep LLVM IR text (CompileResult::llvm).
  bool keepLLVM = false;
  /// Verify capacities and synchronisation behind each level that has places.
  bool verifyKernels = true;
  /// Ask ptxas about the kernel, and take the best runner-up of the plan that
  /// it does not spill if it spills the best schedule. An error without ptxas.
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
  /// What the input op says (the flags of a tool must not contradict it), and
  /// in its problem the hints of the options.
  KernelSpec spec;
  std::optional<schedule::Plan> plan;
};

/// A schedule that stands alone, and what is wrong with it where `ok` is false.
struct ScheduleText {
  bool ok = false;
  std::vector<Diagnostic> diagnostics;
  /// For KernelSpec::schedule: one attribute and nothing else.
  std::string text;
};

/// Reads `text`, `#fmha.schedule<...>`, which messages call `name`; if it names
/// no target it is for `target`.
ScheduleText readSchedule(const std::string &text, const std::string &name,
                          const std::string &target);

/// Compiles the one fmha.attention, or the one fmha.merge, of `moduleText`
/// (MLIR text, `name` appears in messages). Of a merge `ptx` and `manifest`
/// count. Never aborts on bad input: `ok` is false and `diagnostics` says why.
CompileResult compile(const std::string &moduleText, const std::string &name,
                      const CompileOptions &options);

/// What a kernel of fmha.merge computes: of the facts those that it has.
struct MergeSpec : schedule::Facts {
  unsigned headDim = 128;
  /// "f16", "bf16" or "f32".
  std::string output = "bf16";
};

/// Returns a module with one function @merge, of one fmha.merge.
std::string mergeModule(const MergeSpec &spec);

/// Compiles one fmha.merge on strided memrefs with dynamic extents: `ptx` and
/// `manifest` of the result count.
CompileResult compileMerge(const MergeSpec &spec, const std::string &target);

/// Reads only the problem out of `moduleText`: parse and verify, no lowering.
CompileResult inspect(const std::string &moduleText, const std::string &name);

/// What ptxas says of a kernel.
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
