//===- FlagTable.cpp - Command-line flags as a table ----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Options/FlagTable.h"
#include "fmha/Runtime/Files.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace fmha::tools {

using runtime::failure;

void FlagTable::group(llvm::StringRef title) { currentGroup = title.str(); }

void FlagTable::add(llvm::StringRef name, llvm::StringRef placeholder,
                    llvm::StringRef help, Set set) {
  bool oneDash = name.consume_front("-");
  flags.push_back({name.str(), placeholder.str(), help.str(), currentGroup,
                   /*isSwitch=*/false, oneDash, std::move(set)});
}

void FlagTable::addSwitch(llvm::StringRef name, llvm::StringRef help,
                          std::function<void(bool)> set) {
  std::string flag = name.str();
  auto parse = [flag, set](llvm::StringRef text) -> llvm::Error {
    if (!text.empty() && text != "true" && text != "false")
      return failure("--" + flag + ": expected true or false, got '" + text +
                     "'");
    set(text != "false");
    return llvm::Error::success();
  };
  flags.push_back({flag, "", help.str(), currentGroup, /*isSwitch=*/true,
                   /*oneDash=*/false, parse});
}

void FlagTable::addText(llvm::StringRef name, llvm::StringRef placeholder,
                        llvm::StringRef help, std::string &value) {
  std::string flag = name.str();
  add(name, placeholder, help,
      [flag, &value](llvm::StringRef text) -> llvm::Error {
        if (text.empty())
          return failure("--" + flag + ": expected a value, got none");
        value = text.str();
        return llvm::Error::success();
      });
}

void FlagTable::addOptionalText(llvm::StringRef name,
                                llvm::StringRef placeholder,
                                llvm::StringRef help,
                                std::function<void(std::string)> set,
                                bool showBare) {
  auto take = [set](llvm::StringRef text) -> llvm::Error {
    set(text.str());
    return llvm::Error::success();
  };
  flags.push_back({name.str(), placeholder.str(), help.str(), currentGroup,
                   /*isSwitch=*/true, /*oneDash=*/false, take, showBare});
}

void FlagTable::addCount(llvm::StringRef name, llvm::StringRef help,
                         std::optional<uint64_t> &value, uint64_t low,
                         uint64_t high) {
  std::string flag = name.str();
  add(name, "N", help,
      [flag, &value, low, high](llvm::StringRef text) -> llvm::Error {
        uint64_t number = 0;
        if (!text.getAsInteger(10, number) && number >= low && number <= high) {
          value = number;
          return llvm::Error::success();
        }
        std::string range = "from " + std::to_string(low);
        if (high != UINT64_MAX)
          range += " to " + std::to_string(high);
        return failure("--" + flag + ": expected a whole number " + range +
                       ", got '" + text + "'");
      });
}

void FlagTable::addNumber(llvm::StringRef name, llvm::StringRef help,
                          std::optional<double> &value) {
  std::string flag = name.str();
  add(name, "X", help, [flag, &value](llvm::StringRef text) -> llvm::Error {
    double number = 0;
    if (text.empty() || text.getAsDouble(number) || !std::isfinite(number))
      return failure("--" + flag + ": expected a finite number, got '" + text +
                     "'");
    value = number;
    return llvm::Error::success();
  });
}

void FlagTable::addChoice(llvm::StringRef name, std::vector<std::string> words,
                          llvm::StringRef help,
                          std::function<void(size_t)> set) {
  std::string flag = name.str(), placeholder = llvm::join(words, "|");
  add(name, placeholder, help,
      [flag, words, set](llvm::StringRef text) -> llvm::Error {
        for (size_t i = 0; i < words.size(); ++i)
          if (text == words[i]) {
            set(i);
            return llvm::Error::success();
          }
        return failure("--" + flag + ": expected " + llvm::join(words, " or ") +
                       ", got '" + text + "'");
      });
}

void FlagTable::addWord(llvm::StringRef name, std::vector<std::string> words,
                        llvm::StringRef help, std::string &value) {
  addChoice(name, words, help,
            [words, &value](size_t index) { value = words[index]; });
}

void FlagTable::addAlias(llvm::StringRef alias, llvm::StringRef name) {
  find(("--" + name).str())->alias = alias.str();
}

void FlagTable::addHint(llvm::StringRef spelling, llvm::StringRef hint) {
  hints.emplace_back(spelling.str(), hint.str());
}

FlagTable::Flag *FlagTable::find(llvm::StringRef spelling) {
  for (Flag &flag : flags) {
    llvm::StringRef name = spelling;
    if (name.consume_front(flag.oneDash ? "-" : "--") && flag.isNamed(name))
      return &flag;
  }
  return nullptr;
}

