//===- Products.cpp - wgmma and the registers that it shares --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accumulators of wgmma are in registers, and the tensor core reads and
// writes them through ports that other instructions use as well. Measured on an
// H200 (results/h200-wgmma-speed-2026-11-28.csv): FMAs go first and delay the
// products, while instructions of the pipes for integers and for exponentials
// take longer and delay products only together with FMAs. All of it follows
// from one rule: products need half of the clocks of a port, other instructions
// the clocks of `PortClocks`, and what products miss they lose twice. A warp's
// exponentials do not overlap with its other instructions then: 64 FMAs and
// exponentials take as long as the FMAs and the exponentials one after another.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

namespace ptxsim::timing {
namespace {

/// What an instruction of a pipe costs while products run: clocks of the port,
/// and the factors of its interval for the next step of another warp and for
/// one of the same warp.
struct Contention {
  Pipe pipe;
  Figure port, shared, own;
};

constexpr Contention contentions[] = {
    {Pipe::Fma, Figure::WgmmaFmaPortClocks, Figure::WgmmaFmaSlowdown,
     Figure::WgmmaFmaOwnSlowdown},
    {Pipe::Alu, Figure::WgmmaAluPortClocks, Figure::WgmmaAluSlowdown,
     Figure::WgmmaAluOwnSlowdown},
    {Pipe::Mufu, Figure::WgmmaMufuPortClocks, Figure::WgmmaMufuSlowdown,
     Figure::WgmmaMufuOwnSlowdown},
};

const Contention *contentionOf(Pipe pipe) {
  const auto *found = std::ranges::find(contentions, pipe, &Contention::pipe);
  return found == std::end(contentions) ? nullptr : found;
}

/// Delays the products by what the instruction takes of the port, less what
/// they have read ahead.
void delayProducts(State &state, TensorCore &tensor, double portClocks) {
  double ahead = -state.figures[Figure::WgmmaPortLead];
  double lag =
      std::max(tensor.lag - (state.now - tensor.lagAt), ahead) + 2 * portClocks;
  tensor.lagAt = state.now;
  tensor.lag = std::min(lag, 0.0);
  if (lag <= 0)
    return;
  holdProducts(tensor, lag);
}

/// Lets the next exponential of the warp wait for an instruction of another
/// pipe as well, while products run.
void holdExponentials(const Doing &doing, const Unit &pipe, double clocks) {
  Unit &mufu = doing.part().pipes[size_t(Pipe::Mufu)];
  if (&mufu != &pipe && mufu.last.valid() &&
      mufu.last.warp == doing.warp.index && mufu.ownFreeAt > doing.now())
    mufu.ownFreeAt += clocks * doing.figure(Figure::WgmmaMufuHold);
}

} // namespace

void holdProducts(TensorCore &tensor, double clocks) {
  if (tensor.products.empty())
    return;
  tensor.products.front().end += clocks;
  for (size_t i = 1; i < tensor.products.size(); ++i) {
    Product &product = tensor.products[i];
    double late = tensor.products[i - 1].end - product.begin;
    product.begin += std::max(late, 0.0);
    product.end += std::max(late, 0.0);
  }
}

void startProduct(Doing &doing, double clocks, double port) {
  TensorCore &tensor = doing.part().tensor;
  double begin = doing.now() + doing.figure(Figure::WgmmaStart);
  if (tensor.products.empty()) {
    // Nothing has kept an idle core from reading ahead.
    tensor.lag = -doing.figure(Figure::WgmmaPortLead);
    tensor.lagAt = begin;
  } else if (tensor.products.back().end > begin) {
    begin = tensor.products.back().end;
    doing.timed.endCause = {tensor.products.back().id, Why::Busy, false};
  }
  tensor.products.push_back(
      {doing.id, doing.facts, begin, begin + clocks, port});
  doing.timed.end = begin + clocks;
  doing.state.result.mmaBusy += clocks / 4;
}

void endProducts(State &state, SubPartition &part) {
  std::deque<Product> &products = part.tensor.products;
  for (; !products.empty() && products.front().end <= state.now;
       products.pop_front()) {
    const Product &product = products.front();
    Schedule &result = state.result;
    result.steps[product.id.warp][product.id.step].end = product.end;
    if (state.keepsWork)
      result.work.push_back(
          {part.tensor.number, product.begin, product.end, product.id});
    for (const Fact &fact : product.facts)
      if (fact.kind == Fact::Kind::Signal)
        signal(state, fact, {product.end, product.id}, true);
  }
}

Moment roomForProduct(const State &state, const SubPartition &part) {
  const std::deque<Product> &products = part.tensor.products;
  size_t depth = size_t(state.figures[Figure::WgmmaQueue]);
  if (products.size() < depth)
    return {};
  const Product &last = products[products.size() - depth];
  return {last.end, last.id};
}

double descriptorClocks(const State &state, const WarpState &warp,
                        const Code &code, const Unit &pipe) {
  if (!pipe.last.valid() || pipe.last.warp != warp.index)
    return 0;
  uint32_t before = warp.record->steps[pipe.last.step].code;
  if (state.recording.codes[before].reads == code.reads)
    return 0;
  return state.figures[code.isAInSmem ? Figure::WgmmaSmemInterval
                                      : Figure::WgmmaRegisterInterval] -
         state.figures[Figure::WgmmaInterval];
}

void takePipe(const Doing &doing, Unit &pipe) {
  const CostClass &of = *doing.code.of;
  double clocks = doing.figure(of.interval) * of.slots;
  double shared = clocks, own = clocks;
  TensorCore &tensor = doing.part().tensor;
  const Contention *contention = contentionOf(of.pipe);
  bool multiplies =
      !tensor.products.empty() && tensor.products.front().begin <= doing.now();
  if (contention && multiplies) {
    shared *= doing.figure(contention->shared);
    own *= doing.figure(contention->own);
    delayProducts(doing.state, tensor,
                  doing.figure(contention->port) * of.slots);
    holdExponentials(doing, pipe, own);
  }
  if (of.pipe == Pipe::Mufu && pipe.last.valid() &&
      pipe.last.warp != doing.warp.index) {
    shared += doing.figure(Figure::MufuTurn);
    own += doing.figure(Figure::MufuTurn);
  }
  double begin = std::max(freeAt(pipe, doing.warp.index), doing.now() - 1);
  pipe.freeAt = begin + shared;
  pipe.ownFreeAt = begin + own;
  pipe.last = doing.id;
}

} // namespace ptxsim::timing
