//===- ParserFuzzer.cpp - Any bytes as PTX text ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text is parsed or refused with an Error that names a line of it; nothing else
// may happen.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Simulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace ptxsim;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  try {
    Module::parse(text, "fuzz.ptx");
  } catch (const Error &error) {
    auto lines = unsigned(std::count(text.begin(), text.end(), '\n')) + 1;
    if (error.line > lines || !*error.what()) {
      std::fprintf(stderr, "line %u of %u: %s\n", error.line, lines,
                   error.what());
      std::abort();
    }
  }
  return 0;
}
