// What one instruction set offers: a struct of function pointers, and the plain structs that they take.
//
// Included by the kernel units, which are compiled for instruction sets that the machine may lack: so nothing here has
// a body that could be emitted there and picked by the linker for everyone. Kernels own nothing, keep no state and may
// run on any thread; the caller (cpu_ops.h) divides the work and provides scratch. Numbers are floats unless said.
#pragma once

#include <cstdint>

namespace sluice {

constexpr int kKernelFormats = 11;                      // indexed by FormatId
constexpr int kPanelRows = 6;                           // vectors of a packed panel
constexpr int kBlockCols = 32;                          // columns of a block of the dot product
constexpr int kPartRows = 32;                           // most output rows of a matmul part in tiles
constexpr int kTileFromRows = 16;                       // vectors from which on tiles may be used
constexpr int kRowBlock = 96;                           // most vectors of a matmul part
constexpr int kSumFloats = kPartRows * kRowBlock * 16;  // scratch of such a part
constexpr int kMostHeads = 256;                         // of an attention part
constexpr int kKernelStreams = 16;                      // most residual streams

// y[t][out] = dot(row `out` of W, vector t), out in [0, outs). Pointers are to the first output row of the part.
// x is packed: panels of panel_rows(x_rows, two_fmas) vectors (the last may be smaller), each [blocks][vectors of the
// panel][32], the even columns of a block before its odd ones, zeros after the last column.
struct MatmulPart {
  const std::uint8_t *weights, *scales;
  std::int64_t weight_stride, scale_stride;  // bytes of a row of weights, of a row of scales
  int scale_phase;                           // see WeightView
  bool two_fmas;                             // see two_fmas_a_cycle in kernel_table.h; changes speed alone
  int outs, cols;
  const float* x;
  int x_rows;
  float* y;
  std::int64_t y_stride;
  float* sums;  // [kSumFloats] on 64 bytes, if panels have kPanelRows vectors
};

// The fast mode (docs/numerics.md, "Fast"). A row of W goes in lines of kLineBytes, kRunLines of them a run; lane j
// takes bytes 4 j .. 4 j + 3 of each line. Nibbles: the low one is the even column.
constexpr int kLineBytes = 64, kRunLines = 4;
constexpr int kGroupCols = 32;  // columns of a vector that share a scale
constexpr int kByteRunCols = kRunLines * kLineBytes, kNibbleRunCols = 2 * kByteRunCols;
// A run of a vector: numbers [kRunLines][2][64] (columns of low nibbles, then of high ones) or [kRunLines][64], signed
// bytes; 32-bit counts [kRunLines][16], -kNibbleShift or -kByteShift times the sum of a lane's numbers; fp32 scales
// [16], that of line b and lanes 4 i .. 4 i + 3 at 4 i + b.
constexpr int kNibbleShift = 16, kByteShift = 128;
constexpr int kByteRunBytes = kRunLines * (kLineBytes + 64) + 64;
constexpr int kNibbleRunBytes = kRunLines * (2 * kLineBytes + 64) + 64;

struct FastPart {  // as MatmulPart
  const std::uint8_t *weights, *scales;
  std::int64_t weight_stride, scale_stride;
  const std::int8_t* numbers;  // [16] what a nibble stands for; null: a byte is a number
  int scale_cols;              // columns of a row that share a scale: 32, 64 or 128; 0: all
  bool e8m0;                   // scales are bytes b that mean 2^(b - 128); else fp32
  int outs, cols;
  const std::uint8_t* x;  // vectors as `quantise` leaves them, one after the other, each of whole runs
  int x_rows;
  float* y;
  std::int64_t y_stride;
};

// y[t][col] = chain over i of W[i][col] · x[t][i] for the columns of blocks [first_block, last_block).
struct TransposedPart {
  const std::uint8_t *weights, *scales;
  std::int64_t weight_stride, scale_stride;
  int scale_phase, w_rows, cols, first_block, last_block;
  const float* x;
  std::int64_t x_stride;
  int x_rows;
  float* y;
  std::int64_t y_stride;
};

// How a kernel unit multiplies with many vectors: see matmul.inl.
enum class Tiles { never, always, with_two_fmas };

// Positions [first, last) of a list of keys, or the `last` chosen ones.
struct KeyList {
  const float* const* pages;  // each of 64 positions
  const int* chosen;          // rising; null: no choice
  int first, last;
};

// `heads` heads of one query vector that read the same keys and values: `keys`, at least one, then `entries`.
struct AttentionPart {
  const float* query;  // [heads, width]
  KeyList keys, entries;
  const float* sinks;            // [heads]; null: none
  std::int64_t row, key, value;  // floats of a position; where its key and its value begin
  int heads, width, value_width;
  float scale;
  float* out;         // [heads, value_width]
  bool bf16_weights;  // see WindowAttention of ops.h
};

// Scores of `rows` queries with the first `positions` keys of one page; see IndexScores of ops.h.
struct IndexPart {
  const float *query, *weights, *keys;  // [rows, heads * dim], [rows, heads], [64, dim]
  std::int64_t query_stride, weight_stride, out_stride;
  int rows, heads, dim, positions;
  float* out;  // [rows, positions]
  bool bf16;
};

// The `count` columns of largest x, or x + bias; see Choice of ops.h.
struct ChoicePart {
  const float *x, *bias;  // [columns]; the bias may be null
  int columns, count, groups, groups_kept;
  float* room;  // [columns + groups]; may be null without a bias and with one group
  int* chosen;  // [count]
};

// Of one row; see StreamWeights of ops.h.
struct StreamPart {
  const float *mixes, *base, *scale;  // [(2 + streams) * streams], the same, [3]
  float inverse_rms;
  int streams, iterations;
  float eps;
  float *pre, *weights;  // [streams]; [(1 + streams) * streams], may be null
};

// Columns [first, first + count) of one head matrix over `rows` steps.
struct KdaPart {
  const float *q, *k, *v, *alpha, *beta;  // of this head; row t is `*_stride` further
  std::int64_t q_stride, k_stride, v_stride, alpha_stride, beta_stride, out_stride;
  int rows, dim, first, count;
  float *state, *out;
};

struct ConvPart {  // channels [0, channels); rows of x and y are strided, taps [channels, kernel], history as in ops.h
  const float *x, *taps;
  std::int64_t x_stride, y_stride, history_stride;
  int rows, channels, kernel;
  float *history, *y;
};

// Groups of compressed bf16 numbers as formats/bf16_stream.h stores them; `to` has 2 * numbers bytes. Exponents: eight,
// the last unused. All may have any alignment.
constexpr std::int64_t kUnpackNumbers = 512, kUnpackGroup = 704;  // of a group; its bytes
struct UnpackPart {
  const std::uint8_t *groups, *escapes, *exponents;
  std::int64_t numbers, escape_count;
  std::uint8_t* to;
};

struct KernelTable {
  const char* name;                              // as --isa spells it
  int (*panel_rows)(int x_rows, bool two_fmas);  // kPanelRows means: in tiles
  // One panel of `rows` vectors into `packed`: see MatmulPart.
  void (*pack)(const float* x, std::int64_t x_stride, int rows, int cols, float* packed);
  void (*matmul[kKernelFormats])(const MatmulPart& part);
  // Rows of W that matmul walks at once: a part of an odd multiple of them wastes nothing.
  int (*streams[kKernelFormats])(int x_rows, bool two_fmas);
  void (*matmul_transposed[kKernelFormats])(const TransposedPart& part);
  // The fast mode: one vector of numbers, its product, and the rows of W that are walked at once.
  void (*quantise)(const float* x, int cols, bool nibbles, std::uint8_t* runs);
  void (*matmul_fast)(const FastPart& part);
  int (*streams_fast)(int x_rows);
  void (*rms_norm)(const float* x, const float* gain, int count, float eps, float* y);  // one run
  float (*inverse_rms)(const float* x, int count, float eps);
  void (*layer_norm)(const float* x, const float* gain, const float* bias, int count, float eps, float* y);
  void (*l2_norm)(float* x, int count, float eps, float scale);  // one run
  void (*add)(const float* x, int count, float* y);
  void (*sigmoid)(const float* x, int count, float* y);
  void (*gate_sigmoid)(const float* gate, int count, float* y);
  void (*situ)(const float* gate, const float* up, int count, float b1, float b2, float* y);
  void (*swiglu)(const float* gate, const float* up, int count, float* y);
  void (*clamped_swiglu)(const float* gate, const float* up, int count, float limit, float* y);
  void (*sqrt_softplus)(const float* x, int count, float* y);
  void (*clamp)(float* x, int count, float limit);
  void (*softmax)(float* x, int count);
  // Pairs (a[j], b[j]), or (a[2 j], a[2 j + 1]) if b is null.
  void (*rope)(float* a, float* b, const float* cos, const float* sin, int pairs);
  // y = chain over k in [0, n) of weights[k] · (values + k * stride).
  void (*weighted_sum)(const float* values, std::int64_t stride, const float* weights, int n, int count, float* y);
  // Of one row: sources are n pointers to `count` numbers; p [n] receives the softmax weights.
  void (*attention_residual)(const float* const* sources, int n, const float* f, int count, float eps, float* y,
                             float* p);
  void (*stream_weights)(const StreamPart& part);
  // Numbers [0, count) of every stream; x of stream k is k * width further. weights: see Ops::mix_streams.
  void (*mix_streams)(const float* output, const float* weights, int streams, std::int64_t width, int count, float* x);
  // Channels [first, first + count) of one window of `slots` slots; y is at the first of them.
  void (*pool)(const float* const* values, const float* const* gates, int slots, int first, int count, float* y);
  void (*kda_decay)(const float* z, const float* dt_bias, int count, float a_log, float bound, float* alpha);
  void (*kda)(const KdaPart& part);
  void (*short_conv)(const ConvPart& part);
  void (*attention)(const AttentionPart& part);
  void (*index_scores)(const IndexPart& part);
  void (*choose)(const ChoicePart& part);
  // y = exp((x - largest) / divisor) in double.
  void (*exp_weights)(const float* x, int count, double largest, double divisor, double* y);
  // How many escapes the groups ask for; if that is more than there are, what was stored means nothing.
  std::int64_t (*unpack_bf16)(const UnpackPart& part);
  // Yardsticks: see probe.inl. fma_probe does `fma_probe_flops` operations a step.
  float (*read_probe)(const std::uint8_t* from, std::int64_t bytes, int streams);
  float (*fma_probe)(int steps);
  int fma_probe_flops;
};

extern const KernelTable kScalarKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512VbmiKernels;
extern const KernelTable kNeonKernels;

}  // namespace sluice
