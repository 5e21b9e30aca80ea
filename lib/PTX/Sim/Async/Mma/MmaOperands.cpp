//===- MmaOperands.cpp - Operands of one tensor core instruction ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaOperands.h"

#include <cstring>

namespace ptxsim {
namespace {

constexpr uint32_t chunkBytes = 16;

/// Calls `visit(address, mn, k)` for each 16 bytes, with their first element.
/// Rows that stay contiguous under the swizzle are also visited in chunks: 16
/// bytes is what every layout keeps contiguous.
template <typename Visit>
void forChunks(const SmemOperand &operand, Visit visit) {
  unsigned bytes = operand.elementBytes();
  uint32_t packed = operand.perContainer();
  uint32_t per = chunkBytes / bytes * packed;
  bool alongK = operand.major == Major::K;
  uint32_t outer = alongK ? operand.mn : operand.k;
  uint32_t inner = alongK ? operand.k : operand.mn;
  for (uint32_t o = 0; o < outer; ++o)
    for (uint32_t i = 0; i < inner; i += per) {
      uint32_t mn = alongK ? o : i, k = alongK ? i : o;
      visit(operand.descriptor.address(operand.major, bytes, mn, k / packed),
            mn, k);
    }
}

/// Calls `visit(address, bytes)` for the whole operand, with one call for each
/// run of adjacent chunks.
template <typename Visit>
void forRuns(const SmemOperand &operand, Visit visit) {
  uint32_t begin = 0, end = 0;
  forChunks(operand, [&](uint32_t address, uint32_t, uint32_t) {
    if (address == end && end) {
      end += chunkBytes;
    } else if (address + chunkBytes == begin) {
      begin = address;
    } else {
      if (end)
        visit(begin, end - begin);
      begin = address;
      end = address + chunkBytes;
    }
  });
  if (end)
    visit(begin, end - begin);
}

bool marksReads(const Cta &cta) {
  return cta.machine.options.policy != Policy::Eager &&
         !cta.sharedMarks.empty();
}

/// Decodes the two formats of inner loops, without a call per element.
template <float (*Decode)(uint32_t)>
void decodeHalves(const uint8_t *bytes, const SmemOperand &operand, float *out,
                  size_t stride) {
  float sign = operand.negate ? -1.0f : 1.0f;
  uint16_t values[chunkBytes / sizeof(uint16_t)];
  std::memcpy(values, bytes, chunkBytes);
  for (uint16_t value : values) {
    *out = sign * Decode(value);
    out += stride;
  }
}

template <typename Container>
void decodeChunk(const uint8_t *bytes, const SmemOperand &operand, float *out,
                 size_t stride) {
  float sign = operand.negate ? -1.0f : 1.0f;
  Container values[chunkBytes / sizeof(Container)];
  std::memcpy(values, bytes, chunkBytes);
  for (Container value : values) {
    *out = sign * decodeElement(operand.type, value);
    out += stride;
  }
}

/// Decodes `Count` elements of `Bits` bits, as a stream from the first byte;
/// the rest of the chunk is padding.
template <unsigned Bits, unsigned Count = chunkBytes>
void decodeStream(const uint8_t *bytes, const SmemOperand &operand, float *out,
                  size_t stride) {
  float sign = operand.negate ? -1.0f : 1.0f;
  for (unsigned i = 0; i < Count; ++i) {
    unsigned at = i * Bits / 8, shift = i * Bits % 8;
    uint32_t pair = bytes[at];
    if (shift + Bits > 8)
      pair |= uint32_t(bytes[at + 1]) << 8;
    uint32_t code = pair >> shift & ((1u << Bits) - 1);
    *out = sign * decodeElement(operand.type, code);
    out += stride;
  }
}

using ChunkDecoder = void (*)(const uint8_t *, const SmemOperand &, float *,
                              size_t);

/// Returns how many bytes of a chunk hold elements; the rest is padding.
uint32_t codeBytes(ElementType type) {
  switch (type) {
  case ElementType::E2M1:
    return chunkBytes * 4 / 8;
  case ElementType::E2M3:
  case ElementType::E3M2:
    return chunkBytes * 6 / 8;
  default:
    return chunkBytes;
  }
}

/// FNV-1a of 32-bit words.
class Hash {
public:
  void add(uint32_t word) { state = (state ^ word) * 0x100000001b3; }
  uint64_t value() const { return state; }

private:
  uint64_t state = 0xcbf29ce484222325;
};

ChunkDecoder chunkDecoder(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return decodeHalves<decodeF16>;
  case ElementType::BF16:
    return decodeHalves<decodeBF16>;
  case ElementType::E2M1:
    return decodeStream<4>;
  case ElementType::PackedE2M1:
    return decodeStream<4, 2 * chunkBytes>;
  case ElementType::E2M3:
  case ElementType::E3M2:
    return decodeStream<6>;
  default:
    return containerBits(type) == 8 ? decodeChunk<uint8_t>
                                    : decodeChunk<uint32_t>;
  }
}

} // namespace

