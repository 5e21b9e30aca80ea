//===- Api.h - libptxsim.so as a host sees it -------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests load the library by name, as a host does, and look every function
// up where they use it: API(cuMemAlloc_v2)(&p, 16).
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_DRIVER_API_H
#define FMHA_TEST_PTX_DRIVER_API_H

#include "State/DriverTypes.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <string>

/// The address of an exported symbol, or null.
inline void *symbol(const char *name) {
  static void *const library =
      dlopen(FMHA_PTXSIM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return library ? dlsym(library, name) : nullptr;
}

/// Calls an exported function with the types of its arguments as they are
/// written, so integers must have the width of the parameter.
template <typename Result = CUresult, typename... Args>
Result call(const char *name, Args... args) {
  void *address = symbol(name);
  if (!address)
    throw std::runtime_error(std::string(name) + " is not exported");
  return reinterpret_cast<Result (*)(Args...)>(address)(args...);
}

inline const char *textCall(const char *name) {
  return call<const char *>(name);
}

/// A fresh context for each test; what a test broke is forgotten.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override {
    call<void>("ptxsimReset");
    for (auto [name, value] :
         {std::pair("policy", "eager"), std::pair("seed", "0"),
          std::pair("checks", "all"), std::pair("max-steps", "0"),
          std::pair("on-finding", "fail"), std::pair("report", "none"),
          std::pair("time", "off"), std::pair("target", "sm_100a"),
          std::pair("messages", "off")})
      option(name, value);
    ASSERT_EQ(call("cuInit", 0u), CUDA_SUCCESS);
    ASSERT_EQ(call("cuCtxCreate_v2", &context, 0u, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(call("cuCtxDestroy_v2", context), CUDA_SUCCESS);
  }

  static void option(const char *name, const char *value) {
    EXPECT_EQ(call<int>("ptxsimSetOption", name, value), 0)
        << textCall("ptxsimLastError");
  }

  CUmodule load(const std::string &text) {
    CUmodule module = nullptr;
    EXPECT_EQ(call("cuModuleLoadData", &module,
                   static_cast<const void *>(text.c_str())),
              CUDA_SUCCESS)
        << textCall("ptxsimLastError");
    return module;
  }

  CUfunction function(CUmodule module, const char *name) {
    CUfunction f = nullptr;
    EXPECT_EQ(call("cuModuleGetFunction", &f, module, name), CUDA_SUCCESS);
    return f;
  }

  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(call("cuMemAlloc_v2", &address, bytes), CUDA_SUCCESS);
    return address;
  }

  CUresult launch(CUfunction f, unsigned grid, unsigned block, void **arguments,
                  unsigned shared = 0) {
    return call("cuLaunchKernel", f, grid, 1u, 1u, block, 1u, 1u, shared,
                CUstream(nullptr), arguments, static_cast<void **>(nullptr));
  }

  CUresult synchronize() { return call("cuCtxSynchronize"); }

  CUcontext context = nullptr;
};

#endif // FMHA_TEST_PTX_DRIVER_API_H
