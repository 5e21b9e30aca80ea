//===- FieldOptionTest.cpp - A field of the schedule as an option ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/FieldOption.h"
#include "fmha/Schedule/Model/Overrides.h"

#include "gmock/gmock.h"

using namespace fmha;
using testing::HasSubstr;

namespace {

struct Parsed {
  bool refused;
  FieldChoice choice;
  std::string said;
};

/// What an option of that name makes of `text`.
Parsed parse(llvm::StringRef name, llvm::StringRef text) {
  llvm::cl::opt<FieldChoice, false, llvm::cl::parser<FieldChoice>> option(name);
  Parsed result;
  testing::internal::CaptureStderr();
  result.refused = option.getParser().parse(option, name, text, result.choice);
  result.said = testing::internal::GetCapturedStderr();
  option.removeArgument();
  return result;
}

TEST(FieldOption, IsOfAField) {
  Parsed taken = parse("kv-stages", "5");
  EXPECT_FALSE(taken.refused);
  EXPECT_EQ(taken.choice.wanted, 5u);
  Parsed refused = parse("kv-stages", "none");
  EXPECT_TRUE(refused.refused);
  EXPECT_THAT(refused.said, HasSubstr("expected auto or a number from 1 to"));
}

/// No option of a pass is declared with such a name: it would say so.
TEST(FieldOption, NoOtherNameIsOne) {
  Parsed refused = parse("kv-steps", "5");
  EXPECT_TRUE(refused.refused);
  EXPECT_THAT(refused.said,
              HasSubstr("kv-steps option: is not the name of a field"));
  EXPECT_EQ(refused.choice.wanted, std::nullopt);
}

/// The help of a pass lists what its options accept.
TEST(FieldOption, NamesItsValues) {
  auto values = [](llvm::StringRef name) {
    llvm::cl::opt<FieldChoice, false, llvm::cl::parser<FieldChoice>> option(
        name);
    llvm::StringRef text = option.getParser().getValueName();
    option.removeArgument();
    return text.str();
  };
  EXPECT_EQ(values("kv-stages"), "auto|N");
  EXPECT_EQ(values("pack-heads"), "auto|on|off|N");
  EXPECT_EQ(values("share-kv"), "auto|false|true");
  EXPECT_EQ(values("scheduler"), "auto|single|static|dynamic");
}

/// What a pass prints of its options it takes again.
TEST(FieldOption, TakesWhatItPrints) {
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    for (llvm::StringRef text : {"auto", "1", "on"}) {
      if (!field.words.empty() && text == "1")
        text = llvm::StringRef(field.words.back());
      if (!field.isPacking && text == "on")
        continue;
      Parsed first = parse(llvm::StringRef(field.flag), text);
      EXPECT_FALSE(first.refused) << first.said;
      std::string printed;
      llvm::raw_string_ostream stream(printed);
      llvm::cl::parser<FieldChoice>::print(stream, first.choice);
      Parsed again = parse(llvm::StringRef(field.flag), printed);
      EXPECT_FALSE(again.refused) << again.said;
      EXPECT_EQ(again.choice, first.choice) << printed;
    }
}

} // namespace
