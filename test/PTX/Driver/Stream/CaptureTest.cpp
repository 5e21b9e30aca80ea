//===- CaptureTest.cpp - Stream capture and graphs ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Api.h"
#include "../Kernels.h"

#include <functional>
#include <thread>
#include <vector>

namespace {

// The expected results are those of an H100 with driver 580.159.
class CaptureTest : public DriverTest {
protected:
  void SetUp() override {
    DriverTest::SetUp();
    for (auto [stream, flags] :
         {std::pair(&s, 1u), std::pair(&t, 1u), std::pair(&blocking, 0u)})
      ASSERT_EQ(call("cuStreamCreate", stream, flags), CUDA_SUCCESS);
    for (CUevent *event : {&e, &f})
      ASSERT_EQ(call("cuEventCreate", event, 2u), CUDA_SUCCESS);
    p = allocate(256);
    ASSERT_EQ(call("cuMemsetD32_v2", p, 0u, size_t(64)), CUDA_SUCCESS);
    addKernel = function(load(kernels), "add");
  }

  static CUresult begin(CUstream stream, int mode = CaptureModeGlobal) {
    return call("cuStreamBeginCapture_v2", stream, mode);
  }
  static int status(CUstream stream) {
    int value = 77;
    EXPECT_EQ(call("cuStreamIsCapturing", stream, &value), CUDA_SUCCESS);
    return value;
  }
  /// Ends a capture; its graph is destroyed, its nodes counted.
  static CUresult end(CUstream stream, size_t *nodes = nullptr) {
    CUgraph graph = CUgraph(1);
    CUresult result = call("cuStreamEndCapture", stream, &graph);
    EXPECT_EQ(graph != nullptr, result == CUDA_SUCCESS);
    if (result != CUDA_SUCCESS)
      return result;
    size_t count = 77;
    EXPECT_EQ(call("cuGraphGetNodes", graph, (CUgraphNode *)nullptr, &count),
              CUDA_SUCCESS);
    if (nodes)
      *nodes = count;
    return call("cuGraphDestroy", graph);
  }

  CUresult fill(CUstream stream, unsigned value = 7) {
    return call("cuMemsetD32Async", p, value, size_t(1), stream);
  }
  static CUresult record(CUevent event, CUstream stream) {
    return call("cuEventRecord", event, stream);
  }
  static CUresult wait(CUstream stream, CUevent event) {
    return call("cuStreamWaitEvent", stream, event, 0u);
  }
  /// Doubles n floats at p.
  CUresult doubled(CUstream stream, unsigned n = 64) {
    void *arguments[] = {&p, &p, &p, &n};
    return call("cuLaunchKernel", addKernel, 2u, 1u, 1u, 32u, 1u, 1u, 0u,
                stream, (void **)arguments, (void **)nullptr);
  }

  /// Expects `result` of a call during a capture of `stream`, and that it
  /// invalidates the capture if it fails.
  void during(const char *what, CUresult expected,
              const std::function<CUresult()> &body, int mode = 0,
              CUstream stream = nullptr) {
    SCOPED_TRACE(what);
    stream = stream ? stream : s;
    ASSERT_EQ(begin(stream, mode), CUDA_SUCCESS);
    EXPECT_EQ(body(), expected);
    EXPECT_EQ(status(stream),
              expected ? CaptureStatusInvalidated : CaptureStatusActive);
    size_t nodes = 0;
    EXPECT_EQ(end(stream, &nodes),
              expected ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
    EXPECT_EQ(nodes, 0u);
    EXPECT_EQ(status(stream), CaptureStatusNone);
  }

  CUstream s = nullptr, t = nullptr, blocking = nullptr;
  CUevent e = nullptr, f = nullptr;
  CUdeviceptr p = 0;
  CUfunction addKernel = nullptr;
};

constexpr CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
constexpr CUresult implicit = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
constexpr CUresult invalidated = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
constexpr CUresult invalid = CUDA_ERROR_INVALID_VALUE;

TEST_F(CaptureTest, GraphReplaysCopiesKernelsAndFills) {
  std::vector<float> in(64), out(66, -1.0f);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i);
  CUgraph graph = nullptr;
  CUgraphExec run = nullptr;
  CUstream none = nullptr;
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  ASSERT_EQ(
      call("cuMemcpyHtoDAsync_v2", p, (const void *)in.data(), size_t(256), s),
      CUDA_SUCCESS);
  ASSERT_EQ(doubled(s), CUDA_SUCCESS);
  ASSERT_EQ(call("cuMemsetD32Async", p, 0u, size_t(2), s), CUDA_SUCCESS);
  ASSERT_EQ(call("cuMemsetD32Async", p, 9u, size_t(0), s), CUDA_SUCCESS);
  ASSERT_EQ(doubled(s), CUDA_SUCCESS);
  ASSERT_EQ(call("cuMemcpyDtoHAsync_v2", (void *)out.data(), p, size_t(256), s),
            CUDA_SUCCESS);
  ASSERT_EQ(call("cuStreamEndCapture", s, &graph), CUDA_SUCCESS);
  EXPECT_EQ(out, std::vector<float>(66, -1.0f)) << "it ran during the capture";

