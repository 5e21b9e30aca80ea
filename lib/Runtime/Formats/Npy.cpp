//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Npy.h"
#include "fmha/Runtime/Element.h"
#include "fmha/Runtime/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <cstring>
#include <optional>

namespace fmha::runtime {
namespace {

struct TypeRow {
  NpyType type;
  llvm::StringLiteral descr, name;
  size_t size;
};
constexpr TypeRow typeTable[] = {
    {NpyType::Bool, "|b1", "bool", 1},   {NpyType::I8, "|i1", "int8", 1},
    {NpyType::I16, "<i2", "int16", 2},   {NpyType::I32, "<i4", "int32", 4},
    {NpyType::I64, "<i8", "int64", 8},   {NpyType::U8, "|u1", "uint8", 1},
    {NpyType::U16, "<u2", "uint16", 2},  {NpyType::U32, "<u4", "uint32", 4},
    {NpyType::U64, "<u8", "uint64", 8},  {NpyType::F16, "<f2", "float16", 2},
    {NpyType::F32, "<f4", "float32", 4}, {NpyType::F64, "<f8", "float64", 8},
};

constexpr llvm::StringLiteral magic = "\x93NUMPY";

/// The three entries of the header's dict.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
};

/// Reads the Python literal {'descr': '<f4', 'fortran_order': False,
/// 'shape': (2, 3), }. Each reader returns false once `problem` is set.
class HeaderParser {
public:
  explicit HeaderParser(llvm::StringRef text) : rest(text) {}

  bool parse(Header &header) {
    if (!expect('{'))
      return false;
    while (!consume('}')) {
      if (!entry(header))
        return false;
      if (!consume(',') && !peek('}'))
        return fail("',' or '}'");
    }
    rest = rest.ltrim();
    return rest.empty() || fail("the end of the header");
  }

  std::string problem;

private:
  bool entry(Header &header) {
    std::string key;
    if (!quoted(key) || !expect(':'))
      return false;
    bool again = (key == "descr" && header.descr) ||
                 (key == "fortran_order" && header.fortranOrder) ||
                 (key == "shape" && header.shape);
    if (again) {
      problem = "the key '" + key + "' stands twice";
      return false;
    }
    if (key == "descr")
      return quoted(header.descr.emplace());
    if (key == "fortran_order")
      return boolean(header.fortranOrder.emplace());
    if (key == "shape")
      return tuple(header.shape.emplace());
    problem = "expected the keys 'descr', 'fortran_order' and 'shape', got '" +
              key + "'";
    return false;
  }

  bool quoted(std::string &value) {
    rest = rest.ltrim();
    char quote = rest.empty() ? 0 : rest.front();
    size_t end = quote == '\'' || quote == '"' ? rest.find(quote, 1)
                                               : llvm::StringRef::npos;
    if (end == llvm::StringRef::npos)
      return fail("a quoted string");
    value = rest.substr(1, end - 1).str();
    rest = rest.drop_front(end + 1);
    return true;
  }

  bool boolean(bool &value) {
    rest = rest.ltrim();
    value = rest.starts_with("True");
    return rest.consume_front("True") || rest.consume_front("False") ||
           fail("True or False");
  }

  bool tuple(std::vector<int64_t> &shape) {
    if (!expect('('))
      return false;
    while (!consume(')')) {
      int64_t extent = 0;
      rest = rest.ltrim();
      llvm::StringRef after = rest;
      if (after.consumeInteger(10, extent) || extent < 0)
        return fail("an extent of 0 or more");
      rest = after;
      // Python 2 wrote long integers with this suffix.
      rest.consume_front("L");
      shape.push_back(extent);
      if (!consume(',') && !peek(')'))
        return fail("',' or ')'");
    }
    return true;
  }

  bool peek(char c) {
    rest = rest.ltrim();
    return !rest.empty() && rest.front() == c;
  }
  bool consume(char c) {
    bool there = peek(c);
    if (there)
      rest = rest.drop_front();
    return there;
  }
  bool expect(char c) {
    return consume(c) || fail("'" + std::string(1, c) + "'");
  }
  bool fail(const std::string &expected) {
    if (problem.empty()) {
      std::string got;
      llvm::raw_string_ostream stream(got);
      llvm::printEscapedString(rest.take_front(16), stream);
      problem = "expected " + expected + ", got " +
                (rest.empty() ? "the end of the header" : "'" + got + "'");
    }
    return false;
  }

  llvm::StringRef rest;
};

/// Splits `bytes` into the header text and the elements.
llvm::Expected<std::pair<llvm::StringRef, llvm::StringRef>>
splitFile(llvm::StringRef bytes, llvm::StringRef name) {
  if (!bytes.starts_with(magic))
    return failure("'" + name +
                   "' is no .npy file: expected it to begin with \\x93NUMPY, "
                   "got " +
                   (bytes.empty() ? "an empty file" : "other bytes"));
  if (bytes.size() < 8)
    return failure("'" + name +
                   "' is truncated: expected the format version "
                   "after the magic string, got the end of the file");
  unsigned major = uint8_t(bytes[6]);
  if (major < 1 || major > 3)
    return failure(
        "'" + name + "': expected .npy format version 1, 2 or 3, got " +
        llvm::Twine(major) + "." + llvm::Twine(unsigned(uint8_t(bytes[7]))));
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + lengthBytes)
    return failure("'" + name +
                   "' is truncated: expected the header length, "
                   "got the end of the file");
  const char *lengthAt = bytes.data() + 8;
  size_t length = major == 1 ? llvm::support::endian::read16le(lengthAt)
                             : llvm::support::endian::read32le(lengthAt);
  size_t begin = 8 + lengthBytes;
  if (bytes.size() - begin < length)
    return failure("'" + name + "' is truncated: expected a header of " +
                   llvm::Twine(length) + " bytes, got " +
                   llvm::Twine(bytes.size() - begin));
  return std::pair(bytes.substr(begin, length),
                   bytes.drop_front(begin + length));
}

