//===- FieldOption.cpp - A field of the schedule as an option -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Conversion/FieldOption.h"
#include "fmha/Schedule/Model/Overrides.h"

using namespace fmha;
using namespace llvm;

using FieldParser = cl::parser<FieldChoice>;

void FieldParser::anchor() {}

/// Returns the field that has the name of the option, or null.
static const schedule::ScheduleField *fieldOf(const cl::Option &option) {
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    if (option.ArgStr == StringRef(field.flag))
      return &field;
  return nullptr;
}

StringRef FieldParser::getValueName() const {
  const schedule::ScheduleField *field = fieldOf(owner);
  return field ? StringRef(field->values) : "auto|N";
}

bool FieldParser::parse(cl::Option &option, StringRef, StringRef text,
                        FieldChoice &choice) {
  const schedule::ScheduleField *field = fieldOf(option);
  if (!field)
    return option.error("is not the name of a field of a schedule");
  // Pass options print enumerators as numbers, so accept numbers as well.
  StringRef word = text;
  unsigned number = 0;
  if (!text.getAsInteger(10, number) && number < field->words.size())
    word = field->words[number];
  if (field->isPacking && text == "0")
    word = "on";
  if (field->parse(word, choice.wanted))
    return false;
  return option.error("expected " + field->expected() + ", got '" + text + "'");
}

/// Prints the value in the form that parse() accepts.
void FieldParser::print(raw_ostream &stream, const FieldChoice &choice) {
  if (choice.wanted)
    stream << *choice.wanted;
  else
    stream << "auto";
}
