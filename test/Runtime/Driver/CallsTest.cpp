//===- CallsTest.cpp - Opening driver libraries, and the choice of one ----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Driver/Calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace {

using namespace fmha::runtime;
using testing::AllOf;
using testing::HasSubstr;

/// Sets FMHA_DRIVER for one test; null unsets it.
class Named {
public:
  explicit Named(const char *library) {
    if (library)
      setenv("FMHA_DRIVER", library, 1);
    else
      unsetenv("FMHA_DRIVER");
  }
  ~Named() { unsetenv("FMHA_DRIVER"); }
};

TEST(DriverCalls, MissingLibraryIsNamed) {
  std::string why;
  EXPECT_FALSE(driver::open("/nowhere/libnone.so", why));
  EXPECT_THAT(why, HasSubstr("cannot load '/nowhere/libnone.so'"));
}

TEST(DriverCalls, MissingRequiredSymbolIsNamed) {
  std::string why;
  EXPECT_FALSE(driver::open(FMHA_BROKEN_DRIVER, why));
  EXPECT_THAT(why, AllOf(HasSubstr(FMHA_BROKEN_DRIVER),
                         HasSubstr("expected it to export "
                                   "cuFuncSetAttribute")));
}

TEST(DriverCalls, MissingExtraSymbolFailsWhenItIsCalled) {
  std::string why;
  auto calls = driver::open(FMHA_BARE_DRIVER, why);
  ASSERT_TRUE(calls) << why;
  EXPECT_FALSE(calls->isSimulator());
  EXPECT_EQ(calls->init(0), driver::success);
  driver::Stream stream = nullptr;
  EXPECT_EQ(calls->streamCreate(&stream, 0), driver::errorNotSupported);
  EXPECT_THAT(calls->describe(driver::errorNotSupported),
              AllOf(HasSubstr(FMHA_BARE_DRIVER),
                    HasSubstr("does not export cuStreamCreate")));
  // An error of another call is not blamed on it.
  EXPECT_EQ(calls->describe(driver::errorNotSupported), "error 801");
}

TEST(DriverCalls, SimulatorHasEveryRequiredCallAndGivesReasons) {
  std::string why;
  auto calls = driver::open(FMHA_PTXSIM_LIBRARY, why);
  ASSERT_TRUE(calls) << why;
  EXPECT_TRUE(calls->isSimulator());
  ASSERT_EQ(calls->init(0), driver::success);
  driver::DevicePointer address = 0;
  driver::Result result = calls->memAlloc(&address, 16);
  EXPECT_EQ(result, driver::errorInvalidContext);
  EXPECT_THAT(calls->describe(result),
              AllOf(HasSubstr("CUDA_ERROR_INVALID_CONTEXT: "),
                    HasSubstr("no context is current")));
}

TEST(DriverChoice, VariableNamesTheLibrary) {
  Named named(FMHA_BARE_DRIVER);
  std::string why;
  auto calls = driver::openDefault(why);
  ASSERT_TRUE(calls) << why;
  EXPECT_EQ(calls->library, FMHA_BARE_DRIVER);
}

TEST(DriverChoice, BareNameIsFoundInTheLibraryFolder) {
  Named named("libptxsim.so");
  std::string why;
  auto calls = driver::openDefault(why);
  ASSERT_TRUE(calls) << why;
  EXPECT_TRUE(std::filesystem::equivalent(calls->library, FMHA_PTXSIM_LIBRARY))
      << calls->library;
}

TEST(DriverChoice, MissingLibraryNamesTheVariable) {
  Named named("libnone.so");
  std::string why;
  EXPECT_FALSE(driver::openDefault(why));
  EXPECT_THAT(why, AllOf(HasSubstr("cannot load 'libnone.so'"),
                         HasSubstr("FMHA_DRIVER"), HasSubstr("libptxsim.so")));
}

TEST(DriverChoice, UnsetTakesTheGpuElseTheSimulator) {
  for (const char *library : {static_cast<const char *>(nullptr), ""}) {
    Named named(library);
    std::string why;
    auto calls = driver::openDefault(why);
    ASSERT_TRUE(calls) << why;
    int count = 0;
    ASSERT_EQ(calls->init(0), driver::success);
    ASSERT_EQ(calls->deviceGetCount(&count), driver::success);
    EXPECT_GE(count, 1);
    if (calls->library == "libcuda.so.1")
      continue;
    EXPECT_TRUE(
        std::filesystem::equivalent(calls->library, FMHA_PTXSIM_LIBRARY))
        << calls->library;
  }
}

TEST(DriverChoice, UnknownNamesAreLeftToTheLoader) {
  EXPECT_EQ(driver::findNearLibrary("libnone.so"), "libnone.so");
}

} // namespace
