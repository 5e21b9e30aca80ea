//===- FieldOption.h - A field of the schedule as an option -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Options of passes that fix a field of the schedule: "auto", or a value in the
// field's range. Anything else is an error while options are parsed.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_CONVERSION_FIELDOPTION_H
#define FMHA_CONVERSION_FIELDOPTION_H

#include "fmha/Schedule/Model/Overrides.h"

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <optional>
#include <vector>

namespace fmha {

/// The requested value; empty leaves the field to the planner.
struct FieldChoice {
  std::optional<unsigned> wanted = {};
  bool operator==(const FieldChoice &) const = default;
};

} // namespace fmha

namespace llvm::cl {

/// An option has the name of its field (`ScheduleField::flag`), which also
/// determines the range.
template <>
class parser<fmha::FieldChoice> : public basic_parser<fmha::FieldChoice> {
public:
  parser(Option &option) : basic_parser(option), owner(option) {}

  bool parse(Option &option, StringRef name, StringRef text,
             fmha::FieldChoice &choice);
  static void print(raw_ostream &stream, const fmha::FieldChoice &choice);
  void printOptionDiff(const Option &, const fmha::FieldChoice &, OptVal,
                       size_t) const {}
  StringRef getValueName() const override;
  void anchor() override;

private:
  const Option &owner;
};

} // namespace llvm::cl

namespace fmha {

/// An OptionT, an option of a pass or of a pipeline, for each field of the
/// schedule that a user may fix.
template <typename OptionT> class FieldOptions {
public:
  template <typename ParentT> explicit FieldOptions(ParentT &parent) {
    for (const schedule::ScheduleField &field : schedule::scheduleFields())
      options.push_back(std::make_unique<OptionT>(parent, field.flag,
                                                  llvm::cl::desc(field.help)));
  }

  /// Fixes in `overrides` the fields that the options fix.
  void fix(schedule::Overrides &overrides) const {
    for (auto [n, field] : llvm::enumerate(schedule::scheduleFields()))
      overrides.fix(field.choice, options[n]->wanted);
  }
  /// Sets the options to the fields that `overrides` fixes.
  void set(const schedule::Overrides &overrides) {
    for (auto [n, field] : llvm::enumerate(schedule::scheduleFields()))
      *options[n] = FieldChoice{overrides[field.choice]};
  }

private:
  std::vector<std::unique_ptr<OptionT>> options;
};

/// An OptionT for each hint of the launch to plan for.
template <typename OptionT> class HintOptions {
public:
  template <typename ParentT> explicit HintOptions(ParentT &parent) {
    for (const schedule::Hint &hint : schedule::hints)
      options.push_back(std::make_unique<OptionT>(
          parent, hint.name, llvm::cl::desc(hint.help), llvm::cl::init(0)));
  }

  schedule::Hints get() const {
    schedule::Hints given;
    for (auto [option, hint] : llvm::zip_equal(options, schedule::hints))
      given.*hint.there = *option;
    return given;
  }
  void set(const schedule::Hints &given) {
    for (auto [option, hint] : llvm::zip_equal(options, schedule::hints))
      *option = given.*hint.there;
  }

private:
  std::vector<std::unique_ptr<OptionT>> options;
};

} // namespace fmha

#endif // FMHA_CONVERSION_FIELDOPTION_H
