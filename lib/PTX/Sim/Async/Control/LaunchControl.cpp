//===- LaunchControl.cpp - Cancels clusters that have not started ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, clusterlaunchcontrol.try_cancel and .query_cancel. LaunchQueue
// decides which cluster a request receives, if any.
//
//===----------------------------------------------------------------------===//

#include "Copy/CopyTargets.h"
#include "Families.h"

#include "fmha/PTX/Sim/Core/Execution/LaunchQueue.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptxsim {
namespace {

// --- the response ---

/// Opaque in the manual. This is the encoding that ptxas decodes: the first
/// CTA, x in bits 0 .. 31, y in 32 .. 47, z in 48 .. 63, and in bit 64 whether
/// there is one.
struct Response {
  uint64_t low = 0, high = 0;
};
static_assert(sizeof(Response) == 16);

/// Bits that no program may inspect distinguish a failed request from memory
/// without a response. The coordinates of a failed request are undefined:
/// noise.
constexpr uint64_t kCanceled = 1, kFailed = 0xCBCBCBCBCBCBCBCA,
                   kNoise = 0xCBCBCBCBCBCBCBCB;

Response responseOf(std::optional<Dim3> cta) {
  if (!cta)
    return {kNoise, kFailed};
  return {cta->x | uint64_t(cta->y) << 32 | uint64_t(cta->z) << 48, kCanceled};
}

/// Returns x, y, z, and a fourth value that is unspecified.
std::array<uint32_t, 4> coordinatesIn(const Response &response) {
  return {uint32_t(response.low), uint32_t(response.low >> 32 & 0xffff),
          uint32_t(response.low >> 48), uint32_t(kNoise)};
}

/// The first site in the CTA that has observed a failed request.
struct FailureSeen : UnitState {
  Site site;
};

// --- try_cancel ---

struct Request {
  AddressOperand response, barrier;
  bool multicast = false;
};

class TryCancel : public AsyncOp {
public:
  TryCancel(const Site &site, std::vector<CopyTarget> targets)
      : AsyncOp(site), targets(std::move(targets)),
        tickets(this->targets.size()) {
    for (size_t i = 0; i < this->targets.size(); ++i)
      begin(i);
  }
  void complete(Cluster &cluster) override {
    LaunchQueue *queue = cluster.machine.queue.get();
    Response response =
        responseOf(queue ? queue->cancel(cluster) : std::nullopt);
    cluster.makesRoom = true;
    uint8_t bytes[sizeof response];
    std::memcpy(bytes, &response, sizeof bytes);
    for (size_t i = 0; i < targets.size(); ++i) {
      const SharedRef &to = targets[i].shared;
      endAsyncWrite(*to.cta, to.offset, bytes, sizeof bytes);
      completeTx(cluster, site, targets[i].barrier, sizeof bytes, tickets[i]);
    }
  }
  bool touches(const Cta &cta, uint32_t offset, uint32_t size,
               Access access) const override {
    return access == Access::Write &&
           std::ranges::any_of(targets, [&](const CopyTarget &target) {
             return target.shared.cta == &cta &&
                    overlap(target.shared.offset, sizeof(Response), offset,
                            size);
           });
  }
  std::string describe() const override {
    return "try_cancel with its response to shared " +
           describeShared(*targets[0].shared.cta, targets[0].shared.offset);
  }

private:
  void begin(size_t index) {
    const CopyTarget &target = targets[index];
    beginAsyncWrite(site, *target.shared.cta, target.shared.offset,
                    sizeof(Response));
    Races *races = racesOf(site);
    if (!races)
      return;
    RaceStream &stream =
        races->clocks.stream(*site.warp, race::Kind::TryCancel, target.barrier);
    race::Access write = races->memory.sharedAccess(
        stream, site, *target.shared.cta, Access::Write);
    write.followsClusters = true;
    // The manual's example executes the fence after reading a response.
    write.fencesReads =
        site.warp->machine.options.conformance == Conformance::Isa;
    races->memory.shadowOf(*target.shared.cta)
        .apply(target.shared.offset, sizeof(Response), write);
    tickets[index] = ticketFor(site, stream, target.barrier);
  }
  std::vector<CopyTarget> targets;
  std::vector<RaceTicket> tickets;
};

/// Checks that an operand is in the executing CTA. Returns false after a fault.
bool isOwn(const Warp &warp, const Site &site, uint32_t address) {
  if (address >> 24 == warp.cta.rank)
    return true;
  warp.machine.fault(FindingId::OutOfBounds, site,
                     "shared address of the CTA of rank " +
                         std::to_string(address >> 24) +
                         ", expected one of the CTA that executes, of rank " +
                         std::to_string(warp.cta.rank));
  return false;
}

void requestLane(Warp &warp, const Instruction &inst, unsigned lane) {
  const Request &request = inst.data<Request>();
  Site site = warp.site(inst, int(lane));
  auto response = sharedAddress(warp, inst, request.response, lane);
  auto barrier = sharedAddress(warp, inst, request.barrier, lane);
  if (!response || !barrier || !isOwn(warp, site, *response) ||
      !isOwn(warp, site, *barrier))
    return;
  const Site &failure = warp.cta.states.get<FailureSeen>().site;
  if (failure.warp)
    warp.machine.report.add(FindingId::TryCancelAfterFailure, site,
                            "a request of this CTA has failed before.",
                            otherAt("that it failed was seen by", failure));
  std::optional<uint16_t> mask;
  if (request.multicast)
    mask = uint16_t((1u << warp.cluster.ctas.size()) - 1);
  std::vector<CopyTarget> targets =
      copyTargets(warp.cluster, site, *response, *barrier, mask, false,
                  sizeof(Response), sizeof(Response));
  if (!targets.empty())
    warp.cluster.issue(std::make_unique<TryCancel>(site, std::move(targets)));
}

/// Issues one request per lane. Another warp continues afterwards: under eager
/// completion, this is where clusters take turns.
Outcome executeRequest(Warp &warp, const Instruction &inst, LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    if (!warp.machine.stopped)
      requestLane(warp, inst, lane);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Yield;
}

void decodeRequest(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"try_cancel", "async", "shared::cta",
                           "mbarrier::complete_tx::bytes",
                           "multicast::cluster::all", "b128"});
  if (!decoder.has("async") || !decoder.has("mbarrier::complete_tx::bytes") ||
      !decoder.has("b128"))
    decoder.unsupported(
        "expected .async, .mbarrier::complete_tx::bytes and .b128");
  decoder.expectOperands(2, 2);
  Space space = decoder.has("shared::cta") ? Space::Shared : Space::Generic;
  Request request;
  request.response = decoder.address(0, space);
  request.barrier = decoder.address(1, space);
  request.multicast = decoder.has("multicast::cluster::all");
  inst.payload = decoder.payload(request);
  inst.handler = executeRequest;
}

