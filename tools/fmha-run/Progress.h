//===- Progress.h - A line that shows the progress --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef FMHA_TOOLS_RUN_PROGRESS_H
#define FMHA_TOOLS_RUN_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fmha::tools {

/// Prints the current stage and its duration on standard error: on a terminal
/// as one line that changes in place, elsewhere as an occasional line once it
/// takes long.
class Progress {
public:
  Progress();
  ~Progress();
  /// Begins the stage `what`.
  void stage(const std::string &what);
  /// Removes the line; nothing is printed until the next stage.
  void clear();

private:
  void loop();
  void show(double seconds);

  std::mutex mutex;
  std::condition_variable wake;
  std::string current;
  std::chrono::steady_clock::time_point begin;
  double nextLine = 0;
  bool terminal, stop = false, shown = false;
  std::thread thread;
};

} // namespace fmha::tools

#endif // FMHA_TOOLS_RUN_PROGRESS_H
