//===- Faults.cpp - The driver error of a finding -------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

namespace ptxsim::driver {
namespace {

struct Fault {
  const char *id;
  CUresult result;
};

// Faults of the hardware, with the error of an H200 (see
// test/data/driver-answers-sm_90) or of the driver manual's CUresult page.
constexpr Fault faults[] = {
    {"out-of-bounds", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"dsmem-bad-rank", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"dsmem-after-exit", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"write-to-constant", CUDA_ERROR_ILLEGAL_ADDRESS},
    {"misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
    {"assertion", CUDA_ERROR_ASSERT},
    {"illegal-instruction", CUDA_ERROR_ILLEGAL_INSTRUCTION},
    {"tma-inner-unaligned", CUDA_ERROR_ILLEGAL_INSTRUCTION},
    {"tma-negative-store", CUDA_ERROR_ILLEGAL_INSTRUCTION},
    {"stack-overflow", CUDA_ERROR_HARDWARE_STACK_ERROR},
    {"tmem-leak", CUDA_ERROR_TENSOR_MEMORY_LEAK},
    {"deadlock", CUDA_ERROR_LAUNCH_TIMEOUT},
    {"livelock", CUDA_ERROR_LAUNCH_TIMEOUT},
};

CUresult faultOf(const Finding &finding) {
  for (const Fault &fault : faults)
    if (finding.id == fault.id)
      return fault.result;
  return CUDA_ERROR_LAUNCH_FAILED;
}

} // namespace

CUresult faultOf(const LaunchResult &result) {
  if (result.status == Status::Deadlock || result.status == Status::StepLimit)
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  // A fault of the hardware ends the kernel and takes precedence over findings
  // that only the simulator detects.
  CUresult worst = CUDA_SUCCESS;
  for (const Finding &finding : result.findings) {
    if (finding.severity != Severity::Error)
      continue;
    worst = faultOf(finding);
    if (worst != CUDA_ERROR_LAUNCH_FAILED)
      return worst;
  }
  return worst;
}

} // namespace ptxsim::driver
