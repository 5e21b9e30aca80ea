//===- Attention.cpp - Attention in float64 ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Reference/Attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fmha::reference;

using Dims = std::array<int64_t, 4>;

Problem::Keys Problem::visibleKeys(int64_t row) const {
  int64_t place = positionOf(row);
  Keys keys{0, kvLen};
  if (left)
    keys.first = std::max<int64_t>(keys.first, place - *left);
  if (right)
    keys.end = std::min(keys.end, place + *right + 1);
  if (causal)
    keys.end = std::min(keys.end, place + 1);
  return keys;
}

Problem::Keys Problem::visibleKeys2(int64_t row) const {
  if (!second)
    return {0, 0};
  int64_t place = second->topLeft ? row : row + second->kvLen - qLen;
  int64_t end = second->kvLen;
  return {0, second->causal ? std::min(end, place + 1) : end};
}

/// Checks that a second segment has a valid length for each sequence.
static std::optional<std::string> checkSecond(const Problem &problem) {
  const Problem::Second &second = *problem.second;
  size_t count = problem.sequences ? problem.sequences->size() : 0;
  if (!second.lengths.empty() && second.lengths.size() != count)
    return "expected a length of the second KV segment for each of " +
           std::to_string(count) + " sequences, got " +
           std::to_string(second.lengths.size());
  for (int64_t length : second.lengths)
    if (length < 0 || length > second.kvLen)
      return "expected lengths of the second KV segment from 0 to " +
             std::to_string(second.kvLen) + ", got " + std::to_string(length);
  if (second.kvLen < 0)
    return "expected a length of the second KV segment that is not negative, "
           "got " +
           std::to_string(second.kvLen);
  return std::nullopt;
}

/// Checks that there are counts for all sequences, rows and keys.
static std::optional<std::string> checkListed(const Problem &problem,
                                              int64_t count) {
  const Dims &dims = problem.listed.dims;
  auto has = [&](size_t d, int64_t least) {
    return dims[d] == 1 || dims[d] >= least;
  };
  if (has(0, count) && has(1, problem.qHeads) && has(2, problem.qLen) &&
      has(3, problem.kvLen))
    return std::nullopt;
  auto text = [](int64_t batch, int64_t heads, int64_t rows, int64_t keys) {
    return std::to_string(batch) + " sequences, " + std::to_string(heads) +
           " heads, " + std::to_string(rows) + " rows and " +
           std::to_string(keys) + " keys";
  };
  return "expected counts of " +
         text(count, problem.qHeads, problem.qLen, problem.kvLen) + ", got " +
         text(dims[0], dims[1], dims[2], dims[3]);
}

std::optional<std::string> Problem::check() const {
  auto got = [](int64_t value) { return ", got " + std::to_string(value); };
  if (batch < 0 || qLen < 0 || kvLen < 0)
    return "expected batch, q_len and kv_len not to be negative, got " +
           std::to_string(batch) + ", " + std::to_string(qLen) + " and " +
           std::to_string(kvLen);
  if (qHeads < 1 || kvHeads < 1)
    return "expected at least one query head and one KV head" +
           got(std::min(qHeads, kvHeads));
  if (headDim < 1 || headDimV < 1)
    return "expected head dims of at least 1" +
           got(std::min(headDim, headDimV));
  for (std::optional<int64_t> bound : {left, right})
    if (bound && (*bound < 0 || *bound > int64_t(1) << 40))
      return "expected the bounds of a window to be from 0 to 2^40" +
             got(*bound);
  for (const Sequence &one : sequences.value_or(std::vector<Sequence>()))
    if (one.firstQuery < 0 || one.queries < 0 || one.firstKey < 0 ||
        one.keys < 0 || one.firstQuery + one.queries > qLen ||
        one.firstKey + one.keys > kvLen || one.queryBatch < 0 ||
        one.queryBatch >= batch || one.keyBatch < 0)
      return "expected sequences inside the batch, got one of " +
             std::to_string(one.queries) + " queries and " +
             std::to_string(one.keys) + " keys";
  if (!sinks.empty() && int64_t(sinks.size()) != qHeads)
    return "expected a sink for each of " + std::to_string(qHeads) + " heads" +
           got(int64_t(sinks.size()));
  if (!score.slopes.empty() && int64_t(score.slopes.size()) != qHeads)
    return "expected a slope for each of " + std::to_string(qHeads) + " heads" +
           got(int64_t(score.slopes.size()));
  if (score.softcap && !(*score.softcap > 0))
    return "expected a positive softcap, got " + std::to_string(*score.softcap);
  int64_t count = sequences ? int64_t(sequences->size()) : batch;
  for (const auto &dims :
       {score.bias.data ? score.bias.dims : Dims{1, 1, 1, 1},
        score.mask.data ? score.mask.dims : Dims{1, 1, 1, 1}})
    for (auto [extent, least] :
         {std::pair(dims[0], count), std::pair(dims[1], qHeads)})
      if (extent != 1 && extent < least)
        return "expected a bias and a mask of " + std::to_string(count) +
               " sequences and " + std::to_string(qHeads) + " heads" +
               got(extent);
  if (listed.data)
    if (std::optional<std::string> wrong = checkListed(*this, count))
      return wrong;
  for (const auto &map : {keyScales, valueScales})
    for (auto [extent, least] :
         {std::pair(map.dims[0], count), std::pair(map.dims[1], kvHeads),
          std::pair(map.dims[2], kvLen)})
      if (map.data && extent != 1 && extent < least)
        return "expected scales of " + std::to_string(count) + " sequences, " +
               std::to_string(kvHeads) + " KV heads and " +
               std::to_string(kvLen) + " keys" + got(extent);
  if (!std::isfinite(scale))
    return "expected a finite scale, got " + std::to_string(scale);
  return second ? checkSecond(*this) : std::nullopt;
}

