//===- Mma.h - One tensor core instruction in flight ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMA_H
#define FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMA_H

#include "MmaProduct.h"

namespace ptxsim {

class MmaOp : public AsyncOp {
public:
  MmaOp(const Site &site, MmaWork work);
  void complete(Cluster &cluster) override;
  std::string describe() const override;
  bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
               Access access) const override;

private:
  /// Computes the part of one CTA.
  void run(Cta &cta, unsigned part, MmaInputs &inputs);
  MmaWork work;
  std::shared_ptr<CollectorFill> fill;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMA_H
