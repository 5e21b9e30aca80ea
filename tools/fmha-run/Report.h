//===- Report.h - The report of fmha-run ------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outcome of a run as one JSON object (test/tools/fmha-run/schema.json) and
// as text. README.md describes both.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_RUN_REPORT_H
#define FMHA_TOOLS_RUN_REPORT_H

#include "Accuracy.h"

namespace fmha::tools {

struct Outcome {
  enum class Status { Ok, Inaccurate, Findings, Deadlock, Error };
  Status status = Status::Error;
  /// The reason why it could not run; only with Status::Error.
  std::string error;
  /// The arguments of the program, as in a shell.
  std::string arguments;
  /// Files that the run wrote.
  std::vector<std::string> written;
  std::optional<Shape> shape;
  /// Keys that the run appends to the cache of each sequence.
  int64_t newKeys = 0;
  /// Whether queries rotate by the angles of their positions.
  bool rotatesQueries = false;
  std::optional<runtime::Manifest> manifest;
  std::optional<reference::Comparison> accuracy;
  AssembleResult assembled;
  llvm::json::Array findings;
  /// Ops of a file's function that do not run, and their places.
  std::vector<std::string> ignored;
  std::optional<uint64_t> warpInstructions;
  /// The modeled time of each kernel (LaunchReport::times).
  llvm::json::Array times;
  std::optional<double> secondsCompile, secondsRun;
  std::string deviceName;

  /// Returns 0, 1 or 2.
  int exitCode() const;
};

void printJson(llvm::raw_ostream &stream, const Outcome &outcome);
void printText(llvm::raw_ostream &stream, const Outcome &outcome);

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_REPORT_H
