// The operations that forward passes are written in. Order and rounding of each: docs/numerics.md, bit for bit.
//
// Implementations: CpuOps (cpu_ops.h: kernels of one instruction set, split over threads) and ReferenceOps
// (reference.h: plain loops, the definition that tests compare with). Operations cannot fail: shapes were proven when
// the model was opened. Rows may have any stride and alignment. Output rows must not overlap input rows unless said so.
// A gain, bias or projection of a norm is a vector as it is stored, [1, n]: its numbers are made fp32 within.
#pragma once

#include <span>

#include "base/rows.h"
#include "formats/weight_view.h"

namespace sluice {

// y [rows, out] = x [rows, in] · Wᵀ with W [out, in]; in the transposed product y [rows, in] = x [rows, out] · W.
struct Product {
  WeightView w;
  Rows x, y;
};

// One head matrix S per head, [key, value]; rows of q, k, v, alpha and out are [heads * dim], of beta [heads].
struct KdaStep {
  Rows q, k, v, alpha, beta, out;
  int heads = 0, dim = 0;
  float* state = nullptr;  // [heads, dim (key), dim (value)], advanced in place
};

// Which two numbers of a rotated vector of 2 n numbers are pair j: 2 j and 2 j + 1, or j and j + n.
enum class RopeLayout { interleaved, half_split };

// Rotates pairs of numbers of each head by the angle of the row's position, in place.
struct Rope {
  Rows x;                         // every run of `head_width` numbers is a head
  int head_width = 0, first = 0;  // numbers first .. first + 2 * cos.width - 1 of a head are rotated
  RopeLayout layout = {};
  Rows cos, sin;  // [rows, pairs]: compute/rope_angles.h
};

// Softmax attention whose query heads read `kv_heads` heads of keys and values: query head i reads head
// i / (heads / kv_heads).
struct HeadAttention {
  Rows query;  // [rows, heads * dim]
  std::span<const float* const>
      pages;               // page p: positions 64 p .. 64 p + 63, each [2, kv_heads, dim]: keys, then values
  int first_position = 0;  // of query row 0; row t sees positions 0 .. first_position + t
  int heads = 0, kv_heads = 0, dim = 0;
  float scale = 1;
  Rows out;  // [rows, heads * dim]
};

// Absorbed attention over a latent cache that all heads share.
struct LatentAttention {
  Rows query;  // [rows, heads * (latent + rope)], per head: latent part, then rope part
  std::span<const float* const>
      pages;               // page p: positions 64 p .. 64 p + 63, each [latent + rope] floats, densely packed
  int first_position = 0;  // of query row 0; row t sees positions 0 .. first_position + t
  int heads = 0, latent = 0, rope = 0;
  float scale = 1;
  Rows out;  // [rows, heads * latent]
  // Sparse attention: row t sees the positions chosen[chosen_begin[t] .. chosen_begin[t + 1]) instead, at least one, in
  // rising order and all in the pages. Blocks of the softmax are the same absolute ones, so a choice of everything that
  // is visible gives the bits of no choice. Empty chosen_begin: no choice. Else it has rows + 1 entries.
  std::span<const int> chosen = {}, chosen_begin = {};
};
inline constexpr int kAttentionBlock = 64;  // positions of a page, and of a block of the softmax

// Attention of heads that share one vector a position, key and value at once (DeepSeek-V4, 3.5): the last positions,
// then entries that stand for older ones, then a sink in the denominator alone.
struct WindowAttention {
  Rows query;  // [rows, heads * dim]
  std::span<const float* const>
      pages;               // as above, each position [dim] floats; a multiple of 64 positions may lie before them
  int first_position = 0;  // of query row 0, counted from the pages' first; row t sees the `window` positions up to
  int window = 1;          // first_position + t, or what there is of them
  std::span<const float* const> entry_pages;  // page p: entries 64 p .. 64 p + 63, each [dim] floats
  std::span<const int> entries;               // row t sees entries 0 .. entries[t] - 1; maybe none
  std::span<const float> sinks;               // [heads]
  int heads = 0, dim = 0;
  float scale = 1;
  Rows out;  // [rows, heads * dim]
  // If chosen_begin is not empty row t sees these entries instead, as in LatentAttention; maybe none.
  std::span<const int> chosen = {}, chosen_begin = {};
  // The parity mode: weights of a block are rounded to bf16 before they meet the values, though not in their own sum.
  bool bf16_weights = false;
};

// Weighted means of slots, each channel with weights of its own: y[w] = Σ_s p_s · values[s] over the slots
// begin[w] .. begin[w + 1) of window w, at least one, with p the softmax over their gates.
struct ChannelPool {
  std::span<const float*const> values, gates;  // of each slot: [y.width]
  std::span<const int> begin;                  // [windows + 1]
  Rows y;                                      // [windows, channels]
};

// Scores of the lightning indexer: out[t][s] = Σ_h weights[t][h] · max(0, query[t][h] · key s), from position 0 on.
struct IndexScores {
  Rows query;                           // [rows, heads * dim]
  Rows weights;                         // [rows, heads]; may be negative
  std::span<const float* const> pages;  // as in LatentAttention, each position [dim] floats
  int heads = 0, dim = 0;
  Rows out;  // [rows, positions]: as many as are wanted
  // The parity mode: dots, their products with the weights and the plain sum of these are rounded to bf16.
  bool bf16 = false;
};

inline constexpr int kMostStreams = 16;  // of mix_streams

// The best columns of each row, in rising order: those of the `count` largest numbers, or sums of number and bias; ties
// go to the lower column, and NaN counts as -infinity.
struct Choice {
  Rows x;
  std::span<const float> bias;  // [x.width]; may be empty
  int count = 1;                // at most x.width
  // Columns come in `groups` groups of as many neighbours. The `groups_kept` best are those with the largest plain sum
  // of their two largest numbers; the numbers of the others become -infinity. Two columns a group at least.
  int groups = 1, groups_kept = 1;
  std::span<int> chosen;  // [rows, count]
};

// The weights of residual streams (DeepSeek-V4, 3.2), of each row from its own mixes m:
//   pre_i = σ(m_i · inverse_rms · scale_0 + base_i) + eps;  post_i = 2 σ(..), with scale_1;  c_jk of the rest, with
//   scale_2, and Sinkhorn's iteration: rows of softmax + eps, then columns and rows divided by their sums + eps in
//   turn, columns first and last.
struct StreamWeights {
  Rows mixes;                          // [rows, (2 + streams) * streams]: of pre, of post, of c
  Rows inverse_rms;                    // [rows, 1]
  std::span<const float> base, scale;  // [mixes.width], [3]
  int streams = 1, iterations = 1;     // at most kMostStreams
  float eps = 0;
  std::span<float> pre;  // [rows, streams]
  Rows weights;          // [rows, (1 + streams) * streams]: post, then c. Null data: mixes and scale are of pre alone
};

class Ops {
 public:
  virtual ~Ops() = default;

