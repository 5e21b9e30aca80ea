//===- attention.cpp - The installed package in use -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a kernel and runs it on the simulator, through installed headers and
// libraries alone. With V constant every output element is that constant.
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Attention.h"
#include "fmha/Pipeline/Compiler.h"
#include "fmha/Version.h"

#include <cstdio>
#include <vector>

using namespace fmha;
using namespace fmha::runtime;

static Tensor4 tensor(std::vector<uint16_t> &bits, int64_t length) {
  Tensor4 result;
  result.host = bits.data();
  result.dims = {1, length, 1, 64};
  result.strides = denseStrides(result.dims, Layout::BSHD);
  result.dtype = ElementType::F16;
  return result;
}

static int fail(llvm::Error error) {
  std::fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str());
  return 1;
}

static int run(const CompileResult &kernel) {
  constexpr int64_t qLen = 20, kvLen = 30;
  const uint16_t one = toHalf(1), value = toHalf(-2.5);
  std::vector<uint16_t> q(qLen * 64, one), k(kvLen * 64, one),
      v(kvLen * 64, value), o(qLen * 64);
  AttentionTensors tensors{tensor(q, qLen), tensor(k, kvLen), tensor(v, kvLen),
                           tensor(o, qLen), std::nullopt};
  auto manifest = parseManifest(kernel.manifest);
  if (!manifest)
    return fail(manifest.takeError());
  DeviceOptions options;
  options.library = PTXSIM_LIBRARY;
  auto device = Device::open(options);
  if (!device)
    return fail(device.takeError());
  auto report = runAttention(*manifest, kernel.ptx, **device, tensors, {});
  if (!report)
    return fail(report.takeError());
  bool good = report->status == LaunchReport::Status::Ok;
  for (uint16_t bits : o)
    good &= bits == value;
  std::printf("ran on the simulator: %s\n", good ? "ok" : "wrong");
  return good ? 0 : 1;
}

int main() {
  KernelSpec spec;
  spec.problem.dtype = schedule::DataType::F16;
  spec.problem.headDim = spec.problem.headDimV = 64;
  CompileResult result = compile(buildModule(spec), "consumer", {});
  for (const Diagnostic &entry : result.diagnostics)
    std::fprintf(stderr, "%s: %s\n", entry.location.c_str(),
                 entry.message.c_str());
  if (!result.ok)
    return 1;
  std::printf("fmha %s\n%s\n", FMHA_VERSION, result.ptx.c_str());
  return run(result);
}
