//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "Files.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace ptxsim::tool {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
/// Larger arrays mean a broken header, not an input for a simulator.
constexpr uint64_t largest = uint64_t(1) << 40;

class Reader {
public:
  Reader(const std::string &path) : path(path), file(readFile(path)) {}

  Array read() {
    std::string_view header = readHeader();
    Array array;
    array.dtype = readType(header);
    array.shape = readShape(header);
    uint64_t bytes = std::strtoull(array.dtype.c_str() + 1, nullptr, 10);
    for (uint64_t extent : array.shape) {
      if (extent && bytes > largest / extent)
        fail("the shape is too large");
      bytes *= extent;
    }
    uint64_t got = file.size() - dataStart;
    if (got != bytes)
      fail("the data has " + std::to_string(got) + " bytes, expected " +
           std::to_string(bytes) + " from its shape and type");
    array.bytes.assign(file.begin() + ptrdiff_t(dataStart), file.end());
    return array;
  }

private:
  [[noreturn]] void fail(const std::string &why) const {
    throw BadInput(path + ": not a usable .npy file: " + why);
  }

  std::string_view readHeader() {
    if (file.compare(0, magic.size(), magic) != 0)
      fail("it does not begin with \\x93NUMPY");
    size_t lengthBytes = file.size() > 6 && file[6] == 1 ? 2 : 4;
    size_t start = 8 + lengthBytes;
    if (file.size() < start || file[6] < 1 || file[6] > 3)
      fail("the header is cut short or of an unknown version");
    uint64_t length = 0;
    for (size_t i = 0; i < lengthBytes; ++i)
      length |= uint64_t(uint8_t(file[8 + i])) << (8 * i);
    if (length > file.size() - start)
      fail("the header is cut short");
    dataStart = start + length;
    return std::string_view(file).substr(start, length);
  }

  /// Returns the text after 'key': in the header's dictionary.
  std::string_view valueOf(std::string_view header, const char *key) const {
    size_t at = header.find("'" + std::string(key) + "'");
    if (at == header.npos)
      fail("the header has no '" + std::string(key) + "'");
    at = header.find(':', at);
    if (at == header.npos)
      fail("the header is malformed");
    at = header.find_first_not_of(" \t", at + 1);
    return at == header.npos ? std::string_view() : header.substr(at);
  }

  std::string readType(std::string_view header) const {
    if (valueOf(header, "fortran_order").substr(0, 5) != "False")
      fail("it is in Fortran order: save numpy.ascontiguousarray(a)");
    std::string_view value = valueOf(header, "descr");
    size_t end = value.find('\'', 1);
    if (value.empty() || value[0] != '\'' || end == value.npos)
      fail("its type is no plain number type");
    std::string type(value.substr(1, end - 1));
    if (!type.empty() && type[0] == '>')
      fail("it is big-endian: save a.astype(a.dtype.newbyteorder('<'))");
    if (!type.empty() && (type[0] == '<' || type[0] == '|' || type[0] == '='))
      type.erase(0, 1);
    static const char *const known[] = {"b1", "u1", "u2", "u4", "u8",
                                        "i1", "i2", "i4", "i8", "f2",
                                        "f4", "f8", "V1", "V2"};
    for (const char *name : known)
      if (type == name)
        return type;
    fail("its type '" + type + "' is no plain number type");
  }

  std::vector<uint64_t> readShape(std::string_view header) const {
    std::string_view value = valueOf(header, "shape");
    size_t end = value.find(')');
    if (value.empty() || value[0] != '(' || end == value.npos)
      fail("its shape is malformed");
    std::vector<uint64_t> shape;
    std::optional<uint64_t> extent;
    for (char c : value.substr(1, end)) {
      bool digit = std::isdigit(static_cast<unsigned char>(c));
      if (digit && extent.value_or(0) <= largest)
        extent = extent.value_or(0) * 10 + uint64_t(c - '0');
      else if ((c == ',' || c == ')') && extent)
        shape.push_back(*std::exchange(extent, std::nullopt));
      else if (c != ' ' && c != ')' && c != 'L')
        fail("its shape is malformed");
    }
    return shape;
  }

  std::string path;
  std::string file;
  size_t dataStart = 0;
};

} // namespace

Array readNpy(const std::string &path) { return Reader(path).read(); }

std::string npyText(const Array &array) {
  bool oneByte = array.dtype[1] == '1';
  std::string header = std::string("{'descr': '") + (oneByte ? "|" : "<") +
                       array.dtype + "', 'fortran_order': False, 'shape': (";
  for (uint64_t extent : array.shape)
    header += std::to_string(extent) + ", ";
  // A tuple of one keeps its comma, a longer one drops the last.
  if (array.shape.size() == 1)
    header.pop_back();
  else if (!array.shape.empty())
    header.resize(header.size() - 2);
  header += "), }";
  constexpr size_t prefix = 10, unit = 64;
  size_t padded = (prefix + header.size() + 1 + unit - 1) / unit * unit;
  header.append(padded - prefix - header.size() - 1, ' ');
  header += '\n';
  std::string text(magic);
  text += {1, 0, char(header.size() & 0xFF), char(header.size() >> 8)};
  text += header;
  text.append(array.bytes.begin(), array.bytes.end());
  return text;
}

} // namespace ptxsim::tool
