//===- Host.cpp - Custom calls on the simulator ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../HostDevice.h"
#include "Call.h"

#include "fmha/Runtime/Attention.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace fmha::jax {
namespace {

using namespace runtime;
using python::take;

/// Returns a dense tensor with these dimensions in a buffer.
Tensor4 tensorOf(const abi::Buffer &buffer, ElementType type,
                 const std::array<int64_t, 4> &dims) {
  Tensor4 tensor;
  tensor.host = buffer.data;
  tensor.dtype = type;
  tensor.dims = dims;
  tensor.strides = denseStrides(dims, Layout::BSHD);
  return tensor;
}

/// Returns the tensor [batch, length, heads, dim] in the buffer of that name.
Tensor4 rowsOf(const Call &call, std::string_view name, ElementType type) {
  const abi::Buffer &buffer = call.buffer(name);
  if (buffer.rank != 4)
    throw std::invalid_argument("expected 4 dimensions of " +
                                std::string(name) + ", got " +
                                std::to_string(buffer.rank));
  std::array<int64_t, 4> dims;
  std::copy_n(buffer.dims, 4, dims.begin());
  return tensorOf(buffer, type, dims);
}

/// Returns the LSE, [batch, heads, length] in memory, as the runtime has it.
std::optional<Tensor4> lseOf(const Call &call, const Tensor4 &q) {
  const abi::Buffer *buffer = call.find("lse");
  if (!buffer)
    return std::nullopt;
  auto [batch, length, heads, dim] = q.dims;
  Tensor4 lse = tensorOf(*buffer, ElementType::F32, {batch, length, heads, 1});
  lse.strides = {length * heads, 1, length, 1};
  return lse;
}

std::optional<std::vector<int32_t>> lengthsOf(const Call &call) {
  const abi::Buffer *buffer = call.find("kv_lens");
  if (!buffer)
    return std::nullopt;
  auto *first = static_cast<const int32_t *>(buffer->data);
  return std::vector<int32_t>(first, first + buffer->dims[0]);
}

AttentionTensors tensorsOf(const Call &call, const Manifest &manifest) {
  AttentionTensors tensors;
  tensors.q = rowsOf(call, "q", manifest.dtype);
  tensors.k = rowsOf(call, "k", manifest.kvDtype);
  tensors.v = rowsOf(call, "v", manifest.kvDtype);
  tensors.o = rowsOf(call, "o", manifest.outDtype);
  tensors.lse = lseOf(call, tensors.q);
  tensors.kvLens = lengthsOf(call);
  for (size_t n = 0; n < manifest.captures.size(); ++n) {
    const abi::Buffer &buffer = call.buffer("capture" + std::to_string(n));
    tensors.captures.push_back(
        {buffer.data, std::string(launch::nameOf(manifest.captures[n].element)),
         std::vector<int64_t>(buffer.dims, buffer.dims + buffer.rank)});
  }
  return tensors;
}

void checkReport(LaunchReport report) {
  if (report.status == LaunchReport::Status::Ok)
    return;
  throw std::runtime_error(
      "the simulator finds fault with the kernel: " + report.driverError + " " +
      llvm::formatv("{0}", llvm::json::Value(std::move(report.findings)))
          .str());
}

} // namespace

void runOnHost(const Call &call) {
  std::string text(call.attribute("manifest"));
  Manifest manifest = take(parseManifest(text));
  AttentionTensors tensors = tensorsOf(call, manifest);
  if (llvm::Error error = checkProblem(manifest, tensors))
    throw std::invalid_argument(llvm::toString(std::move(error)));
  std::lock_guard<std::mutex> lock(python::hostTurn());
  Device &device = python::enterHostDevice("sim", "", manifest.target);
  checkReport(take(runAttention(manifest, std::string(call.attribute("ptx")),
                                device, tensors, {})));
}

} // namespace fmha::jax
