// What the probes share.

#ifndef FMHA_SCRIPTS_PROBES_PROBE_CUH
#define FMHA_SCRIPTS_PROBES_PROBE_CUH

#include <cstdio>
#include <cstdlib>
#include <cuda.h>

/// Ends the probe with status 2 where the driver refused `what`.
inline void check(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", what, name);
  std::exit(2);
}

#endif // FMHA_SCRIPTS_PROBES_PROBE_CUH
