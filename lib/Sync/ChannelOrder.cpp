//===- ChannelOrder.cpp - Order of the messages of a channel ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include <array>
#include <map>

using namespace fmha::schedule::sync;

static std::string str(int64_t value) { return std::to_string(value); }

static const char *nameOf(End end) {
  static constexpr const char *names[] = {"acquire", "publish", "receive",
                                          "release"};
  return names[unsigned(end)];
}

namespace {

/// The progress of one agent at the ends of one channel: for each end and slot,
/// the next message.
class EndState {
public:
  explicit EndState(const Channel &channel)
      : channel(channel), next(4, std::vector<int64_t>(channel.depth)) {
    for (auto &slots : next)
      for (unsigned slot = 0; slot < channel.depth; ++slot)
        slots[slot] = slot;
  }

  /// Returns the violation at this event, or nothing.
  std::string take(End end, int64_t message) {
    if (message < 0)
      return "Y7: " + quote(end, message) + ": messages count from 0";
    int64_t &expected = at(end, message);
    // A held message may be received again (V that is a view of K).
    bool held = message + channel.depth == expected &&
                at(End::Release, message) <= message;
    if (end == End::Receive && held)
      return {};
    if (message != expected)
      return wrongMessage(end, message, expected);
    expected += channel.depth;
    // The same agent operates on both ends of a pair.
    if (end == End::Publish && channel.acquired &&
        at(End::Acquire, message) <= message)
      return unpaired(end, message, End::Acquire);
    if (end == End::Release && at(End::Receive, message) <= message)
      return unpaired(end, message, End::Receive);
    return {};
  }

private:
  int64_t &at(End end, int64_t message) {
    return next[unsigned(end)][message % channel.depth];
  }
  std::string quote(End end, int64_t message) const {
    return std::string(nameOf(end)) + " of message " + str(message) +
           " of channel \"" + channel.name + '"';
  }
  std::string wrongMessage(End end, int64_t message, int64_t expected) const {
    std::string slot = str(message % channel.depth);
    return "Y7: " + quote(end, message) + ", but slot " + slot +
           " is at message " + str(expected) +
           (message < expected ? ": it is taken twice"
                               : ": a message is left out");
  }
  std::string unpaired(End end, int64_t message, End first) const {
    return "Y7: " + quote(end, message) + " without " + nameOf(first) +
           ": expected tile." + nameOf(first) + " of that message before it";
  }

  const Channel &channel;
  std::vector<std::vector<int64_t>> next;
};

} // namespace

std::vector<Violation>
fmha::schedule::sync::verifyChannels(const Program &program) {
  for (const Agent &agent : program.agents) {
    std::map<uint32_t, EndState> states;
    for (uint32_t index : agent.order) {
      const Event &event = program.events[index];
      if (event.action != Action::ChannelEnd)
        continue;
      EndState &state =
          states.try_emplace(event.barrier, program.channels[event.barrier])
              .first->second;
      if (std::string text = state.take(event.end, event.amount); !text.empty())
        return {{event.source, std::nullopt, text}};
    }
  }
  return {};
}
