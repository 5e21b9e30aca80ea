//===- ModuleTest.cpp - Modules, contexts and devices ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MgpuTest.h"

#include <dlfcn.h>
#include <thread>

namespace {

using namespace fmha::runtime;
using testing::AllOf;
using testing::HasSubstr;

class MgpuModuleTest : public MgpuTest {
protected:
  /// A symbol of the simulator that no host of this project needs.
  static void *symbolOf(const char *name) {
    return dlsym(dlopen(FMHA_PTXSIM_LIBRARY, RTLD_NOW), name);
  }
};

TEST_F(MgpuModuleTest, ImagesThatAreNotUsedAreNotLoaded) {
  static const char text[] = "for another GPU";
  for (void *handle : {mgpuModuleLoad((void *)text, sizeof text),
                       mgpuModuleLoadJIT((void *)text, 3)}) {
    ASSERT_NE(handle, nullptr);
    EXPECT_FAILS(mgpuModuleGetFunction(handle, "kernel"),
                 AllOf(HasSubstr("cuModuleLoadDataEx failed with CUDA_ERROR_"),
                       HasSubstr("the module of kernel 'kernel'")));
    mgpuModuleUnload(handle);
  }
  mgpuModuleUnload(nullptr);
}

TEST_F(MgpuModuleTest, MissingKernelIsNamed) {
  EXPECT_FAILS(function("missing"),
               AllOf(HasSubstr("CUDA_ERROR_NOT_FOUND"),
                     HasSubstr("looking for kernel 'missing'")));
}

TEST_F(MgpuModuleTest, LoadedOnceInEachContext) {
  driver::Context own = nullptr, before = nullptr;
  void *first = function("add");
  EXPECT_EQ(function("add"), first);
  ASSERT_EQ(calls().getContext(&before), driver::success);
  auto create =
      reinterpret_cast<driver::Result (*)(driver::Context *, unsigned, int)>(
          symbolOf("cuCtxCreate_v2"));
  auto destroy = reinterpret_cast<driver::Result (*)(driver::Context)>(
      symbolOf("cuCtxDestroy_v2"));
  ASSERT_EQ(create(&own, 0, 0), driver::success);
  void *second = function("add");
  EXPECT_NE(second, first);
  EXPECT_EQ(function("add"), second);
  // A context that is current is not replaced.
  driver::Context now = nullptr;
  ASSERT_EQ(calls().getContext(&now), driver::success);
  EXPECT_EQ(now, own);
  // Its modules go with it; unloading the handle later is still correct.
  ASSERT_EQ(destroy(own), driver::success);
  ASSERT_EQ(calls().setContext(before), driver::success);
  EXPECT_EQ(function("add"), first);
}

TEST_F(MgpuModuleTest, ThreadsWithoutAContextGetTheDefaultDevices) {
  mgpuSetDefaultDevice(0);
  driver::Context here = nullptr, there = nullptr;
  ASSERT_EQ(calls().getContext(&here), driver::success);
  ASSERT_NE(here, nullptr);
  std::thread([&] {
    mgpuStreamSynchronize(nullptr);
    calls().getContext(&there);
  }).join();
  EXPECT_EQ(there, here);
  EXPECT_FAILS(mgpuSetDefaultDevice(7),
               AllOf(HasSubstr("there is no device 7"), HasSubstr("has 1")));
}

TEST_F(MgpuModuleTest, DeviceFactsAreTheDrivers) {
  int major = 0, minor = 0, count = 0;
  mgpuStreamSynchronize(nullptr);
  calls().deviceGetAttribute(&count, driver::attributeMultiprocessorCount, 0);
  calls().deviceGetAttribute(&major, driver::attributeComputeCapabilityMajor,
                             0);
  calls().deviceGetAttribute(&minor, driver::attributeComputeCapabilityMinor,
                             0);
  EXPECT_EQ(mgpuFmhaMultiprocessorCount(), count);
  EXPECT_EQ(mgpuFmhaComputeCapability(), major * 10 + minor);
  EXPECT_EQ(mgpuFmhaComputeCapability(), 90);
}

TEST_F(MgpuModuleTest, LibraryThatIsMissingIsNamed) {
  auto open = [] {
    setenv("FMHA_DRIVER", "/nowhere/libnone.so", 1);
    mgpuStreamSynchronize(nullptr);
  };
  EXPECT_FAILS(open(), AllOf(HasSubstr("libfmha_mgpu: cannot load "
                                       "'/nowhere/libnone.so'"),
                             HasSubstr("FMHA_DRIVER")));
}

} // namespace
