//===- Attention.h - Attention in float64 -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every kernel is compared with. It depends on nothing of the compiler or
// the simulator, and computes softmax directly over whole rows:
//
//   s[j] = scale * sum_d q[i][d] * k[j][d]       for the keys that row i sees
//   s[j] = score(s[j], b, h, i, j)               where a problem has a Score
//   O[i] = sum_j exp(s[j] - LSE[i]) * v[j]       A[i] = the same with |v[j]|
//   LSE[i] = log(sum_j exp(s[j]))
//
// With a sink of head h the sum of LSE has one more term, exp(sinks[h]). A row
// that sees no key has O = 0, A = 0 and LSE = -infinity, or sinks[h]. With a
// second source j runs over the keys of both, each with its own v.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_REFERENCE_ATTENTION_H
#define FMHA_REFERENCE_ATTENTION_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fmha::reference {

/// [batch, length, heads, dim], strides in elements (any, also 0 or negative).
struct Tensor {
  const float *data = nullptr;
  std::array<int64_t, 4> strides = {};

  float at(int64_t b, int64_t l, int64_t h, int64_t d) const {
    return data[b * strides[0] + l * strides[1] + h * strides[2] +
                d * strides[3]];
  }
  /// Strides of a dense [batch, length, heads, dim].
  static Tensor dense(const float *data, int64_t length, int64_t heads,
                      int64_t dim) {
    return {data, {length * heads * dim, heads * dim, dim, 1}};
  }
};

/// `queries` rows of q from `firstQuery` on, of batch `queryBatch`, and as many
/// keys from `firstKey` on.
struct Sequence {
  int64_t queryBatch = 0, firstQuery = 0, queries = 0;
  int64_t keyBatch = 0, firstKey = 0, keys = 0;
};

/// What becomes of a scaled score, in this order: softcap·tanh(s / softcap);
/// s - slopes[head]·|place - j|, with the key that the row sits at; s + bias;
/// -infinity where the mask is 0.
struct Score {
  /// Dense [batch, heads, qLen, kvLen] of sequences, rows and keys in them, in
  /// which an extent of 1 serves all; nothing is added where data is null.
  template <typename Element> struct Map {
    const Element *data = nullptr;
    std::array<int64_t, 4> dims = {};

    Element at(const std::array<int64_t, 4> &place) const {
      int64_t offset = 0;
      for (int d = 0; d < 4; ++d)
        offset = offset * dims[d] + (dims[d] == 1 ? 0 : place[d]);
      return data[offset];
    }
  };
  std::optional<double> softcap;
  /// One a query head, or none.
  std::vector<double> slopes;
  Map<float> bias;
  Map<uint8_t> mask;
  bool any() const {
    return softcap || !slopes.empty() || bias.data || mask.data;
  }
};

struct Problem {
  int64_t batch = 1, qHeads = 1, kvHeads = 1;
  int64_t qLen = 0, kvLen = 0, headDim = 0, headDimV = 0;
  double scale = 1;
  /// Row i sits at key i + kvLen - qLen, or at key i if `topLeft`. Causal, it
  /// sees no key behind that one; `left` and `right` are the keys before and
  /// behind it that it sees, all where absent. Conditions intersect.
  bool causal = false, topLeft = false;
  std::optional<int64_t> left, right;
  /// What attends to what, where it is not all rows of each batch: every
  /// sequence is a problem of its own, with lengths of its own. Rows of q that
  /// none has are NaN in the result; nothing of k and v that none has is read.
  std::optional<std::vector<Sequence>> sequences;
  /// A logit for each query head that brings no value: exp(sink) joins the
  /// denominator. Empty, or qHeads of them.
  std::vector<double> sinks;
  /// O and A are the weighted sums with exp(s - row maximum), not divided.
  bool unnormalised = false;
  Score score;
  /// Keys of a second source under the same softmax, all in `k` and `v`, one
  /// batch a sequence. Of `score` they take the soft cap alone.
  struct Second {
    int64_t kvLen = 0;
    Tensor k, v;
    bool causal = false, topLeft = false;
    /// Where `sequences` are given: keys of each, kvLen if empty.
    std::vector<int64_t> lengths;
  };
  std::optional<Second> second;
  /// What batch 0 counts as for the maps of `score`.
  int64_t firstSequence = 0;

  /// Query head h uses KV head floor(h * kvHeads / qHeads).
  int64_t kvHead(int64_t head) const { return head * kvHeads / qHeads; }
  /// Keys that row `row` sees: [first, end), none if first >= end.
  struct Keys {
    int64_t first, end;
    bool has(int64_t key) const { return first <= key && key < end; }
  };
  Keys visibleKeys(int64_t row) const;
  /// Likewise of the second source; none if there is none.
  Keys visibleKeys2(int64_t row) const;
  /// The key that row `row` sits at.
  int64_t placeOf(int64_t row) const {
    return topLeft ? row : row + kvLen - qLen;
  }
  /// The sentence that says what is out of range, or nothing.
  std::optional<std::string> check() const;
};

struct Result {
  /// Dense [batch, qLen, qHeads, headDimV].
  std::vector<double> o, a;
  /// Dense [batch, qHeads, qLen], natural logarithm.
  std::vector<double> lse;
  /// So are the maximum of the scores that a row sees, and the sum of exp(s -
  /// maximum); the sink is none of them. -inf and 0 without any.
  std::vector<double> rowMax, rowSum;
};

/// q [batch, qLen, qHeads, headDim], k [batch, kvLen, kvHeads, headDim], v
/// [batch, kvLen, kvHeads, headDimV]; `problem` must pass its check(). Reads no
/// element outside these extents.
Result attention(const Problem &problem, const Tensor &q, const Tensor &k,
                 const Tensor &v);

} // namespace fmha::reference

#endif // FMHA_REFERENCE_ATTENTION_H
