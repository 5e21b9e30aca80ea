//===- Memory.cpp - Device and host memory --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Descriptor.h"
#include "Process.h"

using namespace fmha::runtime;
using namespace fmha::runtime::mgpu;

static std::string bytesText(uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

void *mgpuMemAlloc(uint64_t bytes, void *, bool isHostShared) {
  if (bytes == 0)
    return nullptr;
  const driver::Calls &calls = enter();
  driver::DevicePointer address = 0;
  if (isHostShared)
    check("cuMemAllocManaged",
          calls.memAllocManaged(&address, bytes, driver::attachGlobal),
          "asked for " + bytesText(bytes));
  else
    check("cuMemAlloc", calls.memAlloc(&address, bytes),
          "asked for " + bytesText(bytes));
  return reinterpret_cast<void *>(address);
}

void mgpuMemFree(void *pointer, void *) {
  if (pointer)
    check("cuMemFree", enter().memFree(deviceAddress(pointer)));
}

void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream) {
  if (bytes)
    check("cuMemcpyAsync",
          enter().copyAsync(deviceAddress(to), deviceAddress(from), bytes,
                            static_cast<driver::Stream>(stream)),
          "copying " + bytesText(bytes));
}

void mgpuMemset32(void *to, uint32_t value, size_t count, void *stream) {
  if (count)
    check("cuMemsetD32Async",
          enter().set32Async(deviceAddress(to), value, count,
                             static_cast<driver::Stream>(stream)));
}

void mgpuMemset16(void *to, uint16_t value, size_t count, void *stream) {
  if (count)
    check("cuMemsetD16Async",
          enter().set16Async(deviceAddress(to), value, count,
                             static_cast<driver::Stream>(stream)));
}

void mgpuMemHostRegister(void *pointer, uint64_t bytes) {
  if (bytes)
    check("cuMemHostRegister", enter().hostRegister(pointer, bytes, 0),
          "registering " + bytesText(bytes));
}

void mgpuMemHostUnregister(void *pointer) {
  check("cuMemHostUnregister", enter().hostUnregister(pointer));
}

void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                               int64_t elementBytes) {
  Descriptor memref(descriptor, rank);
  if (!memref.isDense())
    fail("gpu.host_register: expected a dense row-major memref, got other "
         "strides; register the whole buffer");
  mgpuMemHostRegister(memref.data(elementBytes),
                      uint64_t(memref.elements() * elementBytes));
}

void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                 int64_t elementBytes) {
  Descriptor memref(descriptor, rank);
  if (memref.elements())
    mgpuMemHostUnregister(memref.data(elementBytes));
}
