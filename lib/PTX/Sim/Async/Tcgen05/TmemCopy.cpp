//===- TmemCopy.cpp - tcgen05.cp ------------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.cp. The figures of the expansion of 4- and 6-bit elements
// are no text: each element goes to the low bits of its byte, as with ldmatrix,
// to which the manual gives the same figures.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "Mma/MmaOperands.h"

#include <cstring>

namespace ptxsim {
namespace {

/// A packed format of 16 elements in 16 bytes, which become 16 bytes.
struct Expansion {
  std::string_view name;
  unsigned bits;
};

constexpr std::array<Expansion, 2> expansions = {
    {{"b6x16_p32", 6}, {"b4x16_p64", 4}}};

constexpr uint32_t chunkBytes = 16;

/// Returns 16 bytes with one element each of a stream of `bits` bits.
std::array<uint8_t, chunkBytes> expand(const uint8_t *from, unsigned bits) {
  std::array<uint8_t, chunkBytes> to{};
  for (unsigned i = 0; i < chunkBytes; ++i)
    for (unsigned bit = 0; bit < bits; ++bit) {
      unsigned at = i * bits + bit;
      to[i] |= uint8_t((from[at / 8] >> at % 8 & 1) << bit);
    }
  return to;
}

struct Payload {
  const TmemCopyShape *shape = nullptr;
  /// The bits of an element that expands to a byte, or 8.
  unsigned bits = 8;
  unsigned group = 1;
  Operand descriptor;
};

/// Returns true for the shape that may replace a row after a shift, which the
/// tensor core orders.
bool isRefresh(const TmemCopyShape &shape) { return shape.shape == "4x256b"; }

/// A copy of rows of shared memory to lanes of tensor memory, in each CTA of
/// the group.
class TmemCopyOp : public AsyncOp {
public:
  TmemCopyOp(const Site &site, std::vector<Cta *> ctas, const Payload &payload,
             const SmemOperand &source, TmemCell target)
      : AsyncOp(site), ctas(std::move(ctas)), shape(*payload.shape),
        bits(payload.bits), source(source), target(target) {
    for (Cta *cta : this->ctas) {
      cta->states.get<TensorMemory>().begin(range(), TensorMemory::CopyWrites,
                                            site);
      beginRead(*cta, source);
      if (Races *races = racesOf(site))
        note(*races, *cta);
    }
  }
  void complete(Cluster &cluster) override {
    for (Cta *cta : ctas) {
      TensorMemory &memory = cta->states.get<TensorMemory>();
      for (uint32_t row = 0; row < shape.rows; ++row)
        copyRow(*cta, memory, row);
      memory.end(range(), TensorMemory::CopyWrites, site);
      endRead(*cta, source);
    }
    cluster.changed();
  }
  bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
               Access access) const override {
    return access == Access::Read && hasByte(source, offset, bytes) &&
           std::find(ctas.begin(), ctas.end(), &cta) != ctas.end();
  }
  std::string describe() const override {
    return "tcgen05.cp into " + describeColumns(target.column, shape.columns);
  }
  TmemRange range() const { return {0xff, target.column, shape.columns}; }

private:
  void note(Races &races, Cta &cta) const {
    RaceStream &stream = races.clocks.stream(*site.warp, race::Kind::Mma);
    TmemRange to = range();
    race::Kind kind =
        isRefresh(shape) ? race::Kind::TmemRefresh : race::Kind::TmemCopy;
    races.memory.tensor(&stream, site, cta, to.groups, to.column, to.count,
                        Access::Write, {kind});
    noteRead(races, stream, site, cta, source);
  }
  void copyRow(Cta &cta, TensorMemory &memory, uint32_t row) {
    std::array<uint8_t, chunkBytes> bytes{};
    for (uint32_t c = 0; c < shape.columns; ++c) {
      if (c % 4 == 0)
        bytes = expand(
            &cta.shared[source.descriptor.address(Major::K, 1, row, c * 4)],
            bits);
      uint32_t value;
      std::memcpy(&value, &bytes[c % 4 * 4], sizeof value);
      for (uint32_t copy = 0; copy < shape.copies; ++copy) {
        uint32_t lane = target.lane + shape.lane(row, copy);
        memory.cell(lane, target.column + c) = value;
        memory.setWritten(lane, target.column + c);
      }
    }
  }
  std::vector<Cta *> ctas;
  const TmemCopyShape &shape;
  unsigned bits;
  SmemOperand source;
  TmemCell target;
};

/// Reports operations in flight that use the cells. Only one shape is in order
/// after a shift, and none after a copy.
void checkHazards(const Site &site, TensorMemory &memory,
                  const TmemRange &range, bool refreshes) {
  Machine &machine = site.warp->machine;
  std::string text =
      "tcgen05.cp writes " + describeColumns(range.column, range.count);
  bool practice = inIssueOrder(*site.warp);
  const TmemUser *writer = memory.user(range, {TensorMemory::CopyWrites});
  if (writer && !practice && !refreshes)
    machine.report.add(FindingId::TmemInFlight, site, text,
                       inFlightUse(*writer));
  if (auto *reader = memory.user(range, {TensorMemory::LoadReads}))
    machine.report.add(FindingId::TmemWriteUnderRead, site, text,
                       inFlightUse(*reader));
}

/// Checks places, columns and bytes at issue. Returns false after a fault.
bool checkCopy(const Site &site, const std::vector<Cta *> &ctas,
               const SmemOperand &source, TmemCell target,
               const TmemCopyShape &shape) {
  bool single = isRefresh(shape);
  if (target.lane && !(single && target.lane < 32)) {
    site.warp->machine.fault(FindingId::InvalidDatapathAlignment, site,
                             "tcgen05.cp to lane " +
                                 std::to_string(target.lane) +
                                 ", expected lane 0");
    return false;
  }
  for (Cta *cta : ctas) {
    TensorMemory &memory = cta->states.get<TensorMemory>();
    if (!checkColumns(memory, site, target.column, shape.columns,
                      "tcgen05.cp") ||
        !checkBounds(site, *cta, source))
      return false;
    checkReady(site, *cta, source);
    checkHazards(site, memory, {0xff, target.column, shape.columns}, single);
  }
  return true;
}

void issueCopy(Warp &warp, const Instruction &inst, unsigned lane) {
  const Payload &p = inst.data<Payload>();
  Site site = warp.site(inst, int(lane));
  TensorMemory &memory = warp.cta.states.get<TensorMemory>();
  checkCtaGroup(memory, site, p.group);
  std::vector<Cta *> ctas = participants(warp, site, p.group);
  if (ctas.empty())
    return;
  DecodedDescriptor decoded = decodeSmemDescriptor(warp.row(p.descriptor)[lane],
                                                   DescriptorArch::Tcgen05);
  if (decoded.error)
    return warp.machine.fault(FindingId::MmaSmemDescriptor, site,
                              *decoded.error);
  SmemOperand source{decoded.descriptor,   Major::K,
                     ElementType::U8,      p.shape->rows,
                     p.shape->columns * 4, false};
  TmemCell target = cellOf(uint32_t(warp.addressOf(inst.address, lane)));
  if (!checkCopy(site, ctas, source, target, *p.shape))
    return;
  auto op =
      std::make_unique<TmemCopyOp>(site, std::move(ctas), p, source, target);
  issueInPipe(warp, lane, std::move(op), PipeEntry::copyKey,
              [refreshes = isRefresh(*p.shape)](uint64_t earlier) {
                return refreshes && earlier == PipeEntry::shiftKey;
              });
}

Outcome executeCopy(Warp &warp, const Instruction &inst, LaneMask active) {
  forLanes(active, [&](unsigned lane) {
    if (!warp.machine.stopped)
      issueCopy(warp, inst, lane);
  });
  return warp.machine.stopped ? Outcome::Fault : Outcome::Next;
}

void decodeCopy(Decoder &decoder, Instruction &inst) {
  decoder.expectModifiers({"cp", "cta_group::1", "cta_group::2", "128x256b",
                           "128x128b", "4x256b", "32x128b", "64x128b", "warpx4",
                           "warpx2::02_13", "warpx2::01_23", "b8x16",
                           "b6x16_p32", "b4x16_p64"});
  decoder.expectOperands(2, 2);
  std::string_view shape, multicast;
  for (std::string_view part : decoder.text().parts) {
    if (part.ends_with("b") && part.find('x') != part.npos)
      shape = part;
    if (part.starts_with("warpx"))
      multicast = part;
  }
  Payload payload;
  payload.shape = findTmemCopy(shape, multicast);
  if (!payload.shape)
    decoder.unsupported("no such shape");
  for (const Expansion &expansion : expansions)
    if (decoder.has(expansion.name))
      payload.bits = expansion.bits;
  if (decoder.has("b8x16") != (payload.bits < 8))
    decoder.unsupported("expected .b8x16 with .b6x16_p32 or .b4x16_p64");
  payload.group = decoder.has("cta_group::2") ? 2 : 1;
  payload.descriptor = decoder.source(1, Type::U64);
  inst.address = decoder.address(0, Space::Generic);
  inst.payload = decoder.payload(payload);
  inst.handler = executeCopy;
}

} // namespace

void registerTmemCopy(Registry &registry) {
  registry.add("tcgen05.cp", decodeCopy);
}

} // namespace ptxsim
