//===- Streams.cpp - Streams and events -----------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

using namespace fmha::runtime;
using namespace fmha::runtime::mgpu;

static driver::Stream streamOf(void *stream) {
  return static_cast<driver::Stream>(stream);
}
static driver::Event eventOf(void *event) {
  return static_cast<driver::Event>(event);
}

void *mgpuStreamCreate() {
  driver::Stream stream = nullptr;
  check("cuStreamCreate",
        enter().streamCreate(&stream, driver::streamNonBlocking));
  return stream;
}

void mgpuStreamDestroy(void *stream) {
  check("cuStreamDestroy", enter().streamDestroy(streamOf(stream)));
}

void mgpuStreamSynchronize(void *stream) {
  check("cuStreamSynchronize", enter().streamSynchronize(streamOf(stream)));
}

void mgpuStreamWaitEvent(void *stream, void *event) {
  check("cuStreamWaitEvent",
        enter().streamWaitEvent(streamOf(stream), eventOf(event), 0));
}

void *mgpuEventCreate() {
  driver::Event event = nullptr;
  check("cuEventCreate",
        enter().eventCreate(&event, driver::eventDisableTiming));
  return event;
}

void mgpuEventDestroy(void *event) {
  check("cuEventDestroy", enter().eventDestroy(eventOf(event)));
}

void mgpuEventSynchronize(void *event) {
  check("cuEventSynchronize", enter().eventSynchronize(eventOf(event)));
}

void mgpuEventRecord(void *event, void *stream) {
  check("cuEventRecord", enter().eventRecord(eventOf(event), streamOf(stream)));
}
