//===- DeviceQuery.cpp - Properties of the simulated device ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory/MemoryLimit.h"
#include "State/State.h"

#include <cstring>

using namespace ptxsim::driver;
using ptxsim::DeviceFacts;

namespace {

/// One attribute: a number, or a function of the facts.
struct Attribute {
  int id;
  int value;
  int (*get)(const DeviceFacts &, unsigned cc) = nullptr;
};

constexpr int reservedShared = 1024;

// The numbers are CUdevice_attribute. test/data/driver-answers-sm_90 checks
// those that it records.
constexpr Attribute attributes[] = {
    {1, 1024},        // MAX_THREADS_PER_BLOCK
    {2, 1024},        // MAX_BLOCK_DIM_X
    {3, 1024},        // MAX_BLOCK_DIM_Y
    {4, 64},          // MAX_BLOCK_DIM_Z
    {5, 0x7FFFFFFF},  // MAX_GRID_DIM_X
    {6, 65535},       // MAX_GRID_DIM_Y
    {7, 65535},       // MAX_GRID_DIM_Z
    {8, 49152},       // MAX_SHARED_MEMORY_PER_BLOCK
    {9, 65536},       // TOTAL_CONSTANT_MEMORY
    {10, 32},         // WARP_SIZE
    {11, 0x7FFFFFFF}, // MAX_PITCH
    {12, 65536},      // MAX_REGISTERS_PER_BLOCK
    {13, 0, [](const DeviceFacts &f, unsigned) { return int(f.clockKHz); }},
    {14, 512}, // TEXTURE_ALIGNMENT
    {15, 1},   // GPU_OVERLAP
    {16, 0,
     [](const DeviceFacts &f, unsigned) { return int(f.multiprocessors); }},
    {17, 0},   // KERNEL_EXEC_TIMEOUT
    {18, 0},   // INTEGRATED
    {19, 1},   // CAN_MAP_HOST_MEMORY
    {20, 0},   // COMPUTE_MODE
    {30, 512}, // SURFACE_ALIGNMENT
    {31, 1},   // CONCURRENT_KERNELS
    {32, 0},   // ECC_ENABLED
    {33, 0},   // PCI_BUS_ID
    {34, 0},   // PCI_DEVICE_ID
    {35, 0},   // TCC_DRIVER
    {36, 0,
     [](const DeviceFacts &f, unsigned) { return int(f.memoryClockKHz); }},
    {37, 0, [](const DeviceFacts &f, unsigned) { return int(f.busBits); }},
    {38, 0, [](const DeviceFacts &f, unsigned) { return int(f.l2Bytes); }},
    {39, 0,
     [](const DeviceFacts &f, unsigned) {
       return int(f.threadsPerMultiprocessor);
     }},
    {40, 1},  // ASYNC_ENGINE_COUNT
    {41, 1},  // UNIFIED_ADDRESSING
    {50, 0},  // PCI_DOMAIN_ID
    {51, 32}, // TEXTURE_PITCH_ALIGNMENT
    {75, 0, [](const DeviceFacts &, unsigned cc) { return int(cc / 10); }},
    {76, 0, [](const DeviceFacts &, unsigned cc) { return int(cc % 10); }},
    {78, 0}, // STREAM_PRIORITIES_SUPPORTED
    {79, 1}, // GLOBAL_L1_CACHE_SUPPORTED
    {80, 1}, // LOCAL_L1_CACHE_SUPPORTED
    {81, 0,
     [](const DeviceFacts &f, unsigned) {
       return int(f.sharedPerMultiprocessor);
     }},
    {82, 65536}, // MAX_REGISTERS_PER_MULTIPROCESSOR
    {83, 1},     // MANAGED_MEMORY
    {84, 0},     // MULTI_GPU_BOARD
    {85, 0},     // MULTI_GPU_BOARD_GROUP_ID
    {86, 0},     // HOST_NATIVE_ATOMIC_SUPPORTED
    {87, 2},     // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    {88, 0},     // PAGEABLE_MEMORY_ACCESS
    {89, 1},     // CONCURRENT_MANAGED_ACCESS
    {90, 1},     // COMPUTE_PREEMPTION_SUPPORTED
    {91, 1},     // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {95, 1},     // COOPERATIVE_LAUNCH
    {97, 0,
     [](const DeviceFacts &f, unsigned) { return int(f.sharedPerBlockOptin); }},
    {99, 1},  // HOST_REGISTER_SUPPORTED
    {102, 0}, // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {106, 0,
     [](const DeviceFacts &f, unsigned) {
       return int(f.blocksPerMultiprocessor);
     }},
    {107, 0},              // GENERIC_COMPRESSION_SUPPORTED
    {108, 0},              // MAX_PERSISTING_L2_CACHE_SIZE
    {109, 0},              // MAX_ACCESS_POLICY_WINDOW_SIZE
    {111, reservedShared}, // RESERVED_SHARED_MEMORY_PER_BLOCK
    {115, 0},              // MEMORY_POOLS_SUPPORTED
    {120, 0, [](const DeviceFacts &, unsigned cc) { return int(cc >= 90); }},
    {127, 0, [](const DeviceFacts &, unsigned cc) { return int(cc >= 90); }},
    {128, 0}, // HANDLE_TYPE_FABRIC_SUPPORTED
    {132, 0}, // MULTICAST_SUPPORTED
};

/// Attributes of CUDA 13 that are not in the table return 0: the feature is
/// absent.
constexpr int lastAttribute = 147;

CUresult withDevice(CUdevice device, const void *out,
                    const std::function<CUresult(State &)> &body) {
  return guarded(Needs::Init, [&](State &state) {
    if (!out)
      return CUDA_ERROR_INVALID_VALUE;
    if (device != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    return body(state);
  });
}

} // namespace

DRIVER_API cuDeviceGet(CUdevice *device, int ordinal) {
  return withDevice(ordinal, device, [&](State &) {
    *device = 0;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDeviceGetCount(int *count) {
  return withDevice(0, count, [&](State &) {
    *count = 1;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDeviceGetName(char *name, int length, CUdevice device) {
  return withDevice(device, name, [&](State &state) {
    if (length < 1)
      return CUDA_ERROR_INVALID_VALUE;
    std::string text = "PTX simulator " + state.target().text();
    size_t kept = std::min(text.size(), size_t(length) - 1);
    std::memcpy(name, text.data(), kept);
    name[kept] = 0;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
  return withDevice(device, uuid, [&](State &) {
    std::memcpy(uuid->bytes, "PTX simulator 0", 16);
    return CUDA_SUCCESS;
  });
}
DRIVER_TWIN(cuDeviceGetUuid_v2, cuDeviceGetUuid);

DRIVER_API cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  return withDevice(device, id, [&](State &) {
    static const char text[] = "0000:00:00.0";
    if (length < int(sizeof text))
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(id, text, sizeof text);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  return withDevice(device, bytes, [&](State &state) {
    *bytes = memoryLimit(state);
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  return withDevice(device, value, [&](State &state) {
    if (attribute < 1 || attribute > lastAttribute)
      return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    for (const Attribute &entry : attributes)
      if (entry.id == attribute)
        *value = entry.get ? entry.get(state.facts(), state.target().cc)
                           : entry.value;
    return CUDA_SUCCESS;
  });
}

DRIVER_API cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice) {
  return withDevice(device, can, [&](State &) {
    *can = 0;
    return CUDA_SUCCESS;
  });
}
