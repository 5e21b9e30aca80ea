//===- FMHAAttrs.cpp - Syntax of the attributes of the fmha dialect -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles, schedules and problems are lists of `name = value`. One table per type
// has the fields, for the parser and the printer; overloads of parseValue and
// printValue define the syntax of values.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.h"
#include "CheckedMaps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using schedule::Mask;
using schedule::Role;
using schedule::Schedule;

llvm::hash_code fmha::schedule::hash_value(const Mask &mask) {
  return llvm::hash_combine(mask.kind, mask.left, mask.right);
}

llvm::hash_code fmha::schedule::hash_value(const Role &role) {
  return llvm::hash_combine(role.name, role.firstWarp, role.warps,
                            role.registers);
}

/// Hashes types that llvm::hash_value does not support.
static llvm::hash_code hashOf(double value) {
  return llvm::hash_value(llvm::bit_cast<uint64_t>(value));
}
static llvm::hash_code hashOf(const std::vector<Role> &roles) {
  return llvm::hash_combine_range(roles.begin(), roles.end());
}
template <typename T> static llvm::hash_code hashOf(const T &value) {
  using llvm::hash_value;
  return hash_value(value);
}

llvm::hash_code fmha::schedule::hash_value(const Schedule &schedule) {
  llvm::hash_code hash = 0;
#define FMHA_FIELD(type, member, ...)                                          \
  hash = llvm::hash_combine(hash, hashOf(schedule.member));
#include "fmha/Schedule/Model/Fields.def"
  return hash;
}

llvm::hash_code fmha::hash_value(const KernelProblem &problem) {
  llvm::hash_code hash = llvm::hash_combine(
      problem.dtype, problem.headDim, problem.headDimV, problem.pageSize,
      problem.rotaryDim, problem.blockRows, problem.blockKeys, problem.mask,
      problem.mask2, hashOf(problem.scale.value_or(0)));
  for (const schedule::Fact &fact : schedule::facts)
    hash = llvm::hash_combine(hash, problem.*fact.there);
  for (const schedule::Capture &capture : problem.captures)
    hash = llvm::hash_combine(hash, capture.element, capture.rank);
  return hash;
}

//===----------------------------------------------------------------------===//
// Keywords
//===----------------------------------------------------------------------===//

/// The keywords of an enumeration, in the order of its values.
using Keywords = ArrayRef<std::string_view>;

/// The spelling of masks in attributes; command lines use dashes.
static constexpr std::string_view maskKeywords[] = {"none", "causal",
                                                    "causal_top_left"};

static ParseResult parseKeywordOf(AsmParser &parser, Keywords keywords,
                                  unsigned &value) {
  SMLoc location = parser.getCurrentLocation();
  auto expected = [&]() -> InFlightDiagnostic {
    InFlightDiagnostic error = parser.emitError(location) << "expected one of ";
    llvm::interleaveComma(keywords, error,
                          [&](StringRef word) { error << word; });
    return error;
  };
  StringRef text;
  if (failed(parser.parseOptionalKeyword(&text)))
    return expected();
  const std::string_view *word = llvm::find(keywords, std::string_view(text));
  if (word == keywords.end())
    return expected() << ", got \"" << text << '"';
  value = unsigned(word - keywords.begin());
  return success();
}

template <typename Enum>
static ParseResult parseKeywordOf(AsmParser &parser, Keywords keywords,
                                  Enum &value) {
  unsigned index = 0;
  ParseResult result = parseKeywordOf(parser, keywords, index);
  value = Enum(index);
  return result;
}

//===----------------------------------------------------------------------===//
// Values of fields
//===----------------------------------------------------------------------===//

static void printMask(AsmPrinter &printer, const Mask &mask);

static ParseResult parseValue(AsmParser &parser, std::string &value) {
  return parser.parseString(&value);
}
static void printValue(AsmPrinter &printer, const std::string &value) {
  printer.printString(value);
}

/// Parses a number or a bit pattern of 64 bits. One of 32 bits is an error:
/// 0x7FC00000, NaN in f32, would be a tiny double. MLIR prints only large whole
/// numbers as bit patterns.
static ParseResult parseValue(AsmParser &parser, double &value) {
  constexpr double shortest = 1e6;
  SMLoc location = parser.getCurrentLocation();
  bool isPattern = StringRef(location.getPointer(), 2) == "0x";
  if (parser.parseFloat(value))
    return failure();
  if (isPattern && std::abs(value) < shortest)
    return parser.emitError(location)
           << "expected a decimal number, such as 8.0, got the bit pattern of "
           << value;
  return success();
}
static void printValue(AsmPrinter &printer, double value) {
  printer.printFloat(APFloat(value));
}

