//===- Attention.h - Attention in float64 -----------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference for every kernel. It does not depend on the compiler or the
// simulator, and computes softmax directly over whole rows:
//
//   s[j] = scale * sum_d q[i][d] * k[j][d]       for the keys that row i sees
//   s[j] = score(s[j], b, h, i, j)               if the problem has a Score
//   O[i] = sum_j exp(s[j] - LSE[i]) * v[j]       A[i] = the same with |v[j]|
//   LSE[i] = log(sum_j exp(s[j]))
//
// With a sink of head h the sum of LSE has one more term, exp(sinks[h]). A row
// that sees no key has O = 0, A = 0 and LSE = -infinity, or sinks[h]. With a
// second KV segment, j runs over the keys of both, each with its own v.
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

/// A tensor [batch, length, heads, dim]. Strides count elements and may be 0 or
/// negative.
struct Tensor {
  const float *data = nullptr;
  std::array<int64_t, 4> strides = {};

  float at(int64_t b, int64_t l, int64_t h, int64_t d) const {
    return data[b * strides[0] + l * strides[1] + h * strides[2] +
                d * strides[3]];
  }
  /// Returns a dense [batch, length, heads, dim].
  static Tensor dense(const float *data, int64_t length, int64_t heads,
                      int64_t dim) {
    return {data, {length * heads * dim, heads * dim, dim, 1}};
  }
};

/// `queries` rows of q, starting at `firstQuery` of batch `queryBatch`, and
/// `keys` keys, starting at `firstKey` of batch `keyBatch`.
struct Sequence {
  int64_t queryBatch = 0, firstQuery = 0, queries = 0;
  int64_t keyBatch = 0, firstKey = 0, keys = 0;
};

/// Modifications of a scaled score, in this order: softcap·tanh(s / softcap);
/// s - slopes[head]·|position - j|, with the key position of the row; s + bias;
/// -infinity where the mask is 0.
struct Score {
  /// Dense [batch, heads, qLen, kvLen], with rows and keys counted in each
  /// sequence. An extent of 1 is broadcast. Without data nothing is added.
  template <typename Element> struct Map {
    const Element *data = nullptr;
    std::array<int64_t, 4> dims = {};

    Element at(const std::array<int64_t, 4> &index) const {
      int64_t offset = 0;
      for (int d = 0; d < 4; ++d)
        offset = offset * dims[d] + (dims[d] == 1 ? 0 : index[d]);
      return data[offset];
    }
  };
  std::optional<double> softcap;
  /// The relative error that a kernel's capped scores may have: 2^-11 if its
  /// tanh is tanh.approx (PTX ISA, tanh), and 0 otherwise. compare() adds it to
  /// the bounds of LSE, row maxima and row sums, not to those of the output.
  double relativeError = 0;
  /// One per query head, or empty.
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
  /// Row i has key position i + kvLen - qLen, or i if `topLeft`. If `causal`,
  /// it sees no key after that one. `left` and `right` bound the number of keys
  /// before and after it that the row sees; absent, there is no bound.
  /// Conditions intersect.
  bool causal = false, topLeft = false;
  std::optional<int64_t> left, right;
  /// With sequences, each is a separate problem with its own lengths, instead
  /// of all rows of each batch. Rows of q in no sequence are NaN in the result;
  /// rows of k and v in no sequence are not read.
  std::optional<std::vector<Sequence>> sequences;
  /// A logit without a value for each query head: exp(sink) is added to the
  /// denominator. Empty, or qHeads of them.
  std::vector<double> sinks;
  /// O and A are the sums weighted with exp(s - row maximum), unnormalized.
  bool unnormalised = false;
  Score score;
  /// A second KV segment under the same softmax, with one batch of `k` and `v`
  /// per sequence. Of `score`, only the soft cap applies to it.
  struct Second {
    int64_t kvLen = 0;
    Tensor k, v;
    bool causal = false, topLeft = false;
    /// With `sequences`: the number of keys of each; kvLen if empty.
    std::vector<int64_t> lengths;
  };
  std::optional<Second> second;
  /// Factors of stored keys and values, [sequences, kvHeads, keys, 1] as the
  /// maps of `score`; 1 without data.
  Score::Map<float> keyScales, valueScales;
  /// How often the list of each query names each key, [sequences, qHeads, qLen,
  /// kvLen], as the maps of `score`: a key counts that often, and one that is
  /// not listed is not read. Without data all keys count once.
  Score::Map<int32_t> listed;
  /// The index of batch 0 in the maps of `score`.
  int64_t firstSequence = 0;

  /// Returns the KV head of a query head: floor(head * kvHeads / qHeads).
  int64_t kvHead(int64_t head) const { return head * kvHeads / qHeads; }
  /// A range of keys [first, end), empty if first >= end.
  struct Keys {
    int64_t first, end;
    bool has(int64_t key) const { return first <= key && key < end; }
  };
  /// Returns the keys that row `row` sees.
  Keys visibleKeys(int64_t row) const;
  /// Returns the same for the second segment; empty without one.
  Keys visibleKeys2(int64_t row) const;
  /// Returns how often row `row` of a query head counts `key`.
  int32_t timesOf(int64_t batch, int64_t head, int64_t row, int64_t key) const {
    return listed.data ? listed.at({firstSequence + batch, head, row, key}) : 1;
  }
  /// Returns the key position of row `row`.
  int64_t positionOf(int64_t row) const {
    return topLeft ? row : row + kvLen - qLen;
  }
  /// Returns a sentence that names what is out of range, or nullopt.
  std::optional<std::string> check() const;
};

struct Result {
  /// Dense [batch, qLen, qHeads, headDimV].
  std::vector<double> o, a;
  /// Dense [batch, qHeads, qLen], natural logarithm.
  std::vector<double> lse;
  /// In the same layout: the maximum of the scores that a row sees, and the sum
  /// of exp(s - maximum), both without the sink. -inf and 0 without keys.
  std::vector<double> rowMax, rowSum;
};

/// Returns the attention of q [batch, qLen, qHeads, headDim], k [batch, kvLen,
/// kvHeads, headDim] and v [batch, kvLen, kvHeads, headDimV]. `problem` must
/// pass its check(). Reads no element outside these extents.
Result attention(const Problem &problem, const Tensor &q, const Tensor &k,
                 const Tensor &v);

} // namespace fmha::reference

#endif // FMHA_REFERENCE_ATTENTION_H
