//===- FlagTable.h - Command-line flags as a table --------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's parser has the flags of every linked LLVM library and rejects repeated
// flags. The tools here have few flags, use the last value of a repeated flag,
// and suggest the nearest known flag for an unknown one, so they have a small
// table of their own.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_OPTIONS_FLAGTABLE_H
#define FMHA_OPTIONS_FLAGTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace fmha::tools {

class FlagTable {
public:
  using Set = std::function<llvm::Error(llvm::StringRef)>;

  /// Starts a group of flags with the title `title` in the help.
  void group(llvm::StringRef title);

  /// Adds "--name=placeholder" or "--name placeholder"; a name "-n" adds the
  /// short flag "-n placeholder".
  void add(llvm::StringRef name, llvm::StringRef placeholder,
           llvm::StringRef help, Set set);
  /// Adds "--name", "--name=true" or "--name=false".
  void addSwitch(llvm::StringRef name, llvm::StringRef help,
                 std::function<void(bool)> set);

  void addText(llvm::StringRef name, llvm::StringRef placeholder,
               llvm::StringRef help, std::string &value);
  /// Adds "--name" or "--name=placeholder"; for "--name", `set` gets an empty
  /// text. `showBare` is false for a program that rejects it, for the help.
  void addOptionalText(llvm::StringRef name, llvm::StringRef placeholder,
                       llvm::StringRef help,
                       std::function<void(std::string)> set,
                       bool showBare = true);
  void addCount(llvm::StringRef name, llvm::StringRef help,
                std::optional<uint64_t> &value, uint64_t low = 0,
                uint64_t high = UINT64_MAX);
  /// Adds a flag with a finite number.
  void addNumber(llvm::StringRef name, llvm::StringRef help,
                 std::optional<double> &value);
  /// Adds a flag with one of `words`; `set` gets its index.
  void addChoice(llvm::StringRef name, std::vector<std::string> words,
                 llvm::StringRef help, std::function<void(size_t)> set);
  void addWord(llvm::StringRef name, std::vector<std::string> words,
               llvm::StringRef help, std::string &value);

  /// Accepts `alias` as another name of the existing flag `name`. The help does
  /// not list aliases.
  void addAlias(llvm::StringRef alias, llvm::StringRef name);

  /// Says of a flag that does not exist what to use in its place: "fmha-run has
  /// this flag". `spelling` has its dashes.
  void addHint(llvm::StringRef spelling, llvm::StringRef hint);

  /// Calls the setters in the order of `arguments`. Other arguments are
  /// appended to `positional`. "--" ends the flags.
  llvm::Error parse(llvm::ArrayRef<const char *> arguments,
                    std::vector<std::string> &positional);

  /// Sets one flag as parse() does, for values that are not from a command
  /// line. `name` has no dashes. `on` sets a flag of an optional file without
  /// one.
  llvm::Error set(llvm::StringRef name, llvm::StringRef text);
  llvm::Error set(llvm::StringRef name, bool on);
  bool has(llvm::StringRef name) const;
  /// Returns the most similar name, without dashes; "" if none is similar.
  std::string nearest(llvm::StringRef name) const;

  /// A flag that is set: "--name", and "--name=text" or, without a text,
  /// "--name".
  struct Given {
    std::string name, argument;
  };
  /// Returns the flags of `group` that are set, each as it was set last, in the
  /// order of the table.
  std::vector<Given> given(llvm::StringRef group) const;

  void printHelp(llvm::raw_ostream &stream) const;

private:
  struct Flag {
    std::string name, placeholder, help, group;
    bool isSwitch, oneDash;
    Set set;
    bool showBare = true;
    /// What `set` was called with last.
    std::optional<std::string> text = {};
    std::string alias = {};
    /// Calls `set` with `value`, which becomes `text`.
    llvm::Error assign(llvm::StringRef value);
    std::string spelling() const { return (oneDash ? "-" : "--") + name; }
    /// Returns whether `text`, without dashes, names the flag.
    bool isNamed(llvm::StringRef text) const {
      return text == name || (!alias.empty() && text == alias);
    }
  };
  Flag *find(llvm::StringRef spelling);
  llvm::Error unknown(llvm::StringRef argument, llvm::StringRef name) const;

  std::vector<Flag> flags;
  /// Pairs of a spelling and what the message says of it.
  std::vector<std::pair<std::string, std::string>> hints;
  std::string currentGroup;
};

/// Returns `arguments` as a shell command, with the program's bare name.
std::string shellCommand(llvm::StringRef tool,
                         llvm::ArrayRef<const char *> arguments);

} // namespace fmha::tools

#endif // FMHA_OPTIONS_FLAGTABLE_H