// --- query_cancel ---

Response responseIn(const Warp &warp, const Instruction &inst, unsigned lane) {
  return {warp.row(inst.src[0])[lane], warp.row(inst.src[1])[lane]};
}

Outcome executeIsCanceled(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    Response response = responseIn(warp, inst, lane);
    warp.row(inst.dst[0])[lane] = response.high & kCanceled;
    Site &failure = warp.cta.states.get<FailureSeen>().site;
    if (response.high == kFailed && !failure.warp)
      failure = warp.site(inst, int(lane));
  });
  return Outcome::Next;
}

/// The coordinates of a query, starting with x.
struct Axes {
  unsigned first = 0, count = 1;
};

Outcome executeFirstCtaid(Warp &warp, const Instruction &inst,
                          LaneMask active) {
  const Axes &axes = inst.data<Axes>();
  forLanes(active, [&](unsigned lane) {
    Response response = responseIn(warp, inst, lane);
    if (!(response.high & kCanceled))
      warp.machine.report.add(FindingId::FirstCtaidOfFailure,
                              warp.site(inst, int(lane)),
                              "expected a response that cancels a cluster.");
    const auto coordinates = coordinatesIn(response);
    for (unsigned i = 0; i < axes.count; ++i)
      warp.row(inst.dst[i])[lane] = coordinates[axes.first + i];
  });
  return Outcome::Next;
}

/// Requires that the destination is a register, as ptxas does, and not `_`.
void expectQuery(Decoder &decoder, Instruction &inst) {
  decoder.expectOperands(2, 2);
  if (decoder.isSink(0))
    decoder.unsupported("expected a register as destination, got _");
  inst.src = decoder.sources(1, Type::B128);
}

void decodeIsCanceled(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"query_cancel", "is_canceled", "pred", "b128"});
  if (!decoder.has("pred") || !decoder.has("b128"))
    decoder.unsupported("expected .pred.b128");
  expectQuery(decoder, inst);
  inst.dst = decoder.destinations(0, Type::Pred);
  inst.handler = executeIsCanceled;
}

/// Decodes {x, y, z, _}; the value of the fourth is unspecified.
void decodeFirstCtaid(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers(
      {"query_cancel", "get_first_ctaid", "v4", "b32", "b128"});
  if (!decoder.has("v4") || !decoder.has("b32") || !decoder.has("b128"))
    decoder.unsupported("expected .v4.b32.b128");
  expectQuery(decoder, inst);
  inst.dst = decoder.destinations(0, Type::B32, {false, 4});
  if (inst.dst.size() != 4)
    decoder.unsupported("expected four destinations, got " +
                        std::to_string(inst.dst.size()));
  inst.payload = decoder.payload(Axes{0, 4});
  inst.handler = executeFirstCtaid;
}

void decodeCoordinate(Decoder &decoder, Instruction &inst) {
  std::string_view query = decoder.text().parts[2];
  decoder.expectModifiers({"query_cancel", query, "b32", "b128"});
  if (!decoder.has("b32") || !decoder.has("b128"))
    decoder.unsupported("expected .b32.b128");
  expectQuery(decoder, inst);
  inst.dst = decoder.destinations(0, Type::B32);
  inst.payload = decoder.payload(Axes{unsigned(query.back() - 'x'), 1});
  inst.handler = executeFirstCtaid;
}

} // namespace

void registerLaunchControl(Registry &registry) {
  const std::string query = "clusterlaunchcontrol.query_cancel";
  registry.add("clusterlaunchcontrol.try_cancel", decodeRequest);
  registry.add(query + ".is_canceled", decodeIsCanceled);
  registry.add(query + ".get_first_ctaid", decodeFirstCtaid);
  for (const char *axis : {"::x", "::y", "::z"})
    registry.add(query + ".get_first_ctaid" + axis, decodeCoordinate);
}

} // namespace ptxsim
