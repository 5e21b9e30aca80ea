//===- KernelArguments.cpp - The parameters of one launch -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelArguments.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Runtime/Launch/TensorMap.h"

#include <cstring>

namespace fmha::runtime {
namespace {

llvm::Error encode(const Parameter &parameter, const DeviceTensor &tensor,
                   const RunValues &values, const driver::Api &api,
                   driver::TensorMap *map) {
  launch::MapRequest request;
  std::string problem;
  if (!launch::describeMap(parameter, tensor.view(), values, request, problem))
    return failure(problem);
  return api.check(launch::encodeMap(api, parameter, request, map),
                   "encoding the tensor map '" + parameter.name + "'");
}

} // namespace

llvm::Expected<KernelArguments>
KernelArguments::build(const KernelLaunch &launch, const Device &device,
                       const RunValues &values, const DeviceCaptures &captures,
                       Find find) {
  KernelArguments arguments;
  arguments.slots.resize(launch.parameters.size());
  for (size_t i = 0; i < arguments.slots.size(); ++i) {
    const Parameter &parameter = launch.parameters[i];
    unsigned char *bytes = arguments.slots[i].bytes;
    arguments.addresses.push_back(bytes);
    bool isTensor =
        parameter.kind == Parameter::Kind::TensorMap ||
        (parameter.kind == Parameter::Kind::Pointer && !parameter.capture);
    const DeviceTensor *tensor = isTensor ? find(parameter.tensor) : nullptr;
    if (isTensor && !tensor)
      return failure("parameter '" + parameter.name +
                     "': expected a manifest with \"" +
                     stringify(parameter.tensor) + "\": true, got false");
    uint64_t number = parameter.capture ? captures.valueOf(parameter)
                                        : values[parameter.value];
    if (parameter.kind == Parameter::Kind::U32 && number > UINT32_MAX)
      return failure("parameter '" + parameter.name + "': expected at most " +
                     llvm::Twine(UINT32_MAX) + ", got " + llvm::Twine(number));
    if (parameter.kind == Parameter::Kind::Pointer && !parameter.capture)
      number = tensor->address();
    // Little-endian, so that a u32 is the first half of the number.
    std::memcpy(bytes, &number, sizeof(number));
    if (parameter.kind != Parameter::Kind::TensorMap)
      continue;
    if (llvm::Error error =
            encode(parameter, *tensor, values, device.api(),
                   reinterpret_cast<driver::TensorMap *>(bytes)))
      return std::move(error);
  }
  return std::move(arguments);
}

} // namespace fmha::runtime