  CUgraphNode nodes[8];
  size_t count = 0;
  EXPECT_EQ(call("cuGraphGetNodes", graph, (CUgraphNode *)nullptr, &count), 0);
  EXPECT_EQ(count, 5u);
  count = 2;
  EXPECT_EQ(call("cuGraphGetNodes", graph, (CUgraphNode *)nodes, &count), 0);
  EXPECT_EQ(count, 2u);
  count = 8;
  EXPECT_EQ(call("cuGraphGetNodes", graph, (CUgraphNode *)nodes, &count), 0);
  EXPECT_EQ(count, 5u);
  EXPECT_NE(nodes[4], nullptr);
  EXPECT_EQ(nodes[5], nullptr);

  ASSERT_EQ(call("cuGraphInstantiateWithFlags", &run, graph, 0ull), 0);
  ASSERT_EQ(call("cuGraphDestroy", graph), CUDA_SUCCESS);
  for (float factor : {1.0f, 10.0f}) {
    // The nodes read the host's memory when they run.
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = factor * float(i);
    ASSERT_EQ(call("cuGraphLaunch", run, factor == 1 ? s : none), 0);
    ASSERT_EQ(synchronize(), CUDA_SUCCESS);
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], i < 2 ? 0.0f : 4 * in[i]) << i;
    EXPECT_EQ(out[64], -1.0f);
  }
  EXPECT_EQ(call("cuGraphExecDestroy", run), CUDA_SUCCESS);
}

TEST_F(CaptureTest, WrongGraphCallsAreRefused) {
  CUgraph graph = nullptr, noGraph = nullptr;
  CUgraphExec run = nullptr, noRun = nullptr;
  size_t count = 0;
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  ASSERT_EQ(call("cuStreamEndCapture", s, &graph), CUDA_SUCCESS);
  auto instantiate = [](CUgraphExec *out, CUgraph of,
                        unsigned long long flags) {
    return call("cuGraphInstantiateWithFlags", out, of, flags);
  };
  EXPECT_EQ(instantiate(nullptr, graph, 0), invalid);
  EXPECT_EQ(instantiate(&run, noGraph, 0), invalid);
  EXPECT_EQ(instantiate(&run, graph, 1 << 20), invalid);
  EXPECT_EQ(call("cuGraphGetNodes", noGraph, (CUgraphNode *)nullptr, &count),
            invalid);
  EXPECT_EQ(
      call("cuGraphGetNodes", graph, (CUgraphNode *)nullptr, (size_t *)nullptr),
      invalid);
  EXPECT_EQ(call("cuGraphLaunch", noRun, s), invalid);
  EXPECT_EQ(call("cuGraphExecDestroy", noRun), invalid);
  EXPECT_EQ(call("cuGraphDestroy", noGraph), invalid);
  // An empty graph runs.
  ASSERT_EQ(call("cuGraphInstantiate_v2", &run, graph, (CUgraphNode *)nullptr,
                 (char *)nullptr, size_t(0)),
            CUDA_SUCCESS);
  EXPECT_EQ(call("cuGraphLaunch", run, s), CUDA_SUCCESS);
  during("cuGraphLaunch", CUDA_ERROR_NOT_SUPPORTED,
         [&] { return call("cuGraphLaunch", run, s); });
  EXPECT_EQ(call("cuGraphExecDestroy", run), CUDA_SUCCESS);
  EXPECT_EQ(call("cuGraphExecDestroy", run), invalid);
  EXPECT_EQ(call("cuGraphDestroy", graph), CUDA_SUCCESS);
}