SmemOperand rowsOf(const SmemOperand &operand, uint32_t first, uint32_t count) {
  SmemOperand part = operand;
  part.mn = count;
  // The swizzle acts on absolute addresses, and is its own inverse.
  const SmemDescriptor &d = operand.descriptor;
  part.descriptor.start = d.xorFunction()(
      d.address(operand.major, operand.elementBytes(), first, 0));
  return part;
}

bool checkBounds(const Site &site, Cta &cta, const SmemOperand &operand) {
  uint32_t lowest = UINT32_MAX, highest = 0;
  forChunks(operand, [&](uint32_t address, uint32_t, uint32_t) {
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
  });
  if (lowest >= kSharedBase && highest + chunkBytes <= cta.sharedEnd)
    return true;
  cta.machine.fault(
      FindingId::OutOfBounds, site,
      "the descriptor reaches shared bytes " + std::to_string(lowest) + ".." +
          std::to_string(highest + chunkBytes - 1) + ", expected them inside " +
          std::to_string(kSharedBase) + ".." +
          std::to_string(cta.sharedEnd - 1));
  return false;
}

void checkReady(const Site &site, Cta &cta, const SmemOperand &operand) {
  if (cta.sharedMarks.empty())
    return;
  forRuns(operand, [&](uint32_t address, uint32_t bytes) {
    checkAsyncSource(site, cta, address, bytes);
  });
}

void beginRead(Cta &cta, const SmemOperand &operand) {
  if (marksReads(cta))
    forRuns(operand, [&](uint32_t address, uint32_t bytes) {
      beginAsyncRead(cta, address, bytes);
    });
}

void endRead(Cta &cta, const SmemOperand &operand) {
  if (marksReads(cta))
    forRuns(operand, [&](uint32_t address, uint32_t bytes) {
      endAsyncRead(cta, address, bytes);
    });
}

bool hasByte(const SmemOperand &operand, uint32_t offset, uint32_t bytes) {
  bool found = false;
  forChunks(operand, [&](uint32_t address, uint32_t, uint32_t) {
    found |= overlap(address, chunkBytes, offset, bytes);
  });
  return found;
}

void noteRead(Races &races, const RaceStream &stream, const Site &site,
              Cta &cta, const SmemOperand &operand) {
  race::Access read =
      races.memory.sharedAccess(stream, site, cta, Access::Read);
  race::Shadow &shadow = races.memory.shadowOf(cta);
  forRuns(operand, [&](uint32_t address, uint32_t bytes) {
    shadow.apply(address, bytes, read);
  });
}

void gather(const Cta &cta, const SmemOperand &operand, float *out,
            size_t strideMn, size_t strideK) {
  ChunkDecoder decode = chunkDecoder(operand.type);
  size_t stride = operand.major == Major::K ? strideK : strideMn;
  forChunks(operand, [&](uint32_t address, uint32_t mn, uint32_t k) {
    decode(&cta.shared[address], operand, out + mn * strideMn + k * strideK,
           stride);
  });
}

uint64_t hashOf(const Cta &cta, const SmemOperand &operand) {
  uint32_t bytes = codeBytes(operand.type);
  Hash hash;
  forChunks(operand, [&](uint32_t address, uint32_t, uint32_t) {
    bool inside =
        address >= kSharedBase && address + chunkBytes <= cta.sharedEnd;
    for (uint32_t i = 0; i < bytes && inside; i += sizeof(uint32_t)) {
      uint32_t word;
      std::memcpy(&word, &cta.shared[address + i], sizeof(word));
      hash.add(word);
    }
  });
  return hash.value();
}

uint8_t layoutGroups(TmemLayout layout, uint32_t baseLane) {
  bool half = layout == TmemLayout::F || layout == TmemLayout::C;
  if (half)
    return baseLane % 32 ? 0xaa : 0x55;
  return 0xff;
}

TmemRange TmemOperand::range() const {
  return {layoutGroups(layout, base.lane), base.column, columns()};
}

/// Returns the lanes of whole groups.
static TensorMemory::LaneSet lanesOf(uint8_t groups) {
  TensorMemory::LaneSet lanes{};
  for (uint32_t group = 0; group < TensorMemory::groups; ++group)
    if (groups >> group & 1)
      lanes[group / 4] |= uint64_t(0xffff) << (group % 4 * 16);
  return lanes;
}

/// Reports an operand that was not written. Returns true if it was.
static bool checkWritten(const Site &site, TensorMemory &memory,
                         const char *name, const TmemRange &range) {
  if (!memory.firstUnwritten(lanesOf(range.groups), range.column, range.count))
    return true;
  site.warp->machine.report.add(FindingId::TmemUninit, site,
                                std::string(name) + " in tensor memory, " +
                                    describeColumns(range.column, range.count));
  return false;
}

