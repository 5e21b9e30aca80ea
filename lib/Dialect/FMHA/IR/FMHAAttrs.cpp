//===- FMHAAttrs.cpp - Syntax of the attributes of the fmha dialect -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Roles and schedules are lists of `name = value`. One table per type names the
// fields once, for the parser and for the printer; what a value looks like is
// an overload of parseValue and printValue.
//
//===----------------------------------------------------------------------===//

#include "fmha/Dialect/FMHA/IR/FMHA.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fmha;
using schedule::Mask;
using schedule::PPlacement;
using schedule::Role;
using schedule::Schedule;
using schedule::Scheduler;

llvm::hash_code fmha::schedule::hash_value(const Mask &mask) {
  return llvm::hash_combine(mask.kind, mask.left, mask.right);
}

llvm::hash_code fmha::schedule::hash_value(const Role &role) {
  return llvm::hash_combine(role.name, role.firstWarp, role.warps,
                            role.registers);
}

llvm::hash_code fmha::schedule::hash_value(const Schedule &s) {
  return llvm::hash_combine(
      llvm::hash_combine(s.target, s.qTiles, s.qTileRows, s.kvBlock, s.ctaGroup,
                         s.kvStages, s.pPlacement),
      llvm::hash_combine(s.vStages, s.keyChunk, s.valueChunk, s.shareKv,
                         s.oColumns, s.packHeads),
      llvm::hash_combine(s.pSlices,
                         llvm::bit_cast<uint64_t>(s.rescaleThreshold),
                         s.pOffset, s.accumulate, s.exp2EmulatedPercent,
                         s.scheduler, s.ctasPerSm, s.splits),
      llvm::hash_combine_range(s.roles.begin(), s.roles.end()));
}

//===----------------------------------------------------------------------===//
// Keywords
//===----------------------------------------------------------------------===//

namespace {
template <typename T> struct Keyword {
  T value;
  StringLiteral text;
};

constexpr Keyword<Mask::Kind> maskKeywords[] = {
    {Mask::None, "none"},
    {Mask::Causal, "causal"},
    {Mask::CausalTopLeft, "causal_top_left"}};
constexpr Keyword<PPlacement> placementKeywords[] = {
    {PPlacement::Auto, "auto"},
    {PPlacement::Tmem, "tmem"},
    {PPlacement::Smem, "smem"},
    {PPlacement::Registers, "registers"}};
constexpr Keyword<schedule::Accumulate> accumulateKeywords[] = {
    {schedule::Accumulate::F32, "f32"}, {schedule::Accumulate::F16, "f16"}};
constexpr Keyword<Scheduler> schedulerKeywords[] = {
    {Scheduler::Single, "single"},
    {Scheduler::Static, "static"},
    {Scheduler::Dynamic, "dynamic"}};
constexpr Keyword<bool> boolKeywords[] = {{false, "false"}, {true, "true"}};

template <typename Range> std::string listOf(const Range &entries) {
  std::string list;
  for (const auto &entry : entries)
    list += (list.empty() ? "" : ", ") + entry.text.str();
  return list;
}

template <typename T>
ParseResult parseKeywordOf(AsmParser &parser, ArrayRef<Keyword<T>> keywords,
                           T &value) {
  SMLoc location = parser.getCurrentLocation();
  StringRef text;
  if (failed(parser.parseOptionalKeyword(&text)))
    return parser.emitError(location) << "expected one of " << listOf(keywords);
  for (const Keyword<T> &keyword : keywords) {
    if (keyword.text == text) {
      value = keyword.value;
      return success();
    }
  }
  return parser.emitError(location)
         << "expected one of " << listOf(keywords) << ", got \"" << text << '"';
}

template <typename T>
void printKeywordOf(AsmPrinter &printer, ArrayRef<Keyword<T>> keywords,
                    T value) {
  for (const Keyword<T> &keyword : keywords)
    if (keyword.value == value)
      printer << keyword.text;
}
} // namespace

//===----------------------------------------------------------------------===//
// Values of fields
//===----------------------------------------------------------------------===//

static ParseResult parseValue(AsmParser &parser, std::string &value) {
  return parser.parseString(&value);
}
static void printValue(AsmPrinter &printer, const std::string &value) {
  printer.printString(value);
}

/// A bit pattern is one of 64 bits, which none of 32 says: 0x7FC00000, no
/// number in f32, would be a tiny one. MLIR prints whole numbers of many digits
/// so, and no smaller ones.
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

/// Parsed with its sign, so that an error says the number that was written.
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

static ParseResult parseValue(AsmParser &parser, bool &value) {
  return parseKeywordOf<bool>(parser, boolKeywords, value);
}
static void printValue(AsmPrinter &printer, bool value) {
  printKeywordOf<bool>(printer, boolKeywords, value);
}

