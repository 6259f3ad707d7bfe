// See family.h.
#include "models/glm_dsa/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "models/glm_dsa/census.h"
#include "models/glm_dsa/chat.h"
#include "models/glm_dsa/config.h"
#include "models/glm_dsa/forward.h"
#include "models/glm_dsa/tokenizer.h"

namespace sluice::glm_dsa {

namespace {

class Family final : public ModelConfig {
 public:
  explicit Family(GlmConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "glm"; }
  std::string summary() const override {
    const auto dense = std::ranges::count(config_.is_dense, true);
    return fmt::format("{}: {} ({} dense), width {}, {} experts of which {} work on a token{}", config_.model_type,
                       counted(config_.num_hidden_layers, "layer"), dense, config_.hidden_size,
                       config_.n_routed_experts, config_.num_experts_per_tok,
                       config_.has_draft_head() ? ", a head that drafts" : "");
  }
  int layers() const override { return config_.num_hidden_layers; }
  int vocab_size() const override { return config_.vocab_size; }
  int hidden_size() const override { return config_.hidden_size; }
  int max_context() const override { return config_.max_position_embeddings; }
  std::span<const int> stop_ids() const override { return config_.stop_ids; }
  int experts_per_token() const override { return config_.num_experts_per_tok; }
  bool has_draft_head() const override { return config_.has_draft_head(); }
  std::string_view tokenizer_file() const override { return kTokenizerFile; }
  Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory) const override {
    return glm_dsa::open_tokenizer(directory, config_.vocab_size);
  }
  Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer,
                                                const std::string& directory) const override {
    if (config_.model_type != "glm_moe_dsa")
      return fail(ErrorKind::unsupported,
                  fmt::format("{}: the chat format of {} is not built in, only GLM's", directory, config_.model_type),
                  "plain text and ids can be run");
    return glm_dsa::open_chat(tokenizer, directory);
  }
  Census census(ModelScope scope) const override { return glm_dsa::census(config_, scope); }
  StateShape full_state_shape(ModelScope scope) const override { return Glm::state_shape(config_, scope.layers); }
  StateShape draft_state_shape() const override { return Mtp::state_shape(config_); }

  int widest_input() const override {
    return std::max({2 * config_.hidden_size, config_.intermediate_size,
                     config_.num_attention_heads * config_.v_head_dim, config_.q_lora_rank, config_.kv_lora_rank,
                     config_.index_head_dim, config_.shared_inner(), config_.moe_intermediate_size});
  }
  std::uint64_t scratch_bytes(ModelScope, int max_rows) const override { return Glm::scratch_bytes(config_, max_rows); }
  std::unique_ptr<Model> open(ModelScope scope, int max_rows, const ModelParts& parts) const override {
    return std::make_unique<Glm>(config_, scope, max_rows, parts);
  }

 private:
  GlmConfig config_;
};

}  // namespace

bool accepts(std::string_view model_type) { return knows(model_type); }

Result<std::unique_ptr<ModelConfig>> open_config(std::string_view json, std::string_view where) {
  TRY_TAKE(GlmConfig config, parse_config(json, where));
  return std::make_unique<Family>(std::move(config));
}

}  // namespace sluice::glm_dsa
