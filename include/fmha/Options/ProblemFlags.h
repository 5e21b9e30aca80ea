//===- ProblemFlags.h - The flags that describe a problem -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fmha-run and fmha-compile describe an attention problem with the same flags,
// or with an MLIR file that the flags must not contradict.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_OPTIONS_PROBLEMFLAGS_H
#define FMHA_OPTIONS_PROBLEMFLAGS_H

#include "fmha/Options/FlagTable.h"
#include "fmha/Pipeline/Compiler.h"
#include "fmha/Schedule/Model/Overrides.h"

namespace fmha::tools {

/// The problem that the flags describe. A value is absent if its flag is.
struct ProblemFlags {
  /// Path of an MLIR file, "-" for standard input, or empty.
  std::string input;
  /// The function of the file to compile, or empty if it has one. With
  /// `functionMayDiffer` a file with one function may have another.
  std::string function;
  bool functionMayDiffer = false;
  std::string target = "sm_100a";
  /// Types of q, of k and v, and of the output.
  std::optional<schedule::DataType> dtype, kvDtype, outDtype;
  std::optional<schedule::Mask::Kind> mask;
  /// A negative value is no bound.
  std::optional<int64_t> windowLeft, windowRight;
  std::optional<uint64_t> batch, qHeads, kvHeads, qLen, kvLen, kvLenMean;
  std::optional<uint64_t> headDim, headDimV;
  /// Number of keys per page, with --block-tables.
  std::optional<uint64_t> pageSize;
  /// Numbers of queries and keys per block, with --kv-indices.
  std::optional<uint64_t> blockRows, blockKeys;
  /// The length of the lists of --topk, where a file gives it.
  std::optional<uint64_t> topkLen;
  /// Returns the keys that a query may see, if they are known.
  std::optional<uint64_t> seenKeys() const {
    return topkLen ? topkLen : kvLen ? kvLen : qLen;
  }
  std::optional<double> scale;
  /// Facts with a flag, true or false. Those with a list have the name of its
  /// file, or an empty name if only the kernel is described.
#define FMHA_ROW(member, ...) std::optional<bool> member;
#define FMHA_SWITCH(member, ...) std::optional<bool> member;
#define FMHA_LIST(member, ...) std::optional<std::string> member;
#define FMHA_TABLE(member, ...) std::optional<std::string> member;
#define FMHA_QUERY_TABLE(member, ...) std::optional<std::string> member;
#define FMHA_BLOCK_COUNTS(member, ...) std::optional<std::string> member;
#define FMHA_BLOCK_LISTS(member, ...) std::optional<std::string> member;
#define FMHA_FLOAT_LIST(member, ...) std::optional<std::string> member;
#include "fmha/Schedule/Model/Facts.def"
  /// The second KV segment, with files as above. A length also implies that
  /// there is one.
  std::optional<std::string> source2K, source2V;
  std::optional<uint64_t> source2Len;
  std::optional<schedule::Mask::Kind> source2Mask;
  bool hasSource2() const { return source2K || source2V || source2Len; }
  /// New keys and values that are appended to the caches, with files as above.
  std::optional<std::string> keyNew, valueNew;
  /// The number of new keys that an op of a file fixes.
  std::optional<uint64_t> newLen;
  /// True: a kernel of fmha.append appends. False: the kernel of attention
  /// does. Unset: the kernel of attention, if it can.
  std::optional<bool> appendsApart;
  /// Returns whether the kernel of attention appends them in the launch that
  /// the flags describe, as far as they do; else fmha.append
  /// does.
  bool appendsInKernel(const schedule::Problem &problem) const;
  /// The rotary embedding of queries and new keys: none, half or interleaved,
  /// and the columns that rotate, all of them if unset.
  std::string rotary = "none";
  std::optional<uint64_t> rotaryDim;
  bool hasRotary() const { return rotary != "none"; }
  /// Sets the facts of new keys in `problem`, which has all others.
  void describeAppend(schedule::Problem &problem) const;
  /// Takes the new keys and the rotary embedding of an op of a file: random
  /// keys if no flag names files. Returns an error if flags contradict the op.
  llvm::Error adoptAppend(const KernelSpec &spec);
  /// Modifications of scores, with files as above.
  std::optional<double> softcap;
  bool softcapApprox = false;
  std::optional<std::string> alibi, bias, maskFile;
  std::string layout = "bshd";
  /// The order of the dimensions of caches: nhd or hnd of pages, or mmha.
  std::string cacheLayout = "nhd";
  /// Whether the head dim of k is in vectors of 16 bytes.
  bool hasKeyVectors() const { return cacheLayout == "mmha"; }
  schedule::Overrides overrides;
  /// A schedule as an MLIR attribute, or empty.
  std::string schedule;
  /// Whether varlen metadata and captures are needed for a launch, so that
  /// their flags must name files.
  bool needsFiles = false;

  void add(FlagTable &table);

private:
  void addTypes(FlagTable &table);
  void addFacts(FlagTable &table);
  void addPages(FlagTable &table);
  void addBlocks(FlagTable &table);
  void addAppend(FlagTable &table);
  void addSource2(FlagTable &table);
  void addScore(FlagTable &table);
  void addWindow(FlagTable &table, llvm::StringRef name,
                 const std::string &help, std::optional<int64_t> &bound);
  void addField(FlagTable &table, const schedule::ScheduleField &field);
};

/// Returns the score modifications that `flags` name.
ScoreSpec scoreOf(const ProblemFlags &flags);

/// Returns an error if the number of query heads is no multiple of the number
/// of KV heads, as `flags` or the defaults give them.
llvm::Error checkHeads(const ProblemFlags &flags);

/// Returns the launch to plan for; 0 is an unknown extent. Extents of keys that
/// are not given default to those of queries.
schedule::Hints hintsOf(const ProblemFlags &flags);

/// Returns an error if --schedule is given with an input file, which contains
/// its own schedule.
llvm::Error checkScheduleFlag(const ProblemFlags &flags);

/// A module for the compiler, and its specification.
struct Source {
  std::string text, name;
  KernelSpec spec;
  /// Whether the module is one fmha.attention, which `spec` describes.
  bool isAttention = true;
  /// Ops of the file's function that are not compiled, and their places.
  std::vector<std::string> ignored;
};

/// Reads and inspects the input file, or builds the module that the flags
/// describe. Sets in `flags` the extents that the file fixes. Returns an error
/// for an unreadable or wrong file (with the diagnostics of the compiler), or
/// for a flag that contradicts it.
llvm::Expected<Source> resolveSource(ProblemFlags &flags);

/// Returns "name.mlir:3:8: error: message", one line per diagnostic.
std::string formatDiagnostics(const std::vector<Diagnostic> &diagnostics);
/// Returns the same after "tool: error: ", unless it begins with that.
llvm::Error failureOf(const std::vector<Diagnostic> &diagnostics);

/// Prints the version of `tool`, for --version.
void printVersion(llvm::raw_ostream &stream, llvm::StringRef tool);

} // namespace fmha::tools

#endif // FMHA_OPTIONS_PROBLEMFLAGS_H