namespace {

/// Query rows that share one pass over K and V, so that both are read from
/// memory once for all of them.
constexpr int64_t rowsPerPass = 4;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The keys that a row sees; those of the second segment follow the first's.
struct Seen {
  Problem::Keys ranges[2];

  bool has(int64_t key) const {
    return ranges[0].has(key) || ranges[1].has(key);
  }
  template <typename Visit> void each(Visit visit) const {
    for (const Problem::Keys &range : ranges)
      for (int64_t j = range.first; j < range.end; ++j)
        visit(j);
  }
};

/// One query head of one batch. K is stored transposed, so that inner loops run
/// over adjacent doubles. Keys of a second segment follow those of the first.
class Head {
public:
  Head(const Problem &problem, const Tensor &q, const Tensor &k,
       const Tensor &v, Result &result)
      : p(problem), q(q), k(k), v(v), result(result),
        count(p.kvLen + (p.second ? p.second->kvLen : 0)),
        keys(p.headDim * count), values(count * p.headDimV),
        magnitudes(values.size()), scores(rowsPerPass * count) {}

  void run(int64_t batch, int64_t head);

private:
  void loadKeysAndValues(int64_t batch, int64_t kvHead);
  void loadSource(const Tensor &k, const Tensor &v, int64_t batch,
                  int64_t kvHead, int64_t first, int64_t length);
  Seen seenBy(int64_t row) const;
  void scoreRows(int64_t batch, int64_t head, int64_t first, int64_t rows);
  /// Scales scores of one row, and applies what the problem makes of them.
  void modify(double *row, int64_t batch, int64_t head, int64_t number,
              const Seen &seen) const;
  /// Turns scores of row `number` into its weights, and writes its results.
  void normalize(double *row, const Seen &seen, double sink, int64_t batch,
                 int64_t head, int64_t number);
  Seen keysOf(int64_t first, int64_t rows) const;
  void accumulate(int64_t batch, int64_t head, int64_t first, int64_t rows);