/// Returns the flag with the most similar spelling, or null if none is similar.
template <typename Flag>
static const Flag *nearestOf(llvm::ArrayRef<Flag> flags,
                             llvm::StringRef spelling) {
  const Flag *nearest = nullptr;
  // If half of the letters differ, it is another word.
  unsigned best = std::min<size_t>(4, spelling.size() / 2);
  for (const Flag &flag : flags) {
    unsigned distance = spelling.edit_distance(flag.spelling(), true, best);
    if (distance < best) {
      best = distance;
      nearest = &flag;
    }
  }
  return nearest;
}

llvm::Error FlagTable::unknown(llvm::StringRef argument,
                               llvm::StringRef name) const {
  auto known = llvm::find_if(
      hints, [&](const auto &hint) { return hint.first == name; });
  if (known != hints.end())
    return failure("unknown flag '" + argument + "'; " + known->second);
  const Flag *nearest = nearestOf(llvm::ArrayRef(flags), name);
  std::string hint = nearest ? "; did you mean '" + nearest->spelling() + "'?"
                             : "; --help lists the flags";
  return failure("unknown flag '" + argument + "'" + hint);
}

bool FlagTable::has(llvm::StringRef name) const {
  return llvm::any_of(flags, [&](const Flag &flag) {
    return !flag.oneDash && flag.isNamed(name);
  });
}

std::string FlagTable::nearest(llvm::StringRef name) const {
  const Flag *nearest = nearestOf(llvm::ArrayRef(flags), ("--" + name).str());
  return nearest ? nearest->name : "";
}

llvm::Error FlagTable::Flag::assign(llvm::StringRef value) {
  text = value.str();
  return set(value);
}

llvm::Error FlagTable::set(llvm::StringRef name, llvm::StringRef text) {
  return find(("--" + name).str())->assign(text);
}

llvm::Error FlagTable::set(llvm::StringRef name, bool on) {
  Flag *flag = find(("--" + name).str());
  if (!flag->isSwitch)
    return failure("--" + name + ": expected a value (" + flag->placeholder +
                   "), got " + (on ? "true" : "false"));
  if (flag->placeholder.empty())
    return set(name, llvm::StringRef(on ? "true" : "false"));
  return on ? set(name, llvm::StringRef()) : llvm::Error::success();
}

llvm::Error FlagTable::parse(llvm::ArrayRef<const char *> arguments,
                             std::vector<std::string> &positional) {
  bool onlyPositional = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (onlyPositional || argument == "-" || !argument.starts_with("-")) {
      positional.push_back(argument.str());
      continue;
    }
    if (argument == "--") {
      onlyPositional = true;
      continue;
    }
    auto [name, value] = argument.split('=');
    bool hasValue = argument.contains('=');
    Flag *flag = find(name);
    if (!flag)
      return unknown(argument, name);
    if (!flag->isSwitch && !hasValue) {
      if (i + 1 == arguments.size())
        return failure(name + ": expected a value (" + flag->placeholder +
                       "), got none");
      value = arguments[++i];
      if (value.starts_with("--"))
        return failure(name + ": expected a value (" + flag->placeholder +
                       "), got the next flag, '" + value +
                       "'; write a value that begins with '--' as " + name +
                       "=" + value);
    }
    if (flag->isSwitch && hasValue && value.empty())
      return failure(
          name + ": expected " +
          (flag->placeholder.empty() ? "true or false" : flag->placeholder) +
          ", got ''");
    if (llvm::Error error = flag->assign(value))
      return error;
  }
  return llvm::Error::success();
}

std::vector<FlagTable::Given> FlagTable::given(llvm::StringRef group) const {
  std::vector<Given> set;
  for (const Flag &flag : flags)
    if (flag.text && flag.group == group)
      set.push_back({flag.spelling(),
                     flag.text->empty() ? flag.spelling()
                                        : flag.spelling() + "=" + *flag.text});
  return set;
}

void FlagTable::printHelp(llvm::raw_ostream &stream) const {
  std::string group;
  for (const Flag &flag : flags) {
    if (flag.group != group) {
      group = flag.group;
      stream << "\n" << group << ":\n";
    }
    std::string spelling = flag.spelling();
    if (!flag.isSwitch)
      spelling += (flag.oneDash ? " " : "=") + flag.placeholder;
    else if (!flag.placeholder.empty() && flag.showBare)
      spelling += "[=" + flag.placeholder + "]";
    else if (!flag.placeholder.empty())
      spelling += "=" + flag.placeholder;
    stream << "  " << spelling;
    // Long spellings get a line of their own.
    if (spelling.size() > 28)
      stream << "\n" << std::string(32, ' ');
    else
      stream << std::string(30 - spelling.size(), ' ');
    stream << flag.help << "\n";
  }
}

std::string shellCommand(llvm::StringRef tool,
                         llvm::ArrayRef<const char *> arguments) {
  constexpr llvm::StringLiteral plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:+";
  std::string line = tool.str();
  for (llvm::StringRef argument : arguments) {
    line += " ";
    if (!argument.empty() &&
        argument.find_first_not_of(plain) == llvm::StringRef::npos) {
      line += argument.str();
      continue;
    }
    line += "'";
    for (char c : argument)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

} // namespace fmha::tools
