//===- Progress.cpp - A line that shows the progress ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include <cstdio>
#include <unistd.h>

namespace fmha::tools {

namespace {
constexpr double firstLine = 10, laterLines = 30;
} // namespace

Progress::Progress()
    : terminal(isatty(STDERR_FILENO)), thread([this] { loop(); }) {}

Progress::~Progress() {
  clear();
  {
    std::lock_guard lock(mutex);
    stop = true;
  }
  wake.notify_all();
  thread.join();
}

void Progress::stage(const std::string &what) {
  std::lock_guard lock(mutex);
  current = what;
  begin = std::chrono::steady_clock::now();
  nextLine = firstLine;
  if (terminal)
    show(0);
}

void Progress::clear() {
  std::lock_guard lock(mutex);
  current.clear();
  if (shown)
    std::fputs("\r\x1b[K", stderr);
  shown = false;
}

void Progress::show(double seconds) {
  if (terminal) {
    std::fprintf(stderr, "\r\x1b[K%s ... %.0f s", current.c_str(), seconds);
    std::fflush(stderr);
    shown = true;
    return;
  }
  if (seconds < nextLine)
    return;
  nextLine = seconds + laterLines;
  std::fprintf(stderr, "fmha-run: %s, %.0f s so far\n", current.c_str(),
               seconds);
}

void Progress::loop() {
  std::unique_lock lock(mutex);
  while (!stop) {
    wake.wait_for(lock, std::chrono::milliseconds(500));
    if (!stop && !current.empty())
      show(std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
               .count());
  }
}

} // namespace fmha::tools