  const Problem &p;
  const Tensor &q, &k, &v;
  Result &result;
  /// Keys of all sources.
  int64_t count;
  /// [headDim][count], [count][headDimV] and its absolute values.
  std::vector<double> keys, values, magnitudes;
  /// [rowsPerPass][count].
  std::vector<double> scores;
  int64_t loadedBatch = -1, loadedHead = -1;
};

void Head::loadKeysAndValues(int64_t batch, int64_t kvHead) {
  // Adjacent query heads of one group share K and V.
  if (batch == loadedBatch && kvHead == loadedHead)
    return;
  loadedBatch = batch;
  loadedHead = kvHead;
  loadSource(k, v, batch, kvHead, 0, p.kvLen);
  if (p.second)
    loadSource(p.second->k, p.second->v, batch, kvHead, p.kvLen,
               p.second->kvLen);
}

void Head::loadSource(const Tensor &k, const Tensor &v, int64_t batch,
                      int64_t kvHead, int64_t first, int64_t length) {
  for (int64_t j = 0; j < length; ++j) {
    Dims at = {p.firstSequence + batch, kvHead, j, 0};
    double keyScale = p.keyScales.data ? p.keyScales.at(at) : 1;
    double valueScale = p.valueScales.data ? p.valueScales.at(at) : 1;
    for (int64_t d = 0; d < p.headDim; ++d)
      keys[d * count + first + j] = keyScale * k.at(batch, j, kvHead, d);
    for (int64_t d = 0; d < p.headDimV; ++d) {
      double value = valueScale * v.at(batch, j, kvHead, d);
      values[(first + j) * p.headDimV + d] = value;
      magnitudes[(first + j) * p.headDimV + d] = std::fabs(value);
    }
  }
}

Seen Head::seenBy(int64_t row) const {
  Problem::Keys second = p.visibleKeys2(row);
  return {{p.visibleKeys(row), {p.kvLen, p.kvLen + second.end}}};
}

void Head::scoreRows(int64_t batch, int64_t head, int64_t first, int64_t rows) {
  std::fill(scores.begin(), scores.end(), 0.0);
  Seen seen = keysOf(first, rows);
  for (int64_t d = 0; d < p.headDim; ++d) {
    const double *key = keys.data() + d * count;
    for (int64_t r = 0; r < rows; ++r) {
      double query = q.at(batch, first + r, head, d);
      double *row = scores.data() + r * count;
      seen.each([&](int64_t j) { row[j] += query * key[j]; });
    }
  }
}

/// Returns the keys that any of `rows` adjacent rows sees: their ranges are
/// adjacent or overlap.
Seen Head::keysOf(int64_t first, int64_t rows) const {
  Seen seen = seenBy(first), last = seenBy(first + rows - 1);
  for (int n = 0; n < 2; ++n)
    seen.ranges[n].end = last.ranges[n].end;
  return seen;
}

void Head::modify(double *row, int64_t batch, int64_t head, int64_t number,
                  const Seen &seen) const {
  const Score &score = p.score;
  seen.each([&](int64_t j) {
    double &s = row[j] *= p.scale;
    if (j < p.kvLen && !p.timesOf(batch, head, number, j)) {
      s = -infinity;
      return;
    }
    Dims at = {p.firstSequence + batch, head, number, j};
    if (score.softcap)
      s = *score.softcap * std::tanh(s / *score.softcap);
    if (j >= p.kvLen)
      return;
    if (!score.slopes.empty())
      s -= score.slopes[head] * std::fabs(double(p.positionOf(number) - j));
    if (score.bias.data)
      s += score.bias.at(at);
    if (score.mask.data && !score.mask.at(at))
      s = -infinity;
  });
}

void Head::normalize(double *row, const Seen &seen, double sink, int64_t batch,
                     int64_t head, int64_t number) {
  int64_t place = (batch * p.qHeads + head) * p.qLen + number;
  double max = -infinity, sum = 0;
  seen.each([&](int64_t j) { max = std::max(max, row[j]); });
  // A mask makes all scores of a row without keys -inf.
  double shift = max == -infinity ? 0 : max;
  seen.each([&](int64_t j) {
    int32_t times = j < p.kvLen ? p.timesOf(batch, head, number, j) : 1;
    sum += row[j] = times ? times * std::exp(row[j] - shift) : 0;
  });
  result.rowMax[place] = max;
  result.rowSum[place] = sum;
  // With the sink, the shift is the larger of both maxima.
  double high = std::max(max, sink);
  result.lse[place] = high;
  // A NaN score never becomes the maximum, but makes the sum NaN.
  if (high == -infinity && sum == 0)
    return;
  double share = max == -infinity ? 0 : std::exp(max - high);
  double total = share * sum + std::exp(sink - high);
  result.lse[place] = high + std::log(total);
  if (!p.unnormalised)
    seen.each([&](int64_t j) { row[j] *= share / total; });
}

void Head::accumulate(int64_t batch, int64_t head, int64_t first,
                      int64_t rows) {
  auto outputRow = [&](std::vector<double> &all, int64_t r) {
    return all.data() +
           ((batch * p.qLen + first + r) * p.qHeads + head) * p.headDimV;
  };
  keysOf(first, rows).each([&](int64_t j) {
    const double *value = values.data() + j * p.headDimV;
    const double *magnitude = magnitudes.data() + j * p.headDimV;
    for (int64_t r = 0; r < rows; ++r) {
      bool isListed = j >= p.kvLen || p.timesOf(batch, head, first + r, j);
      if (!isListed || !seenBy(first + r).has(j))
        continue;
      double weight = scores[r * count + j];
      double *o = outputRow(result.o, r), *a = outputRow(result.a, r);
      for (int64_t d = 0; d < p.headDimV; ++d) {
        o[d] += weight * value[d];
        a[d] += weight * magnitude[d];
      }
    }
  });
}

void Head::run(int64_t batch, int64_t head) {
  loadKeysAndValues(batch, p.kvHead(head));
  double sink = p.sinks.empty() ? -infinity : p.sinks[head];
  for (int64_t first = 0; first < p.qLen; first += rowsPerPass) {
    int64_t rows = std::min(rowsPerPass, p.qLen - first);
    scoreRows(batch, head, first, rows);
    for (int64_t r = 0; r < rows; ++r) {
      double *row = scores.data() + r * count;
      Seen seen = seenBy(first + r);
      modify(row, batch, head, first + r, seen);
      normalize(row, seen, sink, batch, head, first + r);
    }
    accumulate(batch, head, first, rows);
  }
}

} // namespace