TEST_F(CaptureTest, StatesOfACapture) {
  CUgraph graph = nullptr;
  CUstream none = nullptr;
  EXPECT_EQ(begin(none), unsupported);
  EXPECT_EQ(begin(s, 99), invalid);
  EXPECT_EQ(call("cuStreamEndCapture", s, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(call("cuStreamEndCapture", none, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(call("cuStreamIsCapturing", s, (int *)nullptr), invalid);
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  EXPECT_EQ(status(t), CaptureStatusNone);
  EXPECT_EQ(begin(s), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(status(s), CaptureStatusActive);
  EXPECT_EQ(call("cuStreamEndCapture", s, (CUgraph *)nullptr), CUDA_SUCCESS);
  EXPECT_EQ(status(s), CaptureStatusNone);
}

TEST_F(CaptureTest, CapturesHaveNumbers) {
  int value = 77;
  uint64_t first = 0, second = 0;
  CUgraph graph = nullptr;
  auto info = [&](CUstream stream, uint64_t *id, CUgraph *out = nullptr) {
    return call("cuStreamGetCaptureInfo_v2", stream, &value, id, out,
                (const CUgraphNode **)nullptr, (size_t *)nullptr);
  };
  EXPECT_EQ(info(s, &first), CUDA_SUCCESS);
  EXPECT_EQ(value, CaptureStatusNone);
  EXPECT_EQ(first, 0u);
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  EXPECT_EQ(info(s, &first), CUDA_SUCCESS);
  EXPECT_EQ(value, CaptureStatusActive);
  EXPECT_EQ(record(e, s), CUDA_SUCCESS);
  EXPECT_EQ(wait(t, e), CUDA_SUCCESS);
  EXPECT_EQ(info(t, &second), CUDA_SUCCESS);
  EXPECT_EQ(second, first);
  EXPECT_EQ(info(s, nullptr, &graph), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(end(s), CUDA_SUCCESS);
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  EXPECT_EQ(call("cuStreamGetCaptureInfo", s, &value, &second), CUDA_SUCCESS);
  EXPECT_NE(second, first);
  EXPECT_EQ(call("cuStreamGetCaptureInfo", s, (int *)nullptr, &second),
            invalid);
  EXPECT_EQ(end(s), CUDA_SUCCESS);
}

TEST_F(CaptureTest, CallsThatAGraphCannotContain) {
  CUdeviceptr q = allocate(16), made = 0;
  void *host = nullptr;
  CUstream none = nullptr;
  CUmodule module = nullptr;
  char bytes[16];
  for (CUstream stream : {s, t, none}) {
    during("cuStreamSynchronize", unsupported,
           [&] { return call("cuStreamSynchronize", stream); });
    during("cuStreamQuery", unsupported,
           [&] { return call("cuStreamQuery", stream); });
  }
  during("cuCtxSynchronize", unsupported, [&] { return synchronize(); });
  during("cuMemAlloc", unsupported,
         [&] { return call("cuMemAlloc_v2", &made, size_t(16)); });
  during("cuMemAllocManaged", unsupported,
         [&] { return call("cuMemAllocManaged", &made, size_t(16), 1u); });
  during("cuMemFree", unsupported, [&] { return call("cuMemFree_v2", q); });
  during("cuMemHostRegister", unsupported, [&] {
    return call("cuMemHostRegister_v2", (void *)bytes, size_t(16), 0u);
  });
  during("cuMemHostAlloc", unsupported,
         [&] { return call("cuMemHostAlloc", &host, size_t(16), 0u); });
  during("cuModuleLoadData", unsupported, [&] {
    return call("cuModuleLoadData", &module, (const void *)kernels.c_str());
  });
  during("cuMemAllocAsync", CUDA_ERROR_NOT_SUPPORTED,
         [&] { return call("cuMemAllocAsync", &made, size_t(16), s); });
  during(
      "cuMemAlloc, thread-local", unsupported,
      [&] { return call("cuMemAlloc_v2", &made, size_t(16)); }, 1);
  during(
      "cuCtxSynchronize, relaxed", unsupported, [&] { return synchronize(); },
      2);
}

TEST_F(CaptureTest, CallsThatACaptureLeavesAlone) {
  CUdeviceptr made = 0;
  CUstream none = nullptr, stream = nullptr;
  CUevent event = nullptr;
  unsigned word = 5, type = 0;
  size_t bytes = 0;
  during("cuMemcpyHtoD", CUDA_SUCCESS, [&] {
    return call("cuMemcpyHtoD_v2", p, (const void *)&word, size_t(4));
  });
  EXPECT_EQ(call("cuMemcpyDtoH_v2", (void *)&type, p, size_t(4)), CUDA_SUCCESS);
  EXPECT_EQ(type, 5u) << "it did not run";
  for (CUstream other : {t, blocking, none}) {
    during("cuMemsetD32Async", CUDA_SUCCESS, [&] { return fill(other); });
    during("cuLaunchKernel", CUDA_SUCCESS, [&] { return doubled(other); });
    during("cuEventRecord", CUDA_SUCCESS, [&] { return record(e, other); });
  }
  during("cuStreamCreate", CUDA_SUCCESS,
         [&] { return call("cuStreamCreate", &stream, 1u); });
  during("cuStreamDestroy", CUDA_SUCCESS,
         [&] { return call("cuStreamDestroy_v2", stream); });
  during("cuEventCreate", CUDA_SUCCESS,
         [&] { return call("cuEventCreate", &event, 0u); });
  during("cuStreamWaitEvent", CUDA_SUCCESS, [&] { return wait(s, event); });
  during("cuEventDestroy", CUDA_SUCCESS,
         [&] { return call("cuEventDestroy_v2", event); });
  during("cuCtxGetLimit", CUDA_SUCCESS,
         [&] { return call("cuCtxGetLimit", &bytes, 0); });
  during(
      "relaxed", CUDA_SUCCESS,
      [&] {
        EXPECT_EQ(call("cuMemAlloc_v2", &made, size_t(16)), CUDA_SUCCESS);
        return call("cuStreamSynchronize", t);
      },
      2);
}

TEST_F(CaptureTest, ModesBindThreads) {
  auto elsewhere = [](const std::function<void()> &body) {
    std::thread(body).join();
  };
  CUdeviceptr made = 0;
  for (auto [mode, expected] : {std::pair(CaptureModeGlobal, unsupported),
                                std::pair(CaptureModeThreadLocal, CUDA_SUCCESS),
                                std::pair(CaptureModeRelaxed, CUDA_SUCCESS)})
    during(
        "another thread", expected,
        [&, expected = expected] {
          CUresult result = CUDA_SUCCESS;
          elsewhere([&] {
            call("cuCtxSetCurrent", context);
            result = call("cuMemAlloc_v2", &made, size_t(16));
          });
          EXPECT_EQ(result, expected);
          return result;
        },
        mode);
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  elsewhere([&] {
    call("cuCtxSetCurrent", context);
    EXPECT_EQ(end(s), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  });
  EXPECT_EQ(end(s), CUDA_SUCCESS);
}

TEST_F(CaptureTest, DefaultStreamCannotWaitForABlockingCapture) {
  CUstream none = nullptr;
  int value = 77;
  auto in = [&](const char *what, CUresult expected,
                const std::function<CUresult()> &body) {
    during(what, expected, body, 0, blocking);
  };
  in("cuMemsetD32Async", implicit, [&] { return fill(none); });
  in("cuEventRecord", implicit, [&] { return record(e, none); });
  in("cuLaunchKernel", implicit, [&] { return doubled(none); });
  in("cuMemsetD32", implicit,
     [&] { return call("cuMemsetD32_v2", p, 1u, size_t(1)); });
  in("cuStreamSynchronize", implicit,
     [&] { return call("cuStreamSynchronize", none); });
  in("in another stream", CUDA_SUCCESS, [&] { return fill(t); });
  in("cuStreamIsCapturing", CUDA_SUCCESS, [&] {
    EXPECT_EQ(call("cuStreamIsCapturing", none, &value), implicit);
    return CUDA_SUCCESS;
  });
}

TEST_F(CaptureTest, InvalidCaptureTakesNoWork) {
  CUdeviceptr made = 0;
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  EXPECT_EQ(call("cuStreamSynchronize", s), unsupported);
  EXPECT_EQ(fill(s), invalidated);
  EXPECT_EQ(doubled(s), invalidated);
  EXPECT_EQ(record(e, s), invalidated);
  EXPECT_EQ(wait(s, f), invalidated);
  EXPECT_EQ(begin(s), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(call("cuStreamSynchronize", s), unsupported);
  EXPECT_EQ(call("cuMemAlloc_v2", &made, size_t(16)), unsupported);
  EXPECT_EQ(end(s), invalidated);
  EXPECT_EQ(call("cuStreamSynchronize", s), CUDA_SUCCESS);
  EXPECT_EQ(fill(s), CUDA_SUCCESS);
}

TEST_F(CaptureTest, EventsJoinStreams) {
  CUgraph graph = nullptr;
  CUgraphExec run = nullptr;
  std::vector<float> got(64);
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  EXPECT_EQ(call("cuMemsetD32Async", p, 0x3F800000u, size_t(64), s), 0);
  EXPECT_EQ(record(e, s), CUDA_SUCCESS);
  EXPECT_EQ(wait(t, e), CUDA_SUCCESS);
  EXPECT_EQ(status(t), CaptureStatusActive);
  EXPECT_EQ(doubled(t), CUDA_SUCCESS);
  EXPECT_EQ(record(f, t), CUDA_SUCCESS);
  EXPECT_EQ(wait(s, f), CUDA_SUCCESS);
  EXPECT_EQ(doubled(s), CUDA_SUCCESS);
  ASSERT_EQ(call("cuStreamEndCapture", s, &graph), CUDA_SUCCESS);
  EXPECT_EQ(status(t), CaptureStatusNone);
  ASSERT_EQ(call("cuGraphInstantiateWithFlags", &run, graph, 0ull), 0);
  ASSERT_EQ(call("cuGraphLaunch", run, t), CUDA_SUCCESS);
  ASSERT_EQ(call("cuMemcpyDtoH_v2", (void *)got.data(), p, size_t(256)), 0);
  EXPECT_EQ(got, std::vector<float>(64, 4.0f));
  // The events are those of a capture that has ended, until they are recorded.
  EXPECT_EQ(call("cuEventQuery", e), invalid);
  EXPECT_EQ(call("cuEventSynchronize", f), invalid);
  EXPECT_EQ(wait(s, e), invalid);
  during("an event of an earlier capture", invalid, [&] { return wait(s, e); });
  EXPECT_EQ(record(e, s), CUDA_SUCCESS);
  EXPECT_EQ(call("cuEventQuery", e), CUDA_SUCCESS);
  EXPECT_EQ(call("cuGraphExecDestroy", run), CUDA_SUCCESS);
  EXPECT_EQ(call("cuGraphDestroy", graph), CUDA_SUCCESS);
}

TEST_F(CaptureTest, StreamsMustBeJoinedByTheEnd) {
  size_t nodes = 0;
  auto fork = [&] {
    ASSERT_EQ(begin(s), CUDA_SUCCESS);
    ASSERT_EQ(fill(s), CUDA_SUCCESS);
    ASSERT_EQ(record(e, s), CUDA_SUCCESS);
    ASSERT_EQ(wait(t, e), CUDA_SUCCESS);
  };
  fork();
  EXPECT_EQ(fill(t), CUDA_SUCCESS);
  EXPECT_EQ(end(s), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(status(t), CaptureStatusNone);
  EXPECT_EQ(end(t), CUDA_ERROR_ILLEGAL_STATE);
  // A record before the last work does not join.
  fork();
  EXPECT_EQ(record(f, t), CUDA_SUCCESS);
  EXPECT_EQ(fill(t), CUDA_SUCCESS);
  EXPECT_EQ(wait(s, f), CUDA_SUCCESS);
  EXPECT_EQ(end(s), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  // A stream into which no work was put need not be joined.
  fork();
  EXPECT_EQ(end(s, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(end(t), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(CaptureTest, WrongEventsInvalidate) {
  auto recorded = [&](const char *call) {
    during(call, CUDA_ERROR_CAPTURED_EVENT, [&] {
      EXPECT_EQ(record(e, s), CUDA_SUCCESS);
      return ::call(call, e);
    });
  };
  recorded("cuEventSynchronize");
  recorded("cuEventQuery");
  ASSERT_EQ(record(e, t), CUDA_SUCCESS);
  during("outside", CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
         [&] { return wait(s, e); });
  // Ended in a stream that joined it.
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  ASSERT_EQ(record(e, s), CUDA_SUCCESS);
  ASSERT_EQ(wait(t, e), CUDA_SUCCESS);
  EXPECT_EQ(end(t), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(status(s), CaptureStatusInvalidated);
  EXPECT_EQ(status(t), CaptureStatusInvalidated);
  EXPECT_EQ(end(s), invalidated);
  // Two captures.
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  ASSERT_EQ(begin(t), CUDA_SUCCESS);
  ASSERT_EQ(record(e, s), CUDA_SUCCESS);
  EXPECT_EQ(wait(t, e), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(end(s), invalidated);
  EXPECT_EQ(end(t), invalidated);
}

TEST_F(CaptureTest, DestroyedStreamsTakeTheirCaptureAlong) {
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  ASSERT_EQ(record(e, s), CUDA_SUCCESS);
  ASSERT_EQ(wait(t, e), CUDA_SUCCESS);
  EXPECT_EQ(call("cuStreamDestroy_v2", s), CUDA_SUCCESS);
  EXPECT_EQ(status(t), CaptureStatusNone);
  EXPECT_EQ(synchronize(), CUDA_SUCCESS);
  // A stream that joined one, and the capture's whole context.
  ASSERT_EQ(begin(t), CUDA_SUCCESS);
  ASSERT_EQ(record(e, t), CUDA_SUCCESS);
  ASSERT_EQ(wait(blocking, e), CUDA_SUCCESS);
  EXPECT_EQ(call("cuStreamDestroy_v2", blocking), CUDA_SUCCESS);
  EXPECT_EQ(fill(t), CUDA_SUCCESS);
}

TEST_F(CaptureTest, FaultOfAGraphFailsTheSynchronization) {
  CUgraph graph = nullptr;
  CUgraphExec run = nullptr;
  ASSERT_EQ(begin(s), CUDA_SUCCESS);
  ASSERT_EQ(doubled(s), CUDA_SUCCESS);
  CUdeviceptr small = p + 192;
  unsigned n = 64;
  void *arguments[] = {&p, &p, &small, &n};
  ASSERT_EQ(call("cuLaunchKernel", addKernel, 2u, 1u, 1u, 32u, 1u, 1u, 0u, s,
                 (void **)arguments, (void **)nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(call("cuStreamEndCapture", s, &graph), CUDA_SUCCESS);
  ASSERT_EQ(call("cuGraphInstantiateWithFlags", &run, graph, 0ull), 0);
  EXPECT_EQ(call("cuGraphLaunch", run, s), CUDA_SUCCESS);
  EXPECT_EQ(call("cuStreamSynchronize", s), CUDA_ERROR_ILLEGAL_ADDRESS);
  call<void>("ptxsimReset");
}

} // namespace