/// Parses with a sign, so that the message has the number as written.
static ParseResult parseValue(AsmParser &parser, unsigned &value) {
  SMLoc location = parser.getCurrentLocation();
  int64_t number = 0;
  if (parser.parseInteger(number))
    return failure();
  if (number < 0 || number > std::numeric_limits<unsigned>::max())
    return parser.emitError(location)
           << "expected a number of 32 bits without sign, got " << number;
  value = unsigned(number);
  return success();
}
static void printValue(AsmPrinter &printer, unsigned value) {
  printer << value;
}

static ParseResult parseValue(AsmParser &parser,
                              std::optional<unsigned> &value) {
  return parseValue(parser, value.emplace());
}
static void printValue(AsmPrinter &printer, std::optional<unsigned> value) {
  assert(value && "what is absent is not printed");
  printer << *value;
}

/// Parses and prints types with keywords.
#define FMHA_WORDS(type, words)                                                \
  static ParseResult parseValue(AsmParser &parser, type &value) {              \
    return parseKeywordOf(parser, words, value);                               \
  }                                                                            \
  static void printValue(AsmPrinter &printer, type value) {                    \
    printer << words[unsigned(value)];                                         \
  }
FMHA_WORDS(bool, schedule::switchNames)
FMHA_WORDS(schedule::DataType, schedule::dataTypeNames)
FMHA_WORDS(schedule::FamilyKind, schedule::familyKindNames)
FMHA_WORDS(schedule::PPlacement, schedule::placementNames)
FMHA_WORDS(schedule::Scheduler, schedule::schedulerNames)
FMHA_WORDS(schedule::KvCopy, schedule::kvCopyNames)
FMHA_WORDS(schedule::SplitBy, schedule::splitByNames)
FMHA_WORDS(schedule::MmaOrder, schedule::mmaOrderNames)
#undef FMHA_WORDS

static ParseResult parseValue(AsmParser &parser, std::optional<double> &value) {
  return parseValue(parser, value.emplace());
}
static void printValue(AsmPrinter &printer, std::optional<double> value) {
  assert(value && "what is absent is not printed");
  printValue(printer, *value);
}

static ParseResult parseValue(AsmParser &parser, Mask &mask) {
  MaskAttr attribute;
  if (parser.parseAttribute(attribute))
    return failure();
  mask = attribute.getValue();
  return success();
}
static void printValue(AsmPrinter &printer, const Mask &mask) {
  printer << "#fmha." << MaskAttr::getMnemonic();
  printMask(printer, mask);
}

/// Parses memref<?x?xf32> as a tensor of that rank and element type.
static ParseResult parseCapture(AsmParser &parser,
                                std::vector<schedule::Capture> &captures) {
  SMLoc location = parser.getCurrentLocation();
  Attribute attribute;
  if (parser.parseAttribute(attribute))
    return failure();
  auto type = dyn_cast<TypeAttr>(attribute);
  auto memref = type ? dyn_cast<MemRefType>(type.getValue()) : MemRefType();
  if (!memref)
    return parser.emitError(location)
           << "expected captures to be memref types, got " << attribute;
  captures.push_back(
      {debugString(memref.getElementType()), unsigned(memref.getRank())});
  return success();
}
static ParseResult parseValue(AsmParser &parser,
                              std::vector<schedule::Capture> &captures) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parseCapture(parser, captures);
  });
}
static void printValue(AsmPrinter &printer,
                       const std::vector<schedule::Capture> &captures) {
  printer << '[';
  llvm::interleaveComma(captures, printer,
                        [&](const schedule::Capture &capture) {
                          printer << "memref<";
                          for (unsigned n = 0; n < capture.rank; ++n)
                            printer << "?x";
                          printer << capture.element << '>';
                        });
  printer << ']';
}

static void printRole(AsmPrinter &printer, const Role &role);