llvm::Expected<const TypeRow *> findType(const std::string &descr,
                                         llvm::StringRef name) {
  std::string spelling = descr;
  // One-byte types have no byte order, and '=' is the host's own.
  if (spelling.size() == 3 && spelling[0] != '>')
    spelling[0] = spelling[2] == '1' ? '|' : '<';
  for (const TypeRow &row : typeTable)
    if (spelling == row.descr)
      return &row;
  llvm::StringRef hint =
      !descr.empty() && descr[0] == '>'
          ? "; convert it with array.astype(array.dtype.newbyteorder('<'))"
          : "; convert it with array.astype('float32')";
  return failure("'" + name +
                 "': expected little-endian numbers or booleans "
                 "such as '<f4' or '<f2', got the type '" +
                 descr + "'" + hint);
}

llvm::Error checkSize(const NpyArray &array, size_t got, llvm::StringRef name) {
  uint64_t expected = sizeOf(array.type);
  bool overflow = false;
  for (int64_t extent : array.shape)
    overflow |= __builtin_mul_overflow(expected, uint64_t(extent), &expected);
  if (overflow && !llvm::is_contained(array.shape, 0))
    return failure("'" + name + "': the shape " + formatShape(array.shape) +
                   " is larger than any memory");
  if (llvm::is_contained(array.shape, 0))
    expected = 0;
  if (expected == got)
    return llvm::Error::success();
  return failure("'" + name + "' " +
                 (got < expected ? "is truncated" : "has trailing bytes") +
                 ": expected " + llvm::Twine(expected) +
                 " bytes of elements for the shape " +
                 formatShape(array.shape) + " of " + nameOf(array.type) +
                 ", got " + llvm::Twine(got));
}

} // namespace

llvm::StringRef nameOf(NpyType type) { return typeTable[size_t(type)].name; }
llvm::StringRef descrOf(NpyType type) { return typeTable[size_t(type)].descr; }
size_t sizeOf(NpyType type) { return typeTable[size_t(type)].size; }

int64_t NpyArray::elementCount() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string formatShape(llvm::ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name) {
  auto parts = splitFile(bytes, name);
  if (!parts)
    return parts.takeError();
  Header header;
  HeaderParser parser(parts->first);
  bool parsed = parser.parse(header);
  if (parsed && !(header.descr && header.fortranOrder && header.shape)) {
    parser.problem =
        "expected the keys 'descr', 'fortran_order' and 'shape', got no '" +
        std::string(!header.descr          ? "descr"
                    : !header.fortranOrder ? "fortran_order"
                                           : "shape") +
        "'";
    parsed = false;
  }
  if (!parsed)
    return failure("'" + name + "': malformed .npy header: " + parser.problem);
  auto row = findType(*header.descr, name);
  if (!row)
    return row.takeError();
  if (*header.fortranOrder)
    return failure("'" + name +
                   "': expected C order, got Fortran order; save "
                   "it with np.save(path, np.ascontiguousarray(array))");
  NpyArray array;
  array.type = (*row)->type;
  array.shape = std::move(*header.shape);
  if (llvm::Error error = checkSize(array, parts->second.size(), name))
    return std::move(error);
  array.data = parts->second.str();
  return array;
}

llvm::Expected<NpyArray> readNpy(llvm::StringRef path) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return parseNpy(*bytes, path);
}

std::string formatNpy(const NpyArray &array) {
  std::string dict =
      ("{'descr': '" + descrOf(array.type) +
       "', 'fortran_order': False, 'shape': " + formatShape(array.shape) +
       ", }")
          .str();
  bool wide = dict.size() + 1 + 64 > 0xffff;
  size_t prefix = 8 + (wide ? 4 : 2);
  // The elements begin at a multiple of 64 bytes, after a final newline.
  dict.append((64 - (prefix + dict.size() + 1) % 64) % 64, ' ');
  dict += '\n';
  std::string bytes = magic.str();
  bytes += char(wide ? 2 : 1);
  bytes += '\0';
  for (size_t i = 0; i < prefix - 8; ++i)
    bytes += char(dict.size() >> (8 * i) & 0xff);
  return bytes + dict + array.data;
}

llvm::Error writeNpy(llvm::StringRef path, const NpyArray &array) {
  return writeFile(path, formatNpy(array));
}

llvm::Expected<std::vector<float>> toFloats(const NpyArray &array,
                                            llvm::StringRef name) {
  if (array.type != NpyType::F32 && array.type != NpyType::F16)
    return failure("'" + name + "': expected float32 or float16, got " +
                   nameOf(array.type) +
                   "; convert it with array.astype('float32')");
  ElementType type =
      array.type == NpyType::F32 ? ElementType::F32 : ElementType::F16;
  std::vector<float> values(array.data.size() / sizeOf(type));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = loadElement(type, array.data.data() + i * sizeOf(type));
  return values;
}

NpyArray fromFloats(std::vector<int64_t> shape, llvm::ArrayRef<float> values) {
  NpyArray array;
  array.shape = std::move(shape);
  array.data.assign(reinterpret_cast<const char *>(values.data()),
                    values.size() * sizeof(float));
  return array;
}

} // namespace fmha::runtime
