//===- OtherAccessors.cpp - The other party of a finding --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sim/Core/Machine/OtherAccessors.h"

using namespace ptxsim;

Other ptxsim::otherAt(const std::string &text, const Site &site) {
  return site.warp ? Other(text + " " + whoseText(site), site) : Other();
}

Other ptxsim::inFlightAt(const Cta &cta, uint32_t offset, uint32_t bytes,
                         Access access) {
  for (const auto &[id, op] : cta.cluster.inFlight())
    if (op->touches(cta, offset, bytes, access)) {
      std::string what = op->describe();
      return {what + " is in flight, issued by " + whoseText(op->site),
              op->site, what};
    }
  return {};
}

Other ptxsim::barrierAt(const Cta &cta, uint32_t offset, uint32_t bytes) {
  for (const auto &state : cta.states.slots)
    if (Site init = state ? state->barrierAt(offset, bytes) : Site(); init.warp)
      return otherAt("initialized by", init);
  return {};
}

Other ptxsim::exitOf(const Cta &cta) {
  return otherAt("the CTA ends with the exit of", cta.lastExit);
}