static ParseResult parseValue(AsmParser &parser, PPlacement &value) {
  return parseKeywordOf<PPlacement>(parser, placementKeywords, value);
}
static void printValue(AsmPrinter &printer, PPlacement value) {
  printKeywordOf<PPlacement>(printer, placementKeywords, value);
}

static ParseResult parseValue(AsmParser &parser, schedule::Accumulate &value) {
  return parseKeywordOf<schedule::Accumulate>(parser, accumulateKeywords,
                                              value);
}
static void printValue(AsmPrinter &printer, schedule::Accumulate value) {
  printKeywordOf<schedule::Accumulate>(printer, accumulateKeywords, value);
}

static ParseResult parseValue(AsmParser &parser, Scheduler &value) {
  return parseKeywordOf<Scheduler>(parser, schedulerKeywords, value);
}
static void printValue(AsmPrinter &printer, Scheduler value) {
  printKeywordOf<Scheduler>(printer, schedulerKeywords, value);
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
};

template <typename Struct, auto member>
constexpr Field<Struct> field(StringLiteral name) {
  return {name,
          [](AsmParser &parser, Struct &value) {
            return parseValue(parser, value.*member);
          },
          [](AsmPrinter &printer, const Struct &value) {
            printValue(printer, value.*member);
          }};
}

constexpr Field<Mask> maskFields[] = {field<Mask, &Mask::left>("left"),
                                      field<Mask, &Mask::right>("right")};

constexpr Field<Role> roleFields[] = {
    field<Role, &Role::firstWarp>("first_warp"),
    field<Role, &Role::warps>("warps"),
    field<Role, &Role::registers>("registers")};

constexpr Field<Schedule> scheduleFields[] = {
    field<Schedule, &Schedule::target>("target"),
    field<Schedule, &Schedule::qTiles>("q_tiles"),
    field<Schedule, &Schedule::qTileRows>("q_tile_rows"),
    field<Schedule, &Schedule::kvBlock>("kv_block"),
    field<Schedule, &Schedule::packHeads>("pack_heads"),
    field<Schedule, &Schedule::ctaGroup>("cta_group"),
    field<Schedule, &Schedule::kvStages>("kv_stages"),
    field<Schedule, &Schedule::vStages>("v_stages"),
    field<Schedule, &Schedule::keyChunk>("key_chunk"),
    field<Schedule, &Schedule::valueChunk>("value_chunk"),
    field<Schedule, &Schedule::shareKv>("share_kv"),
    field<Schedule, &Schedule::oColumns>("o_columns"),
    field<Schedule, &Schedule::pPlacement>("p_placement"),
    field<Schedule, &Schedule::pSlices>("p_slices"),
    field<Schedule, &Schedule::rescaleThreshold>("rescale_threshold"),
    field<Schedule, &Schedule::pOffset>("p_offset"),
    field<Schedule, &Schedule::accumulate>("accumulate"),
    field<Schedule, &Schedule::exp2EmulatedPercent>("exp2_emulated"),
    field<Schedule, &Schedule::scheduler>("scheduler"),
    field<Schedule, &Schedule::ctasPerSm>("ctas_per_sm"),
    field<Schedule, &Schedule::splits>("splits"),
    field<Schedule, &Schedule::roles>("roles")};
} // namespace

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
  return failure(parser.parseEqual() || known->parse(parser, value));
}

template <typename Struct>
static void printFields(AsmPrinter &printer, ArrayRef<Field<Struct>> fields,
                        const Struct &value) {
  llvm::interleaveComma(fields, printer, [&](const Field<Struct> &field) {
    printer << field.text << " = ";
    field.print(printer, value);
  });
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
  if (parser.parseLess() ||
      parseKeywordOf<Mask::Kind>(parser, maskKeywords, mask.kind))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseField<Mask>(parser, maskFields, seen, mask))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MaskAttr>(location, parser.getContext(), mask);
}

/// A bound that is absent is not printed: no number stands for it.
void MaskAttr::print(AsmPrinter &printer) const {
  const Mask &mask = getValue();
  printer << '<';
  printKeywordOf<Mask::Kind>(printer, maskKeywords, mask.kind);
  const std::optional<unsigned> bounds[] = {mask.left, mask.right};
  for (auto [field, bound] : llvm::zip_equal(maskFields, bounds))
    if (bound) {
      printer << ", " << field.text << " = ";
      field.print(printer, mask);
    }
  printer << '>';
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

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  Schedule value;
  llvm::StringSet<> seen;
  auto parseOne = [&] {
    return parseField<Schedule>(parser, scheduleFields, seen, value);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return parser.getChecked<ScheduleAttr>(location, parser.getContext(), value);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printFields<Schedule>(printer, scheduleFields, getValue());
  printer << '>';
}

#define GET_ATTRDEF_CLASSES
#include "fmha/Dialect/FMHA/IR/FMHAAttrs.cpp.inc"

void FMHADialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fmha/Dialect/FMHA/IR/FMHAAttrs.cpp.inc"
      >();
}