static ParseResult parseValue(AsmParser &parser, std::vector<Role> &roles) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&]() -> ParseResult {
                                          RoleAttr role;
                                          if (parser.parseAttribute(role))
                                            return failure();
                                          roles.push_back(role.getValue());
                                          return success();
                                        });
}
static void printValue(AsmPrinter &printer, const std::vector<Role> &roles) {
  printer << '[';
  llvm::interleaveComma(roles, printer, [&](const Role &role) {
    printer << "#fmha." << RoleAttr::getMnemonic();
    printRole(printer, role);
  });
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Lists of fields
//===----------------------------------------------------------------------===//

namespace {
template <typename Struct> struct Field {
  StringLiteral text;
  ParseResult (*parse)(AsmParser &, Struct &);
  void (*print)(AsmPrinter &, const Struct &);
  bool (*isUsual)(const Struct &);
};

template <typename Struct, auto member>
constexpr Field<Struct> field(StringLiteral name) {
  return {
      name,
      [](AsmParser &parser, Struct &value) -> ParseResult {
        return failure(parser.parseEqual() ||
                       parseValue(parser, value.*member));
      },
      [](AsmPrinter &printer, const Struct &value) {
        printer << " = ";
        printValue(printer, value.*member);
      },
      [](const Struct &value) { return value.*member == Struct().*member; }};
}

/// A field that is true if its name is present.
template <bool schedule::Facts::*member>
constexpr Field<KernelProblem> fact(StringLiteral name) {
  return {name,
          [](AsmParser &, KernelProblem &problem) -> ParseResult {
            problem.*member = true;
            return success();
          },
          [](AsmPrinter &, const KernelProblem &) {},
          [](const KernelProblem &problem) { return !(problem.*member); }};
}

constexpr Field<Mask> maskFields[] = {field<Mask, &Mask::left>("left"),
                                      field<Mask, &Mask::right>("right")};

constexpr Field<Role> roleFields[] = {
    field<Role, &Role::firstWarp>("first_warp"),
    field<Role, &Role::warps>("warps"),
    field<Role, &Role::registers>("registers")};

constexpr Field<Schedule> scheduleFields[] = {
#define FMHA_CONSTANT(name, word, help)                                        \
  {name,                                                                       \
   [](AsmParser &parser, Schedule &) -> ParseResult {                          \
     unsigned index = 0;                                                       \
     return failure(parser.parseEqual() ||                                     \
                    parseKeywordOf(parser, std::string_view(word), index));    \
   },                                                                          \
   [](AsmPrinter &printer, const Schedule &) { printer << " = " << word; },    \
   nullptr},
#define FMHA_FIELD(type, member, name, ...)                                    \
  field<Schedule, &Schedule::member>(name),
#include "fmha/Schedule/Model/Fields.def"
};

constexpr Field<KernelProblem> problemFields[] = {
    field<KernelProblem, &KernelProblem::dtype>("dtype"),
    field<KernelProblem, &KernelProblem::headDim>("head_dim"),
    field<KernelProblem, &KernelProblem::headDimV>("head_dim_v"),
    field<KernelProblem, &KernelProblem::pageSize>("page_size"),
    field<KernelProblem, &KernelProblem::rotaryDim>("rotary_dim"),
    field<KernelProblem, &KernelProblem::blockRows>("block_rows"),
    field<KernelProblem, &KernelProblem::blockKeys>("block_keys"),
    field<KernelProblem, &KernelProblem::mask>("mask"),
    field<KernelProblem, &KernelProblem::scale>("scale"),
    field<KernelProblem, &KernelProblem::mask2>("source2_mask"),
    field<KernelProblem, &KernelProblem::captures>("captures"),
#define FMHA_FACT(kind, member, name, ...) fact<&schedule::Facts::member>(name),
#include "fmha/Schedule/Model/Facts.def"
};
} // namespace

template <typename Struct>
static std::string listOf(ArrayRef<Field<Struct>> fields) {
  return llvm::join(
      llvm::map_range(fields,
                      [](const Field<Struct> &field) { return field.text; }),
      ", ");
}

/// Parses one `name = value` of `fields` into `value`.
template <typename Struct>
static ParseResult parseField(AsmParser &parser, ArrayRef<Field<Struct>> fields,
                              llvm::StringSet<> &seen, Struct &value) {
  SMLoc location = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)))
    return parser.emitError(location)
           << "expected a field, one of " << listOf(fields);
  const auto *known = llvm::find_if(
      fields, [&](const Field<Struct> &field) { return field.text == name; });
  if (known == fields.end())
    return parser.emitError(location)
           << "expected a field, one of " << listOf(fields) << ", got \""
           << name << '"';
  if (!seen.insert(name).second)
    return parser.emitError(location) << "field \"" << name << "\" given twice";
  return known->parse(parser, value);
}

