//===- HostArray.cpp - Arrays in host memory ------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostArray.h"
#include "fmha/Runtime/Files.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <random>

namespace fmha::tools {

using namespace runtime;

namespace {

/// N(0,1) by the Box-Muller transform of two uniform numbers. The standard
/// library's own normal distribution differs between implementations.
class Normal {
public:
  Normal(uint64_t seed, uint32_t stream) {
    std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), stream};
    engine.seed(sequence);
  }
  float next() {
    if (spare) {
      float value = *spare;
      spare.reset();
      return value;
    }
    // In (0, 1], so that the logarithm is finite.
    double u = double((engine() >> 11) + 1) * 0x1p-53;
    double w = double(engine() >> 11) * 0x1p-53;
    double radius = std::sqrt(-2 * std::log(u));
    spare = float(radius * std::sin(2 * std::numbers::pi * w));
    return float(radius * std::cos(2 * std::numbers::pi * w));
  }

private:
  std::mt19937_64 engine;
  std::optional<float> spare;
};

template <typename Visit>
void forEachElement(const std::array<int64_t, 4> &dims, Visit visit) {
  for (int64_t b = 0; b < dims[0]; ++b)
    for (int64_t l = 0; l < dims[1]; ++l)
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t d = 0; d < dims[3]; ++d)
          visit(b, l, h, d);
}

/// Allocates the memory of an array.
void reserve(HostArray &array) {
  int64_t bytes = array.count() * int64_t(sizeOf(array.view.dtype));
  array.bits.resize((bytes + 1) / 2);
  array.view.host = array.bits.data();
}

/// Returns the dimensions of an array's shape.
const char *meaningOf(const HostArray &array, const std::string &layout,
                      bool isCache) {
  bool bshd = layout == "bshd";
  if (isCache)
    return bshd ? " [pages, page_size, kv_heads, dim]"
                : " [pages, kv_heads, page_size, dim]";
  if (array.shape.size() == 5)
    return " [batch, heads, dim / x, length, x]";
  if (array.shape.size() == 3)
    return bshd ? " [rows, heads, dim] of a packed one"
                : " [heads, rows, dim] of a packed one";
  return bshd ? " [batch, length, heads, dim]" : " [batch, heads, length, dim]";
}

} // namespace

/// Allocates an array. The shape of a packed array, of batch 1, has no batch.
HostArray allocate(const std::array<int64_t, 4> &dims,
                   const std::string &layout, ElementType type, bool isPacked) {
  HostArray array;
  bool bshd = layout == "bshd";
  array.view.dims = dims;
  array.view.strides = denseStrides(dims, bshd ? Layout::BSHD : Layout::BHSD);
  array.view.dtype = type;
  array.shape = {dims[0], bshd ? dims[1] : dims[2], bshd ? dims[2] : dims[1],
                 dims[3]};
  if (isPacked)
    array.shape.erase(array.shape.begin());
  reserve(array);
  return array;
}

HostArray allocateVectors(const std::array<int64_t, 4> &dims,
                          ElementType type) {
  HostArray array;
  array.view = keysInVectors(dims, type);
  int64_t x = array.view.vector;
  array.shape = {dims[0], dims[2], dims[3] / x, dims[1], x};
  reserve(array);
  return array;
}

HostArray copyOf(const HostArray &array) {
  HostArray copy = array;
  copy.view.host = copy.bits.data();
  return copy;
}

/// Returns a view of the first `dim` columns.
HostArray columnsOf(const HostArray &whole, int64_t dim) {
  HostArray view;
  view.view = whole.view;
  view.view.dims[3] = dim;
  view.shape = whole.shape;
  view.shape.back() = dim;
  return view;
}

llvm::Error fillFromFile(HostArray &array, const NpyArray &file,
                         llvm::StringRef name, const std::string &layout,
                         bool isCache) {
  if (file.shape != array.shape)
    return failure("'" + name + "': expected the shape " +
                   formatShape(array.shape) +
                   meaningOf(array, layout, isCache) + ", got " +
                   formatShape(file.shape) + "; change " +
                   (isCache ? "--page-size, --cache-layout=nhd or hnd, or the "
                              "lists"
                            : "the flags or --layout"));
  bool isBytes = array.view.dtype == ElementType::E4M3;
  if (isBytes && file.type == NpyType::U8) {
    std::memcpy(array.bits.data(), file.data.data(), file.data.size());
    return llvm::Error::success();
  }
  auto values = toFloats(file, name);
  if (!values)
    return values.takeError();
  for (size_t i = 0; i < values->size(); ++i)
    array.set(int64_t(i), (*values)[i]);
  return llvm::Error::success();
}

void fillRandom(HostArray &array, uint64_t seed, uint32_t stream,
                const ScaleAt &scaleAt) {
  Normal normal(seed, stream);
  forEachElement(array.view.dims,
                 [&](int64_t b, int64_t l, int64_t h, int64_t d) {
                   float value = normal.next();
                   array.set(array.view.indexOf(b, l, h, d),
                             scaleAt ? value / scaleAt(b, h) : value);
                 });
}

void HostArray::set(int64_t n, float value) {
  auto *own = reinterpret_cast<char *>(bits.data());
  storeElement(view.dtype, own + n * int64_t(sizeOf(view.dtype)), value);
}

float HostArray::at(int64_t b, int64_t l, int64_t h, int64_t d) const {
  return loadElement(view.dtype, element(view.indexOf(b, l, h, d)));
}

std::vector<float> HostArray::floats() const {
  std::vector<float> values(bits.empty() ? 0 : count());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = loadElement(view.dtype, element(int64_t(i)));
  return values;
}

} // namespace fmha::tools
