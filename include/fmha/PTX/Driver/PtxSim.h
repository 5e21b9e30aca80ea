/*===- PtxSim.h - Extensions of the API by libptxsim.so ---------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * A host that loads libptxsim.so in place of libcuda.so.1 does not need this
 * header: the environment variables below set everything. Other hosts can find
 * these functions with dlsym and control the simulator from code. They may be
 * called at any time, even before cuInit, and are thread-safe.
 *
 * With any other value of an environment variable, cuInit returns
 * CUDA_ERROR_INVALID_VALUE and prints an error on stderr.
 *
 *===------------------------------------------------------------------------===*/

/* clang-format off */
/*
 * option       variable            values, the default first
 * target       PTXSIM_TARGET       the highest .target loaded | sm_100a | ...
 * policy       PTXSIM_POLICY       eager | late | random | pct
 * seed         PTXSIM_SEED         0: the schedule seed of random and pct
 * checks       PTXSIM_CHECKS       all | none | finding ids, comma-separated
 * conformance  PTXSIM_CONFORMANCE  isa | practice
 * mma          PTXSIM_MMA          fast | exact
 * approx       PTXSIM_APPROX       correct | perturb | sm_90
 * threads      PTXSIM_THREADS      0: all cores, or how many
 * max-steps    PTXSIM_MAX_STEPS    0: no limit, in warp instructions
 * report       PTXSIM_REPORT       none | file that gets the JSON report
 * on-finding   PTXSIM_ON_FINDING   fail: the next synchronizing call and every
 *                                  later one return the error
 *                                  | report: they are only in the report
 * time         PTXSIM_TIME         off | on: the report has the modeled time of each
 *                                  launch; needs policy eager | sass: that of its
 *                                  SASS; needs ptxas and nvdisasm (FMHA_PTXAS and
 *                                  FMHA_NVDISASM, or on the PATH)
 * time-sms     PTXSIM_TIME_SMS     0: as many SMs as the target has, or how many the
 *                                  GPU has that the time is modeled for
 * time-sm      PTXSIM_TIME_SM      0, or the SM that is modeled: of S SMs, SM N runs the
 *                                  CTAs N, N + S, N + 2 S, ...; with clusters, of S groups
 *                                  of SMs, group N runs the clusters N, N + S, ...;
 *                                  a launch that leaves it empty is modeled as on SM 0
 * time-l2      PTXSIM_TIME_L2      cold: the first read of a line comes from device
 *                                  memory | warm: all data is in L2
 * time-draws   PTXSIM_TIME_DRAWS   0 | how often the time is modeled once more, with
 *                                  figures drawn within their ranges; needs time
 * timeline     PTXSIM_TIMELINE     none | file that gets the modeled timeline of the first
 *                                  launch for Perfetto, that of the second one with ".2"
 *                                  after its name, and so on; needs time
 * messages     PTXSIM_MESSAGES     on | off: findings on stderr
 */
/* clang-format on */

#ifndef FMHA_PTX_DRIVER_PTXSIM_H
#define FMHA_PTX_DRIVER_PTXSIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets an option for the launches that follow. Returns 0, or 1
 * (CUDA_ERROR_INVALID_VALUE) with the reason in ptxsimLastError(). */
int ptxsimSetOption(const char *name, const char *value);

/* The report of the last launch, one JSON object: schema_version, entry, grid,
 * block, cluster, dynamic_smem_bytes, status (ok | findings | deadlock |
 * step_limit | error), error (null, or why the launch was rejected), findings
 * [{id, severity, message, ptx_line, source, warp, lane, cta, other, fix,
 * ptx_column, ptx_end_column, policy, schedule_seed, other_party}], deadlock
 * (null, or the wait-for graph), findings_dropped, warp_instructions,
 * seconds_run. "null" before the first launch. The text stays valid until the
 * next call by this thread. */
const char *ptxsimLastReport(void);

/* The report on all launches since cuInit or ptxsimReset, the object written
 * to the file PTXSIM_REPORT: schema_version, target, status (the worst),
 * launches (their number), warp_instructions, seconds_run, and reports, the
 * launches that were not ok (the first 1000) and the last one. */
const char *ptxsimReport(void);

/* Warp instructions of the last launch. */
uint64_t ptxsimWarpInstructions(void);

/* The reason why the last failing call of this thread failed, as text: the
 * violation of a tensor map, the first error of a PTX text. Empty if none is
 * known. */
const char *ptxsimLastError(void);

/* Clears a sticky error and all reports, so that a process can continue after a
 * finding, which a real device does not allow. Memory and modules stay. */
void ptxsimReset(void);

/* The version of the simulator, for example "0.1.0". */
const char *ptxsimVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_PTX_DRIVER_PTXSIM_H */
