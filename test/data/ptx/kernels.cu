// Vector sum, block reduction and a loop that lanes leave at different times.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c,
                                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

extern "C" __global__ void block_sum(const float *in, float *out, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += in[i];
  for (int step = 16; step; step /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    for (int step = 16; step; step /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0)
      atomicAdd(out, sum);
  }
}

extern "C" __global__ void collatz(const unsigned *in, unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  unsigned long long x = in[i];
  unsigned count = 0;
  while (x != 1) {
    if (x % 2 == 0)
      x /= 2;
    else
      x = 3 * x + 1;
    ++count;
  }
  steps[i] = count;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursion(const unsigned *in, unsigned *out) {
  out[threadIdx.x] = fibonacci(in[threadIdx.x]);
}

extern "C" __global__ void branches(const unsigned *in, unsigned *out) {
  unsigned x = in[threadIdx.x], y = 0;
  unsigned local[8];
  for (unsigned i = 0; i < 8; ++i)
    local[i] = x * i;
  switch (x % 7) {
  case 0: y = x + 11; break;
  case 1: y = x * 3; break;
  case 2: y = x ^ 0x55; break;
  case 3: y = ~x; break;
  case 4: y = x << 3; break;
  case 5: y = x >> 1; break;
  default: y = 42; break;
  }
  out[threadIdx.x] = y + local[x % 8];
}
