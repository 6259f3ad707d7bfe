// oneDNN's matrix product as one more way to multiply: bf16 or f32 weights in the layout that it likes best, which
// costs a copy of them beforehand. Of bf16 weights it wants bf16 vectors: rounding them is part of a product, as in
// ggml.
#pragma once

#include <omp.h>

#include <dnnl.hpp>
#include <unordered_map>

#include "peer/same_weights.h"

namespace peer {

class OneDnn final : public Contender {
 public:
  OneDnn(const Weights& weights, bool bf16, int outs, Rows x) {
    name = "oneDNN";
    bytes_of_one = weights.bytes_of_one();
    const auto type = bf16 ? Memory::data_type::bf16 : Memory::data_type::f32;
    const Description source({x.rows, x.width}, type, Memory::format_tag::ab);
    const Description result({x.rows, outs}, Memory::data_type::f32, Memory::format_tag::ab);
    const Description any({x.width, outs}, type, Memory::format_tag::any);
    const Description stored({x.width, outs}, type, Memory::format_tag::ba);  // as in the checkpoint: [outs, cols]
    const dnnl::matmul::primitive_desc description({source, any, result}, engine_);
    product_ = dnnl::matmul(description);
    x_ = Memory({{x.rows, x.width}, Memory::data_type::f32, Memory::format_tag::ab}, engine_, x.data);
    rounded_ = bf16 ? Memory(source, engine_) : x_;
    if (bf16) rounding_ = dnnl::reorder(x_, rounded_);
    values_.resize(static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(outs));
    y_ = Memory(result, engine_, values_.data());
    for (int i = 0; i < weights.count(); ++i) {
      Memory plain(stored, engine_, const_cast<std::byte*>(weights[i].weights));
      weights_.emplace_back(description.weights_desc(), engine_);
      dnnl::reorder(plain, weights_.back()).execute(stream_, plain, weights_.back());
    }
    stream_.wait();
  }
  void multiply(int first, int count) override {
    for (int i = 0; i < count; ++i) {
      if (rounding_) rounding_.execute(stream_, x_, rounded_);
      const Memory& w = weights_[static_cast<std::size_t>(first + i) % weights_.size()];
      product_.execute(stream_, {{DNNL_ARG_SRC, rounded_}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y_}});
    }
    stream_.wait();
  }
  std::span<const float> result() override { return values_; }

 private:
  using Memory = dnnl::memory;
  using Description = dnnl::memory::desc;

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::matmul product_;
  dnnl::reorder rounding_;
  Memory x_, rounded_, y_;
  std::vector<Memory> weights_;
  std::vector<float> values_;
};

}  // namespace peer
