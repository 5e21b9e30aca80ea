//===- QueryTest.cpp - Which kernels serve a problem ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fmha;
using testing::HasSubstr;

namespace {

CompileOptions optionsFor(const std::string &target) {
  CompileOptions options;
  options.target = target;
  return options;
}

KernelQuery query(unsigned headDim, const CompileOptions &options) {
  KernelSpec spec;
  spec.problem.headDim = spec.problem.headDimV = headDim;
  return queryKernel(buildModule(spec), "<test>", options);
}

TEST(QueryKernel, NamesTheFamilyOfEachTarget) {
  EXPECT_EQ(query(128, optionsFor("sm_100a")).family, "tcgen05");
  EXPECT_EQ(query(128, optionsFor("sm_103a")).family, "tcgen05");
  EXPECT_EQ(query(128, optionsFor("sm_90a")).family, "wgmma");
}

TEST(QueryKernel, SaysWhyNoKernelServes) {
  KernelQuery none = query(4096, optionsFor("sm_100a"));
  EXPECT_TRUE(none.ok);
  EXPECT_EQ(none.family, "none");
  EXPECT_FALSE(none.plan);
  EXPECT_THAT(none.reason,
              HasSubstr("no schedule can serve this problem: plan.C"));
  EXPECT_THAT(query(128, optionsFor("sm_75")).reason,
              HasSubstr("target sm_75 is not supported: "));
  EXPECT_THAT(query(128, optionsFor("sm_90")).reason,
              HasSubstr("unknown target sm_90; expected one of sm_100a, "
                        "sm_103a, sm_120, sm_80, sm_86, sm_89, sm_90a; did "
                        "you mean sm_90a?"));
}

/// The plan equals that of the compiled kernel, with hints and fixed fields.
TEST(QueryKernel, PlansWhatIsCompiled) {
  CompileOptions options = optionsFor("sm_100a");
  options.overrides.fix(schedule::Choice::KvBlock, 64);
  options.hints = {1, 8, 8, 1, 8192};
  KernelQuery planned = query(64, options);
  ASSERT_TRUE(planned.plan);
  options.to = Level::Tiled;
  KernelSpec spec;
  spec.problem.headDim = spec.problem.headDimV = 64;
  CompileResult compiled = compile(buildModule(spec), "<test>", options);
  ASSERT_TRUE(compiled.ok && compiled.plan);
  EXPECT_EQ(planned.plan->schedule, compiled.plan->schedule);
  EXPECT_EQ(planned.reason, compiled.plan->reason);
}

TEST(QueryKernel, ReportsAModuleThatCannotBeRead) {
  KernelQuery wrong = queryKernel("oops", "my.mlir", {});
  EXPECT_FALSE(wrong.ok);
  ASSERT_FALSE(wrong.diagnostics.empty());
  EXPECT_EQ(wrong.diagnostics[0].location, "my.mlir:1:1");
}

} // namespace
