// See family.h.
#include "models/deepseek_v4/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/counted.h"
#include "models/deepseek_v4/census.h"
#include "models/deepseek_v4/chat.h"
#include "models/deepseek_v4/config.h"
#include "models/deepseek_v4/forward.h"
#include "models/deepseek_v4/tokenizer.h"

namespace sluice::deepseek_v4 {

namespace {

class Family final : public ModelConfig {
 public:
  explicit Family(V4Config config) : config_(std::move(config)) {}

  std::string_view family() const override { return "deepseek-v4"; }
  std::string summary() const override {
    const auto indexed = std::ranges::count(config_.compress_ratios, kIndexedRatio);
    const auto windows = std::ranges::count(config_.compress_ratios, 0);
    const char* const draft = config_.has_dspark         ? ", DSpark stages that are left out"
                              : config_.has_draft_head() ? ", a head that drafts"
                                                         : "";
    return fmt::format(
        "deepseek_v4: {} ({} with an indexer, {} with a window alone), width {}, {} experts of "
        "which {} work on a token{}",
        counted(config_.num_hidden_layers, "layer"), indexed, windows, config_.hidden_size, config_.n_routed_experts,
        config_.num_experts_per_tok, draft);
  }
  int layers() const override { return config_.num_hidden_layers; }
  int vocab_size() const override { return config_.vocab_size; }
  int hidden_size() const override { return config_.hidden_size; }
  int max_context() const override { return config_.max_position_embeddings; }
  std::span<const int> stop_ids() const override { return config_.stop_ids; }
  int experts_per_token() const override { return config_.num_experts_per_tok; }
  bool has_draft_head() const override { return config_.has_draft_head(); }
  int draft_width() const override { return config_.streams_width(); }
  Result<> parity_mode() const override {
    if (std::has_single_bit(static_cast<unsigned>(config_.index_head_dim)) || config_.index_head_dim == 0) return {};
    return fail(ErrorKind::unsupported,
                fmt::format("this model has no parity mode: its release would turn index vectors of {} numbers, which "
                            "must be a power of two",
                            config_.index_head_dim));
  }
  std::string_view tokenizer_file() const override { return kTokenizerFile; }
  Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory) const override {
    return deepseek_v4::open_tokenizer(directory, config_.vocab_size);
  }
  Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer,
                                                const std::string& directory) const override {
    return deepseek_v4::open_chat(tokenizer, directory);
  }
  Census census(ModelScope scope) const override { return deepseek_v4::census(config_, scope); }
  StateShape full_state_shape(ModelScope scope) const override {
    return DeepseekV4::state_shape(config_, scope.layers);
  }
  StateShape draft_state_shape() const override { return Mtp::state_shape(config_); }

  int widest_input() const override {
    return std::max({config_.streams_width(), config_.q_lora_rank, config_.group_width(), config_.o_width(),
                     config_.moe_intermediate_size, config_.head_dim, config_.index_head_dim});
  }
  std::uint64_t scratch_bytes(ModelScope scope, int max_rows) const override {
    return DeepseekV4::scratch_bytes(config_, scope, max_rows);
  }
  std::unique_ptr<Model> open(ModelScope scope, int max_rows, const ModelParts& parts) const override {
    return std::make_unique<DeepseekV4>(config_, scope, max_rows, parts);
  }

 private:
  V4Config config_;
};

}  // namespace

bool accepts(std::string_view model_type) { return knows(model_type); }

Result<std::unique_ptr<ModelConfig>> open_config(std::string_view json, std::string_view where) {
  TRY_TAKE(V4Config config, parse_config(json, where));
  return std::make_unique<Family>(std::move(config));
}

}  // namespace sluice::deepseek_v4
