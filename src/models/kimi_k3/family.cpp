// See family.h.
#include "models/kimi_k3/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "models/kimi_k3/census.h"
#include "models/kimi_k3/chat.h"
#include "models/kimi_k3/config.h"
#include "models/kimi_k3/forward.h"
#include "models/kimi_k3/tokenizer.h"

namespace sluice::kimi_k3 {

namespace {

class Family final : public ModelConfig {
 public:
  explicit Family(KimiK3Config config) : config_(std::move(config)) {}

  std::string_view family() const override { return "kimi-k3"; }
  std::string summary() const override {
    return fmt::format("{} ({} MLA), width {}, {} experts of which {} work on a token",
                       counted(config_.num_hidden_layers, "layer"), std::ranges::count(config_.is_mla, true),
                       config_.hidden_size, config_.num_experts, config_.num_experts_per_token);
  }
  int layers() const override { return config_.num_hidden_layers; }
  int vocab_size() const override { return config_.vocab_size; }
  int max_context() const override { return config_.max_position_embeddings; }
  std::span<const int> stop_ids() const override { return config_.stop_ids; }
  int experts_per_token() const override { return config_.num_experts_per_token; }
  std::string_view tokenizer_file() const override { return "tiktoken.model"; }
  Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory) const override {
    return kimi_k3::open_tokenizer(directory, config_.vocab_size);
  }
  Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, const std::string&) const override {
    return kimi_k3::open_chat(tokenizer);
  }
  int hidden_size() const override { return config_.hidden_size; }
  Census census(ModelScope scope) const override { return kimi_k3::census(config_, scope.layers); }

  StateShape full_state_shape(ModelScope scope) const override {
    StateShape shape;
    for (int layer = 0; layer < scope.layers; ++layer) {
      const bool mla = config_.is_mla[static_cast<std::size_t>(layer)];
      shape.recurrent_floats.push_back(mla ? 0 : Kda::state_floats(config_));
      shape.logs.push_back(mla ? config_.latent_width() : 0);
    }
    return shape;
  }

  int widest_input() const override {
    return std::max({config_.hidden_size, config_.intermediate_size, config_.kda_width(),
                     config_.num_attention_heads * config_.v_head_dim, config_.q_lora_rank, config_.kv_lora_rank,
                     config_.num_shared_experts * config_.moe_intermediate_size, config_.routed_expert_hidden_size});
  }
  std::uint64_t scratch_bytes(ModelScope scope, int max_rows) const override {
    return KimiK3::scratch_bytes(config_, scope.layers, max_rows);
  }
  std::unique_ptr<Model> open(ModelScope scope, int max_rows, const ModelParts& parts) const override {
    return std::make_unique<KimiK3>(config_, scope.layers, max_rows, parts);
  }

 private:
  KimiK3Config config_;
};

}  // namespace

bool accepts(std::string_view model_type) { return model_type == "kimi_k3"; }

Result<std::unique_ptr<ModelConfig>> open_config(std::string_view json, std::string_view where) {
  TRY_TAKE(KimiK3Config config, parse_config(json, where));
  return std::make_unique<Family>(std::move(config));
}

}  // namespace sluice::kimi_k3
