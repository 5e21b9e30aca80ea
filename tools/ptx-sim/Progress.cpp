//===- Progress.cpp - A progress line for long runs -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include <cstdio>
#include <unistd.h>

namespace ptxsim::tool {

Progress::Progress() : terminal(isatty(STDERR_FILENO)) {}

void Progress::attach(Options &options) {
  if (!terminal)
    return;
  options.progress = [](void *self, uint64_t warpInstructions, uint64_t done,
                        uint64_t all) {
    static_cast<Progress *>(self)->show(warpInstructions, done, all);
  };
  options.progressContext = this;
}

void Progress::schedule(uint64_t number, uint64_t of) {
  prefix =
      "schedule " + std::to_string(number) + "/" + std::to_string(of) + ", ";
}

void Progress::show(uint64_t warpInstructions, uint64_t done, uint64_t all) {
  std::fprintf(stderr, "\r\033[K%s%.1f M warp instructions, %llu of %llu CTAs",
               prefix.c_str(), double(warpInstructions) * 1e-6,
               static_cast<unsigned long long>(done),
               static_cast<unsigned long long>(all));
  std::fflush(stderr);
  shown = true;
}

void Progress::clear() {
  if (shown)
    std::fputs("\r\033[K", stderr);
  shown = false;
}

} // namespace ptxsim::tool
