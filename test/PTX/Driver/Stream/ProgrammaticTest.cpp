//===- ProgrammaticTest.cpp - Kernels that may overlap earlier ones -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuLaunchKernelEx with CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
// OverlapTest.cpp has the accesses of two grids; here is what the host does
// between them.
//
//===----------------------------------------------------------------------===//

#include "../Api.h"

#include <nlohmann/json.hpp>

#include <functional>

using Json = nlohmann::json;

namespace {

const char *const kPair = R"(.version 8.6
.target sm_90
.address_size 64

.visible .entry writes(.param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r1;
  griddepcontrol.launch_dependents;
  ret;
}

.visible .entry reads(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  ld.global.u32 %r2, [%rd2];
  ret;
}

.visible .entry waits(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  griddepcontrol.wait;
  ld.global.u32 %r2, [%rd2];
  ret;
}
)";

void nothing(void *) {}

class ProgrammaticTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    option("on-finding", "report");
    for (auto [stream, flags] :
         {std::pair(&s, 1u), std::pair(&t, 1u), std::pair(&blocking, 0u)})
      ASSERT_EQ(call("cuStreamCreate", stream, flags), CUDA_SUCCESS);
    ASSERT_EQ(call("cuEventCreate", &event, 2u), CUDA_SUCCESS);
    p = allocate(256);
    other = allocate(256);
    ASSERT_EQ(call("cuMemsetD32_v2", p, 0u, size_t(64)), CUDA_SUCCESS);
    module = load(kPair);
  }

  /// Launches with the attribute `id`, which has the value `value`.
  CUresult launchWith(const char *entry, CUstream stream, int id, int value) {
    CUlaunchAttribute attributes[2] = {};
    attributes[0].id = LaunchIgnore;
    attributes[1].id = CUlaunchAttributeID(id);
    memcpy(&attributes[1].value, &value, sizeof value);
    CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, stream, attributes, 2};
    void *arguments[] = {&p};
    return call("cuLaunchKernelEx", (const CUlaunchConfig *)&config,
                function(module, entry), (void **)arguments, (void **)nullptr);
  }
  void plain(const char *entry, CUstream stream) {
    ASSERT_EQ(launchWith(entry, stream, 6, 0), CUDA_SUCCESS);
  }
  void programmatic(const char *entry, CUstream stream) {
    ASSERT_EQ(launchWith(entry, stream, 6, 1), CUDA_SUCCESS)
        << textCall("ptxsimLastError");
  }

  /// Expects the last launch to race with `writes`, or to be in order.
  static void expectLast(bool races) {
    Json report = Json::parse(textCall("ptxsimLastReport"));
    if (!races) {
      EXPECT_EQ(report["status"], "ok") << report;
      return;
    }
    ASSERT_EQ(report["findings"].size(), 1u) << report;
    const Json &finding = report["findings"][0];
    EXPECT_EQ(finding["id"], "race-global");
    EXPECT_NE(std::string(finding["message"]).find("`writes`, may still write"),
              std::string::npos)
        << finding;
    EXPECT_TRUE(finding["other_party"].is_null());
  }

  /// Writes in `stream`, does `between`, and reads there programmatically.
  void after(const char *what, bool races,
             const std::function<CUresult()> &between,
             CUstream stream = nullptr) {
    SCOPED_TRACE(what);
    stream = stream ? stream : s;
    plain("writes", stream);
    EXPECT_EQ(between(), CUDA_SUCCESS) << textCall("ptxsimLastError");
    programmatic("reads", stream);
    expectLast(races);
  }

  CUresult record(CUstream stream) {
    return call("cuEventRecord", event, stream);
  }
  CUresult await(CUstream stream) {
    return call("cuStreamWaitEvent", stream, event, 0u);
  }
  CUresult fill(CUstream stream) {
    return call("cuMemsetD32Async", other, 7u, size_t(4), stream);
  }

  /// Captures work in `s` and launches its graph in `stream`.
  void replay(CUstream stream, const std::function<void()> &work) {
    CUgraph graph = nullptr;
    CUgraphExec run = nullptr;
    ASSERT_EQ(call("cuStreamBeginCapture_v2", s, CaptureModeGlobal),
              CUDA_SUCCESS);
    work();
    ASSERT_EQ(call("cuStreamEndCapture", s, &graph), CUDA_SUCCESS);
    ASSERT_EQ(call("cuGraphInstantiateWithFlags", &run, graph, 0ull),
              CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(call("cuGraphLaunch", run, stream), CUDA_SUCCESS);
    EXPECT_EQ(call("cuGraphExecDestroy", run), CUDA_SUCCESS);
    EXPECT_EQ(call("cuGraphDestroy", graph), CUDA_SUCCESS);
  }

  CUstream s = nullptr, t = nullptr, blocking = nullptr;
  CUevent event = nullptr;
  CUdeviceptr p = 0, other = 0;
  CUmodule module = nullptr;
};

