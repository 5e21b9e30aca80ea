//===- Wgmma.cpp - One wgmma of the four warps of a warpgroup -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Wgmma.h"

#include <algorithm>
#include <limits>

namespace ptxsim {
namespace {

/// Contents of the registers of an accumulator in flight: a NaN.
constexpr uint32_t poison = 0x7fbadbad;

/// Row in the warp's part, and column, of the first of the two adjacent
/// elements in register `pair` of a lane, counting pairs.
struct Neighbors {
  uint32_t row, column;
};
Neighbors placeOf(unsigned lane, uint32_t pair) {
  return {lane / 4 + 8 * (pair % 2), 8 * (pair / 2) + 2 * (lane % 4)};
}

uint32_t widen(uint32_t half) {
  return std::bit_cast<uint32_t>(
      decodeElement(ElementType::F16, half & 0xffff));
}

uint32_t narrow(uint32_t bits) { return encodeF16(std::bit_cast<float>(bits)); }

SumRules rulesOf(const WgmmaForm &form) {
  SumRules rules;
  rules.minExponentA = minExponent(form.a);
  rules.minExponentB = minExponent(form.b);
  rules.halfResult = form.d == ElementType::F16;
  // The 8-bit sums of Hopper keep 13 bits, the others 25.
  if (containerBits(form.a) == 8)
    rules.window = rules.fractionBits = 13;
  return rules;
}

/// Adds sums of 8-bit products, which are exact in f32: they stay below 2^24.
void addIntegers(const std::vector<uint32_t> &sums, uint32_t *d,
                 bool accumulate, bool saturate) {
  constexpr int64_t low = std::numeric_limits<int32_t>::min();
  constexpr int64_t high = std::numeric_limits<int32_t>::max();
  for (uint32_t bits : sums) {
    int64_t sum = int64_t(std::bit_cast<float>(bits));
    sum += accumulate ? int32_t(*d) : 0;
    *d++ = uint32_t(saturate ? std::clamp(sum, low, high) : sum);
  }
}

} // namespace

void WgmmaAccumulator::load(unsigned part, const std::vector<Row *> &rows) {
  uint32_t *own = cells.data() + size_t(part) * rowsPerWarp * n;
  for (uint32_t pair = 0; pair < n / 4; ++pair)
    for (unsigned lane = 0; lane < 32; ++lane) {
      Neighbors place = placeOf(lane, pair);
      uint32_t *to = own + place.row * n + place.column;
      if (type == ElementType::F16) {
        uint64_t both = (*rows[pair])[lane];
        to[0] = widen(uint32_t(both));
        to[1] = widen(uint32_t(both >> 16));
      } else {
        to[0] = uint32_t((*rows[2 * pair])[lane]);
        to[1] = uint32_t((*rows[2 * pair + 1])[lane]);
      }
    }
  for (Row *row : rows)
    row->fill(poison);
}

void WgmmaAccumulator::store(unsigned part,
                             const std::vector<Row *> &rows) const {
  const uint32_t *own = cells.data() + size_t(part) * rowsPerWarp * n;
  for (uint32_t pair = 0; pair < n / 4; ++pair)
    for (unsigned lane = 0; lane < 32; ++lane) {
      Neighbors place = placeOf(lane, pair);
      const uint32_t *from = own + place.row * n + place.column;
      if (type == ElementType::F16) {
        (*rows[pair])[lane] = narrow(from[0]) | narrow(from[1]) << 16;
      } else {
        (*rows[2 * pair])[lane] = from[0];
        (*rows[2 * pair + 1])[lane] = from[1];
      }
    }
}

std::string nameOf(const Wgmma &work) {
  return "wgmma m64n" + std::to_string(work.form.n) + "k" +
         std::to_string(work.form.k) + " of line " +
         std::to_string(work.first.inst->line);
}

WgmmaOp::WgmmaOp(const Site &site, std::shared_ptr<Wgmma> given,
                 const void *key)
    : AsyncOp(site), work(std::move(given)), key(key) {
  Cta &cta = site.warp->cta;
  if (!work->form.aInRegisters)
    beginRead(cta, work->a);
  beginRead(cta, work->b);
}

/// Register r of a lane holds elements adjacent in k: of row lane / 4, or 8
/// rows below if r is odd.
void WgmmaOp::gatherRegisters(float *a) const {
  const WgmmaForm &form = work->form;
  unsigned bits = containerBits(form.a), per = 32 / bits;
  uint32_t mask = bits < 32 ? (1u << bits) - 1 : UINT32_MAX;
  float sign = form.negateA ? -1.0f : 1.0f;
  for (unsigned part = 0; part < warpgroupWarps; ++part)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned lane = 0; lane < 32; ++lane) {
        uint32_t word = uint32_t((*work->registersA[part][r])[lane]);
        uint32_t row = part * rowsPerWarp + lane / 4 + 8 * (r % 2);
        uint32_t k = per * (lane % 4) + 4 * per * (r / 2);
        for (unsigned i = 0; i < per; ++i)
          a[row * form.k + k + i] =
              sign * decodeElement(form.a, word >> (i * bits) & mask);
      }
}

void WgmmaOp::multiply(const float *a, const float *b) {
  static thread_local std::vector<uint32_t> sums;
  const WgmmaForm &form = work->form;
  uint32_t *d = work->d->cells.data();
  MmaBlock block{warpgroupRows, form.n, form.k,
                 form.n,        form.n, work->accumulate};
  if (form.d == ElementType::S32) {
    sums.resize(size_t(warpgroupRows) * form.n);
    block.accumulate = false;
    fastMma(a, b, sums.data(), block);
    return addIntegers(sums, d, work->accumulate, form.saturate);
  }
  if (site.warp->machine.options.mma == MmaMode::Exact)
    return exactMma(a, b, d, block, rulesOf(form));
  fastMma(a, b, d, block);
  if (form.d == ElementType::F16)
    for (uint32_t &bits : work->d->cells)
      bits = widen(narrow(bits));
}

void WgmmaOp::complete(Cluster &cluster) {
  static thread_local std::vector<float> a, b;
  const WgmmaForm &form = work->form;
  Cta &cta = site.warp->cta;
  a.resize(size_t(warpgroupRows) * form.k);
  b.resize(size_t(form.k) * form.n);
  if (form.aInRegisters) {
    gatherRegisters(a.data());
  } else {
    gather(cta, work->a, a.data(), form.k, 1);
    endRead(cta, work->a);
  }
  gather(cta, work->b, b.data(), 1, form.n);
  endRead(cta, work->b);
  multiply(a.data(), b.data());
  work->done = true;
  cluster.notify(key);
  cluster.changed();
}

bool WgmmaOp::touches(const Cta &cta, uint32_t offset, uint32_t bytes,
                      Access access) const {
  if (access != Access::Read || &cta != &site.warp->cta)
    return false;
  return hasByte(work->b, offset, bytes) ||
         (!work->form.aInRegisters && hasByte(work->a, offset, bytes));
}

std::string WgmmaOp::describe() const { return nameOf(*work); }

} // namespace ptxsim