void gather(const Site &site, TensorMemory &memory, const TmemOperand &operand,
            float *out) {
  unsigned bits = containerBits(operand.type);
  float sign = operand.negate ? -1.0f : 1.0f;
  uint32_t perColumn = 32 / bits;
  for (uint32_t row = 0; row < operand.rows; ++row) {
    TmemCell start = operandCell(operand.layout, row, 0, bits).cell;
    uint32_t lane = operand.base.lane + start.lane;
    for (uint32_t c = 0; c < operand.columns(); ++c) {
      uint32_t word = memory.cell(lane, operand.base.column + c);
      for (uint32_t i = 0; i < perColumn; ++i) {
        uint32_t element = word >> (i * bits);
        if (bits < 32)
          element &= (1u << bits) - 1;
        *out++ = sign * decodeElement(operand.type, element);
      }
    }
  }
  checkWritten(site, memory, "A", operand.range());
}

uint64_t hashOf(TensorMemory &memory, const TmemOperand &operand) {
  unsigned bits = containerBits(operand.type);
  Hash hash;
  for (uint32_t row = 0; row < operand.rows; ++row) {
    uint32_t lane =
        operand.base.lane + operandCell(operand.layout, row, 0, bits).cell.lane;
    for (uint32_t c = 0; c < operand.columns(); ++c)
      hash.add(memory.cell(lane, operand.base.column + c));
  }
  return hash.value();
}

TmemRange MetadataOperand::range() const {
  return {layoutGroups(map.layout, base.lane), base.column, map.columns()};
}

/// The positions that four bits name: of the element of a group of two, or of
/// the two elements (or pairs of elements) of a wider group.
struct Positions {
  uint8_t first, second;
};

static std::optional<Positions> positionsOf(uint32_t bits, uint32_t width) {
  Positions p{uint8_t(bits & 3), uint8_t(bits >> 2)};
  // 0110 is the only descending pair that the manual lists.
  bool listed = p.first < p.second || bits == 6;
  if (width > 2)
    return listed ? std::optional(p) : std::nullopt;
  // The index names the halves of one element.
  if (bits != 0x4 && bits != 0xe)
    return std::nullopt;
  return Positions{uint8_t(bits == 0xe), 0};
}

/// Returns the four bits of one group of a row.
static uint32_t metadataBits(TensorMemory &memory,
                             const MetadataOperand &operand, uint32_t row,
                             uint32_t group) {
  auto [cell, bit] = operand.map.cell(row, group);
  uint32_t word = memory.cell(operand.base.lane + cell.lane,
                              operand.base.column + cell.column);
  return word >> bit & 0xf;
}

void gather(const Site &site, TensorMemory &memory,
            const MetadataOperand &operand, std::vector<uint8_t> &out) {
  uint32_t width = operand.width, pair = width == 8 ? 2 : 1, illegal = 0;
  std::string first;
  out.clear();
  for (uint32_t row = 0; row < operand.rows; ++row)
    for (uint32_t group = 0; group < operand.map.groups(); ++group) {
      uint32_t bits = metadataBits(memory, operand, row, group);
      auto positions = positionsOf(bits, width);
      if (!positions && !illegal++)
        first = "metadata " + std::to_string(bits) + " of group " +
                std::to_string(group) + " of row " + std::to_string(row);
      Positions p = positions.value_or(Positions{0, uint8_t(width > 2)});
      for (uint32_t i = 0; i < width / 2; ++i)
        out.push_back(uint8_t(
            group * width + (i / pair ? p.second : p.first) * pair + i % pair));
    }
  bool written = checkWritten(site, memory, "metadata", operand.range());
  if (written && illegal)
    site.warp->machine.report.add(FindingId::MmaMetadata, site,
                                  first + ", the first of " +
                                      std::to_string(illegal));
}

void gather(const Site &site, TensorMemory &memory, const ScaleOperand &operand,
            const char *name, std::vector<float> &out) {
  bool written = true, same = true;
  uint32_t used = uint32_t((uint64_t(1) << 8 * operand.vector) - 1)
                  << 8 * operand.id;
  out.clear();
  for (uint32_t mn = 0; mn < operand.count; ++mn) {
    TmemCell cell = operand.map.cell(mn);
    uint32_t column = operand.base.column + cell.column;
    uint32_t word = memory.cell(cell.lane, column);
    for (uint32_t copy = 0; copy < operand.map.copies(); ++copy) {
      uint32_t lane = cell.lane + copy * ScaleMap::copyLanes;
      written &= memory.isWritten(lane, column);
      same &= !((memory.cell(lane, column) ^ word) & used);
    }
    for (uint32_t i = 0; i < operand.vector; ++i)
      out.push_back(
          decodeElement(operand.type, word >> 8 * (operand.id + i) & 0xff));
  }
  std::string text = std::string(name) + ", " +
                     describeColumns(operand.base.column, operand.columns());
  Report &report = site.warp->machine.report;
  if (!written)
    report.add(FindingId::TmemUninit, site, text);
  else if (!same)
    report.add(FindingId::MmaCopiesDiffer, site,
               text + ", differ between the quarters of the lanes");
}

} // namespace ptxsim