TEST_F(ProgrammaticTest, TheAttributeAllowsTheOverlap) {
  for (const char *policy : {"eager", "late", "random", "pct"}) {
    SCOPED_TRACE(policy);
    option("policy", policy);
    plain("writes", s);
    programmatic("reads", s);
    expectLast(true);
    plain("writes", s);
    programmatic("waits", s);
    expectLast(false);
  }
}

TEST_F(ProgrammaticTest, OtherLaunchesAreInOrder) {
  plain("writes", s);
  plain("reads", s);
  expectLast(false);
  plain("writes", s);
  plain("waits", s);
  expectLast(false);
  plain("writes", s);
  programmatic("reads", t);
  expectLast(false);
  // A programmatic event, a priority, a domain.
  for (int id : {7, 8, 9}) {
    plain("writes", s);
    ASSERT_EQ(launchWith("reads", s, id, 1), CUDA_SUCCESS);
    expectLast(false);
  }
}

TEST_F(ProgrammaticTest, TheFindingFailsTheNextCall) {
  option("on-finding", "fail");
  plain("writes", s);
  programmatic("reads", s);
  EXPECT_EQ(synchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(ProgrammaticTest, DevicesBeforeSm90DoNotOverlap) {
  std::string text = kPair;
  for (const char *line :
       {"  griddepcontrol.launch_dependents;\n", "  griddepcontrol.wait;\n"})
    text.erase(text.find(line), std::string(line).size());
  module = load(text.replace(text.find("sm_90"), 5, "sm_80"));
  for (auto [target, races] :
       {std::pair("sm_86", false), std::pair("sm_90", true)}) {
    option("target", target);
    plain("writes", s);
    programmatic("reads", s);
    expectLast(races);
  }
}

TEST_F(ProgrammaticTest, WorkInTheStreamOrders) {
  char bytes[16] = {};
  after("nothing", true, [] { return CUDA_SUCCESS; });
  after("memset", false, [&] { return fill(s); });
  after("empty memset", true,
        [&] { return call("cuMemsetD32Async", other, 7u, size_t(0), s); });
  after("memset elsewhere", true, [&] { return fill(t); });
  after("memcpy", false, [&] {
    return call("cuMemcpyDtoHAsync_v2", (void *)bytes, other, size_t(16), s);
  });
  after("host function", false,
        [&] { return call("cuLaunchHostFunc", s, nothing, (void *)nullptr); });
  after("event record", true, [&] { return record(s); });
}

TEST_F(ProgrammaticTest, WaitingForAnEventOrders) {
  after("never recorded", true, [&] { return await(s); });
  after("wait", false, [&] {
    record(t);
    return await(s);
  });
  after("wait elsewhere", true, [&] {
    record(s);
    return await(t);
  });
}

TEST_F(ProgrammaticTest, TheHostOrders) {
  after("context", false, [&] { return synchronize(); });
  after("stream", false, [&] { return call("cuStreamSynchronize", s); });
  after("query", false, [&] { return call("cuStreamQuery", s); });
  after("another stream", true, [&] { return call("cuStreamSynchronize", t); });
  after("free", false, [&] { return call("cuMemFree_v2", allocate(16)); });
  after("event", false, [&] {
    record(s);
    return call("cuEventSynchronize", event);
  });
  after("another event", true, [&] {
    record(t);
    return call("cuEventSynchronize", event);
  });
}

TEST_F(ProgrammaticTest, AnEarlierEventDoesNotOrderLaterKernels) {
  ASSERT_EQ(record(s), CUDA_SUCCESS);
  after("event before the kernel", true,
        [&] { return call("cuEventSynchronize", event); });
}

TEST_F(ProgrammaticTest, TheDefaultStreamOrdersBlockingStreams) {
  CUstream legacy = CUstream(1);
  auto memset = [&] { return call("cuMemsetD8_v2", other, '\1', size_t(4)); };
  after("memset", false, memset, blocking);
  after("memset, non-blocking stream", true, memset, s);
  after(
      "kernel", false, [&] { return launchWith("reads", legacy, 6, 0); },
      blocking);
  after(
      "kernel, non-blocking stream", true,
      [&] { return launchWith("reads", legacy, 6, 0); }, s);
  after("nothing", true, [] { return CUDA_SUCCESS; }, legacy);
  after(
      "kernel elsewhere", false,
      [&] { return launchWith("reads", blocking, 6, 0); }, legacy);
  after(
      "kernel in a non-blocking stream", true,
      [&] { return launchWith("reads", t, 6, 0); }, legacy);
}

TEST_F(ProgrammaticTest, ADestroyedStreamIsForgotten) {
  plain("writes", s);
  ASSERT_EQ(call("cuStreamDestroy_v2", s), CUDA_SUCCESS);
  ASSERT_EQ(call("cuStreamCreate", &s, 1u), CUDA_SUCCESS);
  programmatic("reads", s);
  expectLast(false);
}

TEST_F(ProgrammaticTest, ChainsNeedAWaitInEachKernel) {
  plain("writes", s);
  CUdeviceptr written = p;
  p = other;
  ASSERT_EQ(fill(t), CUDA_SUCCESS);
  programmatic("reads", s);
  p = written;
  programmatic("waits", s);
  expectLast(true);
  plain("writes", s);
  programmatic("waits", s);
  programmatic("waits", s);
  expectLast(false);
}

TEST_F(ProgrammaticTest, AGraphReplaysTheOverlap) {
  replay(t, [&] {
    plain("writes", s);
    programmatic("reads", s);
  });
  expectLast(true);
  replay(t, [&] {
    plain("writes", s);
    programmatic("waits", s);
  });
  expectLast(false);
  replay(t, [&] {
    plain("writes", s);
    plain("reads", s);
  });
  expectLast(false);
}

TEST_F(ProgrammaticTest, OtherNodesOfAGraphOrder) {
  replay(t, [&] {
    plain("writes", s);
    ASSERT_EQ(fill(s), CUDA_SUCCESS);
    programmatic("reads", s);
  });
  expectLast(false);
  replay(t, [&] {
    plain("writes", s);
    ASSERT_EQ(record(s), CUDA_SUCCESS);
    ASSERT_EQ(await(blocking), CUDA_SUCCESS);
    ASSERT_EQ(record(blocking), CUDA_SUCCESS);
    ASSERT_EQ(await(s), CUDA_SUCCESS);
    programmatic("reads", s);
  });
  expectLast(false);
}

TEST_F(ProgrammaticTest, AGraphDoesNotOverlapItsNextReplay) {
  option("on-finding", "fail");
  replay(t, [&] {
    programmatic("reads", s);
    plain("writes", s);
  });
  EXPECT_EQ(synchronize(), CUDA_SUCCESS) << textCall("ptxsimLastReport");
}

TEST_F(ProgrammaticTest, AGraphIsInOrderWithItsStream) {
  // Also where it is launched in the stream that was captured.
  for (CUstream stream : {s, t}) {
    plain("writes", stream);
    replay(stream, [&] { programmatic("reads", s); });
    expectLast(false);
    replay(stream, [&] { plain("writes", s); });
    programmatic("reads", stream);
    expectLast(false);
  }
  after("a graph of another stream", true, [&] {
    replay(t, [&] { plain("reads", s); });
    return CUDA_SUCCESS;
  });
}

} // namespace
