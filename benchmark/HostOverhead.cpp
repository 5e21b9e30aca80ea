//===- HostOverhead.cpp - What a launch costs the host --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CPU time of one fmhaLaunch():
//
//   host-overhead                                   on a driver that does
//   nothing host-overhead KERNEL.ptx KERNEL.json            that kernel on
//   FMHA_DRIVER's
//
// Launches are warm (every tensor map is cached), or miss the cache with each
// of their tensors. With --limit-us=N the program fails if a warm launch takes
// more.
//
//===----------------------------------------------------------------------===//

#include "fmha-c/Runtime.h"
#include "fmha/Runtime/Driver/Calls.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

namespace {

namespace driver = fmha::runtime::driver;

[[noreturn]] void die(const std::string &why) {
  std::fprintf(stderr, "host-overhead: %s\n", why.c_str());
  std::exit(2);
}

std::string read(const char *path) {
  std::ifstream file(path);
  if (!file)
    die(std::string("cannot read ") + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// CPU time of this thread, in microseconds.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) * 1e-3;
}

struct Tensor {
  std::vector<int64_t> shape;
  DLTensor dl = {};
};

/// Tensors of one decode-like problem for the kernels that q, k, v, o and lse
/// are enough for.
std::vector<Tensor> makeTensors(FmhaModule module, int64_t dim, int64_t dimV,
                                bool isHalf, const driver::Calls *memory) {
  const std::vector<int64_t> shapes[] = {{4, 16, 32, dim},
                                         {4, 512, 8, dim},
                                         {4, 512, 8, dimV},
                                         {4, 16, 32, dimV},
                                         {4, 32, 16}};
  std::vector<Tensor> tensors;
  if (fmhaTensorCount(module) > std::size(shapes))
    die("expected a kernel of q, k, v, o and lse, got one with '" +
        std::string(fmhaTensorName(module, std::size(shapes))) + "'");
  for (size_t n = 0; n < fmhaTensorCount(module); ++n) {
    Tensor tensor{shapes[n], {}};
    DLDataType half = {uint8_t(isHalf ? kDLFloat : kDLBfloat), 16, 1};
    tensor.dl.dtype = n < 4 ? half : DLDataType{kDLFloat, 32, 1};
    tensor.dl.device = {kDLCUDA, 0};
    tensor.dl.ndim = int32_t(tensor.shape.size());
    unsigned long long address = (n + 1) << 32;
    if (memory && memory->memAlloc(&address, 64 << 20))
      die("the driver has no memory");
    tensor.dl.data = reinterpret_cast<void *>(address);
    tensors.push_back(std::move(tensor));
  }
  for (Tensor &tensor : tensors)
    tensor.dl.shape = tensor.shape.data();
  return tensors;
}

/// Returns the median microseconds of a launch over rounds of `perRound`;
/// `before` runs before each launch, and its own cost is not counted.
template <typename Before, typename After>
double measure(FmhaModule module, std::vector<Tensor> &tensors, int perRound,
               Before before, After after) {
  std::vector<const DLTensor *> pointers;
  for (Tensor &tensor : tensors)
    pointers.push_back(&tensor.dl);
  std::vector<double> rounds;
  for (int round = 0; round < 21; ++round) {
    double begin = now();
    for (int n = 0; n < perRound; ++n) {
      before(round * perRound + n);
      if (fmhaLaunch(module, pointers.data(), pointers.size(), nullptr,
                     nullptr))
        die(fmhaLastError());
    }
    rounds.push_back((now() - begin) / perRound);
    after();
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2];
}

} // namespace

int main(int argc, char **argv) {
  double limit = 0;
  std::vector<const char *> files;
  for (int n = 1; n < argc; ++n)
    if (std::strncmp(argv[n], "--limit-us=", 11) == 0)
      limit = std::atof(argv[n] + 11);
    else
      files.push_back(argv[n]);
  if (files.size() != 0 && files.size() != 2)
    die("usage: host-overhead [--limit-us=N] [KERNEL.ptx KERNEL.json]");
  bool isStub = files.empty();
  if (isStub)
    setenv("FMHA_DRIVER", FMHA_STUB_DRIVER, 1);
  std::string image = isStub ? "stub" : read(files[0]);
  std::string manifest = read(isStub ? FMHA_SAMPLE_MANIFEST : files[1]);
  auto number = [&](const char *name) {
    size_t at = manifest.find(std::string("\"") + name + "\":");
    return at == std::string::npos
               ? 0
               : std::atoll(manifest.c_str() + at + std::strlen(name) + 3);
  };
  FmhaModule module = nullptr;
  if (fmhaModuleLoad(image.data(), image.size(), manifest.c_str(), &module))
    die(fmhaLastError());
  std::string why;
  std::optional<driver::Calls> calls = driver::openDefault(why);
  bool isHalf = manifest.find("\"f16\"") != std::string::npos;
  std::vector<Tensor> tensors =
      makeTensors(module, number("head_dim"), number("head_dim_v"), isHalf,
                  isStub ? nullptr : &*calls);
  // A GPU's queue of launches must not fill up, or the host waits.
  int perRound = isStub ? 20000 : 500;
  auto wait = [&] { calls->synchronize(); };
  double warm = measure(module, tensors, perRound, [](int) {}, wait);
  double cold = measure(
      module, tensors, perRound,
      [&](int n) {
        for (Tensor &tensor : tensors)
          tensor.dl.byte_offset = uint64_t(n % 50000) * 256;
      },
      wait);
  std::printf("driver %s\n", calls->library.c_str());
  std::printf("warm launch              %.3f us\n", warm);
  std::printf("every tensor map missed  %.3f us\n", cold);
  fmhaModuleUnload(module);
  if (limit == 0 || warm <= limit)
    return 0;
  std::fprintf(stderr, "host-overhead: expected at most %.3f us, got %.3f\n",
               limit, warm);
  return 1;
}