  // Products are independent; those that share x share its preparation. One pass over each weight serves all rows.
  virtual void matmul(std::span<const Product> products) = 0;
  // For each output column one fma chain over the rows of W in rising row.
  virtual void matmul_transposed(std::span<const Product> products) = 0;

  // Every run of as many numbers of a row as gain has is normalised on its own. y may be x.
  virtual void rms_norm(Rows x, const WeightView& gain, float eps, Rows y) = 0;
  virtual void inverse_rms(Rows x, float eps, Rows y) = 0;  // y [rows, 1] = 1 / sqrt(mean x² + eps)
  // Mean and variance over the whole row: ((x - mean) · (1 / sqrt(variance + eps))) · gain + bias. y may be x.
  virtual void layer_norm(Rows x, const WeightView& gain, const WeightView& bias, float eps, Rows y) = 0;
  // Every run of `width` numbers: x · (1 / sqrt(Σ x² + eps)), then times scale if scale is not 1. In place.
  virtual void l2_norm(Rows x, int width, float eps, float scale) = 0;
  virtual void add(Rows x, Rows y) = 0;              // y += x
  virtual void sigmoid(Rows x, Rows y) = 0;          // y = σ(x); y may be x
  virtual void gate_sigmoid(Rows gate, Rows y) = 0;  // y = y · σ(gate)
  // y = ((b1 · tanh(gate / b1)) · σ(gate)) · (b2 · tanh(up / b2)); y may be gate or up.
  virtual void situ(Rows gate, Rows up, float b1, float b2, Rows y) = 0;
  virtual void swiglu(Rows gate, Rows up, Rows y) = 0;  // y = (gate · σ(gate)) · up; y may be gate or up
  // The same of min(gate, limit) and of up clamped to ±limit.
  virtual void clamped_swiglu(Rows gate, Rows up, float limit, Rows y) = 0;
  virtual void sqrt_softplus(Rows x, Rows y) = 0;  // y = sqrt(log(1 + exp(x))); y may be x
  virtual void clamp(Rows x, float limit) = 0;     // x = min(max(x, -limit), limit); NaN stays
  virtual void softmax(Rows x) = 0;                // of each row, in place
  virtual void rope(const Rope& rope) = 0;
  // y[t] = Σ_k weights[t * per_row + k] · outputs[t * per_row + k], one fma chain from zero in rising k.
  virtual void weighted_sum(Rows outputs, std::span<const float> weights, int per_row, Rows y) = 0;

