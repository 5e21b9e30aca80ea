//===- Parameters.cpp - The bytes of a kernel's parameters ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "State/DriverTypes.h"

namespace ptxsim::driver {
namespace {

/// Returns the first address of the parameters in the constant bank, by
/// generation, from the listings that nvdisasm prints (c[0x0][0x210] on sm_90).
size_t bankBase(unsigned cc) {
  if (cc >= 100)
    return 0x380;
  return cc >= 90 ? 0x210 : 0x160;
}

std::vector<uint8_t> copyOf(const void *bytes, size_t count) {
  const auto *first = static_cast<const uint8_t *>(bytes);
  return {first, first + count};
}

std::variant<ParameterBytes, std::string>
fromPointers(const Module::Entry &entry, void *const *pointers) {
  ParameterBytes result;
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    if (!pointers[i])
      return "kernelParams[" + std::to_string(i) + "] is null";
    result.push_back(copyOf(pointers[i], entry.parameters[i].size));
  }
  return result;
}

struct Packed {
  const uint8_t *bytes = nullptr;
  size_t size = 0;
};

std::optional<Packed> readExtra(void *const *extra) {
  Packed packed;
  bool sized = false;
  for (; *extra != launchParamEnd; extra += 2) {
    if (*extra == launchParamBufferPointer) {
      packed.bytes = static_cast<const uint8_t *>(extra[1]);
    } else if (*extra == launchParamBufferSize) {
      packed.size = *static_cast<const size_t *>(extra[1]);
      sized = true;
    } else {
      return std::nullopt;
    }
  }
  if (!packed.bytes || !sized)
    return std::nullopt;
  return packed;
}

std::variant<ParameterBytes, std::string>
fromBuffer(const Module::Entry &entry, unsigned cc, void *const *extra) {
  std::optional<Packed> packed = readExtra(extra);
  if (!packed)
    return "extra wants CU_LAUNCH_PARAM_BUFFER_POINTER and "
           "CU_LAUNCH_PARAM_BUFFER_SIZE, then CU_LAUNCH_PARAM_END";
  ParameterBytes result;
  std::vector<size_t> offsets = parameterOffsets(entry, cc);
  for (size_t i = 0; i < offsets.size(); ++i) {
    size_t size = entry.parameters[i].size;
    if (offsets[i] + size > packed->size)
      return "the buffer in extra has " + std::to_string(packed->size) +
             " bytes, but parameter " + std::to_string(i) + " ends at " +
             std::to_string(offsets[i] + size);
    result.push_back(copyOf(packed->bytes + offsets[i], size));
  }
  return result;
}

} // namespace

std::vector<size_t> parameterOffsets(const Module::Entry &entry, unsigned cc) {
  std::vector<size_t> offsets;
  size_t base = bankBase(cc), next = base;
  for (const Module::Parameter &parameter : entry.parameters) {
    size_t align = parameter.align ? parameter.align : 1;
    next = (next + align - 1) / align * align;
    offsets.push_back(next - base);
    next += parameter.size;
  }
  return offsets;
}

std::variant<ParameterBytes, std::string>
gatherParameters(const Module::Entry &entry, unsigned cc, void *const *pointers,
                 void *const *extra) {
  if (pointers && extra)
    return "both kernelParams and extra are given, expected one of them";
  if (entry.parameters.empty())
    return ParameterBytes();
  if (pointers)
    return fromPointers(entry, pointers);
  if (extra)
    return fromBuffer(entry, cc, extra);
  return "the entry has " + std::to_string(entry.parameters.size()) +
         " parameters, but kernelParams and extra are null";
}

} // namespace ptxsim::driver