/// Returns the rows of one sequence of a tensor, as a tensor of batch 1.
static Tensor rowsOf(const Tensor &tensor, int64_t batch, int64_t first) {
  return {tensor.data + batch * tensor.strides[0] + first * tensor.strides[1],
          tensor.strides};
}

static Result sequencesOf(const Problem &problem, const Tensor &q,
                          const Tensor &k, const Tensor &v, Result result) {
  for (std::vector<double> *all :
       {&result.o, &result.a, &result.lse, &result.rowMax, &result.rowSum})
    std::fill(all->begin(), all->end(),
              std::numeric_limits<double>::quiet_NaN());
  Problem own = problem;
  own.sequences.reset();
  own.batch = 1;
  own.firstSequence = -1;
  for (const Sequence &one : *problem.sequences) {
    ++own.firstSequence;
    own.qLen = one.queries;
    own.kvLen = one.keys;
    if (own.second) {
      const Problem::Second &all = *problem.second;
      own.second->k = rowsOf(all.k, own.firstSequence, 0);
      own.second->v = rowsOf(all.v, own.firstSequence, 0);
      own.second->lengths.clear();
      if (!all.lengths.empty())
        own.second->kvLen = all.lengths[own.firstSequence];
    }
    Result part = attention(own, rowsOf(q, one.queryBatch, one.firstQuery),
                            rowsOf(k, one.keyBatch, one.firstKey),
                            rowsOf(v, one.keyBatch, one.firstKey));
    int64_t row = one.queryBatch * problem.qLen + one.firstQuery;
    int64_t at = row * problem.qHeads * problem.headDimV;
    std::copy(part.o.begin(), part.o.end(), result.o.begin() + at);
    std::copy(part.a.begin(), part.a.end(), result.a.begin() + at);
    for (auto rows : {&Result::lse, &Result::rowMax, &Result::rowSum})
      for (int64_t h = 0; h < problem.qHeads; ++h)
        std::copy_n((part.*rows).begin() + h * own.qLen, own.qLen,
                    (result.*rows).begin() +
                        (one.queryBatch * problem.qHeads + h) * problem.qLen +
                        one.firstQuery);
  }
  return result;
}

Result fmha::reference::attention(const Problem &problem, const Tensor &q,
                                  const Tensor &k, const Tensor &v) {
  Result result;
  int64_t rows = problem.batch * problem.qLen * problem.qHeads;
  result.o.resize(rows * problem.headDimV);
  result.a.resize(rows * problem.headDimV);
  for (auto numbers : {&Result::lse, &Result::rowMax, &Result::rowSum})
    (result.*numbers).resize(rows);
  if (problem.sequences)
    return sequencesOf(problem, q, k, v, std::move(result));
  Head head(problem, q, k, v, result);
  for (int64_t b = 0; b < problem.batch; ++b)
    for (int64_t h = 0; h < problem.qHeads; ++h)
      head.run(b, h);
  return result;
}