template <typename Struct>
static void printFields(AsmPrinter &printer, ArrayRef<Field<Struct>> fields,
                        const Struct &value) {
  llvm::interleaveComma(fields, printer, [&](const Field<Struct> &field) {
    printer << field.text;
    field.print(printer, value);
  });
}

/// Prints bounds that are present; no number denotes an absent one.
static void printMask(AsmPrinter &printer, const Mask &mask) {
  printer << '<' << maskKeywords[mask.kind];
  for (const Field<Mask> &field : maskFields)
    if (!field.isUsual(mask)) {
      printer << ", " << field.text;
      field.print(printer, mask);
    }
  printer << '>';
}

static void printRole(AsmPrinter &printer, const Role &role) {
  printer << '<';
  printer.printString(role.name);
  printer << ", ";
  printFields<Role>(printer, roleFields, role);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// The attributes
//===----------------------------------------------------------------------===//

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  Mask mask;
  llvm::StringSet<> seen;
  if (parser.parseLess() || parseKeywordOf(parser, maskKeywords, mask.kind))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField<Mask>(parser, maskFields, seen, mask))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MaskAttr>(location, parser.getContext(), mask);
}

void MaskAttr::print(AsmPrinter &printer) const {
  printMask(printer, getValue());
}

Attribute RoleAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  Role role;
  llvm::StringSet<> seen;
  if (parser.parseLess() || parser.parseString(&role.name))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField<Role>(parser, roleFields, seen, role))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<RoleAttr>(location, parser.getContext(), role);
}

void RoleAttr::print(AsmPrinter &printer) const {
  printRole(printer, getValue());
}

/// Parses `<name = value, ...>`.
template <typename AttrT, typename Struct>
static Attribute parseFields(AsmParser &parser,
                             ArrayRef<Field<Struct>> fields) {
  SMLoc location = parser.getCurrentLocation();
  Struct value;
  llvm::StringSet<> seen;
  auto parseOne = [&] { return parseField(parser, fields, seen, value); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return parser.getChecked<AttrT>(location, parser.getContext(), value);
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  return parseFields<ScheduleAttr, Schedule>(parser, scheduleFields);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printFields<Schedule>(printer, scheduleFields, getValue());
  printer << '>';
}

Attribute ProblemAttr::parse(AsmParser &parser, Type) {
  return parseFields<ProblemAttr, KernelProblem>(parser, problemFields);
}

void ProblemAttr::print(AsmPrinter &printer) const {
  SmallVector<Field<KernelProblem>> unusual;
  for (const Field<KernelProblem> &field : problemFields)
    if (!field.isUsual(getValue()))
      unusual.push_back(field);
  printer << '<';
  printFields<KernelProblem>(printer, unusual, getValue());
  printer << '>';
}

/// Checks that lists of blocks are complete.
static LogicalResult verifyBlocks(function_ref<InFlightDiagnostic()> emitError,
                                  const KernelProblem &problem) {
  bool hasLists = problem.kvIndices;
  if (problem.kvNumBlocks != hasLists || (problem.blockRows > 0) != hasLists ||
      (problem.blockKeys > 0) != hasLists)
    return emitError() << "problem.P2: expected all of kv_num_blocks, "
                          "kv_indices, block_rows and block_keys, or none";
  if (problem.fullKvNumBlocks != problem.fullKvIndices ||
      (problem.fullKvIndices && !hasLists))
    return emitError() << "problem.P2: expected both full_kv_num_blocks and "
                          "full_kv_indices, and kv_indices with them, or none";
  return success();
}

LogicalResult ProblemAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  KernelProblem problem) {
  auto isCapture = [](const schedule::Capture &capture) {
    return capture.rank <= schedule::maxCaptureRank &&
           schedule::isCaptureElement(capture.element);
  };
  auto wrong = llvm::find_if_not(problem.captures, isCapture);
  if (wrong != problem.captures.end())
    return emitError() << "problem.P1: expected captures to be memref "
                          "types of rank 0 to "
                       << schedule::maxCaptureRank << " with elements "
                       << schedule::captureElementList << ", got rank "
                       << wrong->rank << " and elements " << wrong->element;
  return verifyBlocks(emitError, problem);
}

#include "fmha/Dialect/FMHA/Attributes/FMHAEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.cpp.inc"

void FMHADialect::registerAttributes() {
  maps = std::make_shared<CheckedMaps>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fmha/Dialect/FMHA/Attributes/FMHAAttrs.cpp.inc"
      >();
}
