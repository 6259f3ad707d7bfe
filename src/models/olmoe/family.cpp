// See family.h.
#include "models/olmoe/family.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "models/olmoe/census.h"
#include "models/olmoe/chat.h"
#include "models/olmoe/config.h"
#include "models/olmoe/forward.h"
#include "models/olmoe/tokenizer.h"

namespace sluice::olmoe {

namespace {

class Family final : public ModelConfig {
 public:
  explicit Family(OlmoeConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "olmoe"; }
  std::string summary() const override {
    return fmt::format("{}, width {}, {} heads over {} of keys and values, {} experts of which {} work on a token",
                       counted(config_.num_hidden_layers, "layer"), config_.hidden_size, config_.num_attention_heads,
                       config_.num_key_value_heads, config_.num_experts, config_.num_experts_per_tok);
  }
  int layers() const override { return config_.num_hidden_layers; }
  int vocab_size() const override { return config_.vocab_size; }
  int hidden_size() const override { return config_.hidden_size; }
  int max_context() const override { return config_.max_position_embeddings; }
  std::span<const int> stop_ids() const override { return config_.stop_ids; }
  int experts_per_token() const override { return config_.num_experts_per_tok; }
  std::string_view tokenizer_file() const override { return kTokenizerFile; }
  Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& directory) const override {
    return olmoe::open_tokenizer(directory, config_.vocab_size);
  }
  Result<std::unique_ptr<ChatFormat>> open_chat(const Tokenizer& tokenizer, const std::string&) const override {
    if (config_.stop_ids.empty())
      return fail(ErrorKind::bad_input, "config.json has no eos_token_id, with which every answer ends",
                  "give the prompt as raw text, or add it");
    return olmoe::open_chat(tokenizer, config_.stop_ids.front());
  }

  Census census(ModelScope scope) const override { return olmoe::census(config_, scope.layers); }
  StateShape full_state_shape(ModelScope scope) const override { return Olmoe::state_shape(config_, scope.layers); }
  int widest_input() const override { return std::max(config_.hidden_size, config_.intermediate_size); }
  std::uint64_t scratch_bytes(ModelScope, int max_rows) const override {
    return Olmoe::scratch_bytes(config_, max_rows);
  }
  std::unique_ptr<Model> open(ModelScope scope, int max_rows, const ModelParts& parts) const override {
    return std::make_unique<Olmoe>(config_, scope.layers, max_rows, parts);
  }

 private:
  OlmoeConfig config_;
};

}  // namespace

bool accepts(std::string_view model_type) { return model_type == "olmoe"; }

Result<std::unique_ptr<ModelConfig>> open_config(std::string_view json, std::string_view where) {
  TRY_TAKE(OlmoeConfig config, parse_config(json, where));
  return std::make_unique<Family>(std::move(config));
}

}  // namespace sluice::olmoe
