// The operations on the CPU: cuts each into parts, gives the parts to threads, and lets the kernels of one instruction
// set compute them.
//
// No cut changes a result: every number is made whole by one kernel call. Small work runs on the calling thread, since
// a parallel loop costs about a microsecond. All products of a call share one loop. Used by one thread at a time.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "compute/fast_format.h"
#include "compute/kernel_table.h"
#include "compute/ops.h"
#include "io/aligned.h"

namespace sluice {

inline constexpr double kMacsPerNanosecond = 30;  // of one core, about: for cutting work

class CpuOps final : public Ops {
 public:
  // What the scratch memory must hold: vectors of one matmul, columns of its widest weight, in the form of a mode; and
  // two stored vectors as wide.
  struct Limits {
    int rows = 1, width = 0;
    Numerics numerics = Numerics::exact;
  };
  // The most that an instance ever touches; less than a part of it stays resident while batches are small.
  static std::uint64_t scratch_bytes(Limits limits, int threads);

  // two_fmas: as the machine is, but for tests, which try both.
  CpuOps(ThreadPool& pool, const KernelTable& kernels, Limits limits, bool two_fmas = two_fmas_a_cycle());

  void matmul(std::span<const Product> products) override;
  void matmul_transposed(std::span<const Product> products) override;
  void rms_norm(Rows x, const WeightView& gain, float eps, Rows y) override;
  void inverse_rms(Rows x, float eps, Rows y) override;
  void layer_norm(Rows x, const WeightView& gain, const WeightView& bias, float eps, Rows y) override;
  void l2_norm(Rows x, int width, float eps, float scale) override;
  void add(Rows x, Rows y) override;
  void sigmoid(Rows x, Rows y) override;
  void gate_sigmoid(Rows gate, Rows y) override;
  void situ(Rows gate, Rows up, float b1, float b2, Rows y) override;
  void swiglu(Rows gate, Rows up, Rows y) override;
  void clamped_swiglu(Rows gate, Rows up, float limit, Rows y) override;
  void sqrt_softplus(Rows x, Rows y) override;
  void clamp(Rows x, float limit) override;
  void softmax(Rows x) override;
  void rope(const Rope& rope) override;
  void weighted_sum(Rows outputs, std::span<const float> weights, int per_row, Rows y) override;
  void attention_residual(std::span<const Rows> sources, const WeightView& gain, const WeightView& projection,
                          float eps, Rows y, Rows weights) override;
  void stream_weights(const StreamWeights& streams) override;
  void mix_streams(Rows output, Rows weights, int streams, Rows x) override;
  void pool(const ChannelPool& pool) override;
  void short_conv(Rows x, std::span<const float> taps, int kernel, std::span<float> history, Rows y) override;
  void kda_decay(Rows z, std::span<const float> a_log, std::span<const float> dt_bias, float bound, int dim,
                 Rows alpha) override;
  void kda_recurrence(const KdaStep& step) override;
  void latent_attention(const LatentAttention& attention) override;
  void head_attention(const HeadAttention& attention) override;
  void window_attention(const WindowAttention& attention) override;
  void index_scores(const IndexScores& scores) override;
  void choose(const Choice& choice) override;
  void exp_weights(std::span<const float> x, float largest, double divisor, std::span<double> y) override;

 private:
  enum class Form { floats, nibbles, bytes };  // how a matrix wants its vectors: as MatmulPart or FastPart
  struct Packed {  // vectors [first_row, first_row + x.rows) of an input, and where they lie packed
    Rows x;
    Form form;
    float* panels;
  };
  struct Item {  // one product by one block of vectors, in parts of `outs_per_part` output rows
    const Product* product;
    int first_row, rows;
    Form form;
    const float* panels;
    int outs_per_part, parts_before;  // parts of the items before this one
  };

  // Attention of `groups` groups of heads; the `sharing` heads of a group read the same keys and values.
  struct AttentionShape {
    Rows query;
    int groups, sharing, width, value_width;
    std::int64_t row, values;  // floats of a position; where its values begin
    float scale;
    Rows out;
    double seen;  // keys of a row, about
    std::span<const float> sinks = {};
  };

  void run(int tasks, double nanoseconds_each, FunctionRef<void(int first, int last)> body);
  void along_rows(int rows, int width, double nanoseconds_per_number,
                  FunctionRef<void(int row, int first, int count)> body);
  Form form_of(const WeightView& w) const;
  static std::uint64_t floats_of(Form form, int cols);  // of one packed vector
  int outs_per_part(const Item& item, double nanoseconds) const;
  bool take(const Product& product, int first_row, int rows);
  void flush();
  void pack();
  void multiply(const Item& item, int part) const;
  bool in_tiles(int rows) const { return kernels_.panel_rows(rows, two_fmas_) == kPanelRows; }
  float* sums() const;
  // The numbers of a stored vector: where they lie if that is as fp32 numbers, else in room 0 or 1 of the scratch
  // memory.
  const float* numbers_of(const WeightView& stored, int room);
  float* make_numbers(const WeightView& stored, int room);
  // see(row, part): which keys the row sees.
  void attend(const AttentionShape& shape, FunctionRef<void(int row, AttentionPart& part)> see);

  ThreadPool& pool_;
  const KernelTable& kernels_;
  Numerics numerics_;
  bool two_fmas_;
  std::uint64_t packed_floats_;  // room for packed vectors; stored vectors and sums of the threads follow
  std::uint64_t vector_floats_;  // of one stored vector
  PageArena scratch_;
  std::uint64_t used_floats_ = 0;
  std::vector<Packed> packed_;
  std::vector<Item> items_;
  std::vector<const float*> sources_;
  std::vector<float> softmax_, choices_;
};

}  // namespace sluice