  // Attention residual (Kimi K3, 3.2). sources: n views [rows, width]; f = gain ⊙ projection, plain. For each row:
  // s_j = dot(v_j, f) · (1 / sqrt(dot(v_j, v_j) / width + eps)), softmax over j, y = Σ_j p_j · v_j. `weights` [rows, n]
  // receives p if its data is not null.
  virtual void attention_residual(std::span<const Rows> sources, const WeightView& gain, const WeightView& projection,
                                  float eps, Rows y, Rows weights) = 0;

  // Streams after a sub-layer (DeepSeek-V4, 3.2). x [rows, streams * width], output [rows, width]; weights of a row:
  // post [streams], then mix [streams j, streams k]. x[k] = post[k] · output + Σ_j mix[j][k] · x[j], in place: the
  // first product rounded, then an fma chain in rising j. At most kMostStreams streams.
  virtual void stream_weights(const StreamWeights& streams) = 0;
  virtual void mix_streams(Rows output, Rows weights, int streams, Rows x) = 0;
  virtual void pool(const ChannelPool& pool) = 0;

  // Causal depthwise convolution, then SiLU. taps [channels, kernel], tap kernel-1 meets the current row; history
  // [kernel - 1, channels] holds the previous inputs, oldest first, and is advanced. Rows are consecutive positions.
  virtual void short_conv(Rows x, std::span<const float> taps, int kernel, std::span<float> history, Rows y) = 0;
  // alpha[h,i] = exp(bound · σ(exp(a_log[h]) · (z[h,i] + dt_bias[h,i]))); rows [heads * dim], a_log has at least
  // `heads` entries.
  virtual void kda_decay(Rows z, std::span<const float> a_log, std::span<const float> dt_bias, float bound, int dim,
                         Rows alpha) = 0;
  virtual void kda_recurrence(const KdaStep& step) = 0;  // rows are consecutive positions, in order
  virtual void latent_attention(const LatentAttention& attention) = 0;
  virtual void head_attention(const HeadAttention& attention) = 0;
  virtual void window_attention(const WindowAttention& attention) = 0;
  virtual void index_scores(const IndexScores& scores) = 0;
  virtual void choose(const Choice& choice) = 0;
  // y_i = exp((x_i - largest) / divisor) in double, every step plain and exp by base/exact_math.h: what the
  // probabilities of a sampler are made of.
  virtual void exp_weights(std::span<const float> x, float largest, double divisor, std::span<double> y) = 0;
};

}  // namespace sluice
