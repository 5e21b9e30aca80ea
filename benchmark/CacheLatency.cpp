//===- CacheLatency.cpp - From a cache hit to a loaded module -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   cache-latency [TARGET]
//
// Compiles the kernel of head dim 128, causal, into a cache of its own, then
// takes it from there and loads it with the driver that FMHA_DRIVER names:
// first PTX, then, where there is ptxas and the driver takes it, the cubin.
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Compiler.h"
#include "fmha-c/Runtime.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

double now() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

struct Times {
  double lookUp = 0, load = 0;
};

/// Milliseconds of one look-up and load; nothing loaded counts as infinite.
Times once(const std::string &options, bool cubin) {
  FmhaResult *kernel = nullptr;
  double start = now();
  if (fmhaCompile(nullptr, options.c_str(), &kernel)) {
    std::fprintf(stderr, "cache-latency: %s\n", fmhaResultMessages(kernel));
    std::exit(2);
  }
  double found = now();
  size_t bytes = 0;
  const void *image = fmhaResultCubin(kernel, &bytes);
  if (!cubin) {
    image = fmhaResultPtx(kernel);
    bytes = std::strlen(fmhaResultPtx(kernel));
  }
  FmhaModule module = nullptr;
  bool failed =
      fmhaModuleLoad(image, bytes, fmhaResultManifest(kernel), &module);
  double loaded = now();
  if (failed)
    std::fprintf(stderr, "cache-latency: %s\n", fmhaLastError());
  fmhaModuleUnload(module);
  fmhaResultDestroy(kernel);
  return {found - start, failed ? HUGE_VAL : loaded - found};
}

void measure(const std::string &target, bool cubin) {
  std::string options = "{\"target\": \"" + target +
                        "\", \"head-dim\": 128, \"causal\": true, \"cubin\": " +
                        (cubin ? "true" : "false") + "}";
  double compiled = once(options, cubin).lookUp;
  std::vector<double> lookUp, both;
  for (int n = 0; n < 20; ++n) {
    Times times = once(options, cubin);
    if (times.load == HUGE_VAL)
      return;
    lookUp.push_back(times.lookUp);
    both.push_back(times.lookUp + times.load);
  }
  std::sort(lookUp.begin(), lookUp.end());
  std::sort(both.begin(), both.end());
  std::printf("%s %s: compiled in %.1f ms, looked up in %.3f ms, looked up and "
              "loaded in %.3f ms (median of 20; worst %.3f ms)\n",
              target.c_str(), cubin ? "cubin" : "PTX", compiled, lookUp[10],
              both[10], both.back());
}

} // namespace

int main(int count, char **arguments) {
  std::string target = count > 1 ? arguments[1] : "sm_90a";
  char folder[] = "/tmp/cache-latency-XXXXXX";
  if (!mkdtemp(folder))
    return 2;
  setenv("FMHA_CACHE_DIR", folder, 1);
  measure(target, /*cubin=*/false);
  if (std::getenv("FMHA_PTXAS"))
    measure(target, /*cubin=*/true);
  std::filesystem::remove_all(folder);
  return 0;
}
