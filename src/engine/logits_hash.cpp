// See logits_hash.h.
#include "engine/logits_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>

namespace sluice {

static_assert(std::endian::native == std::endian::little, "the hash is defined over little-endian bits");

struct LogitsHash::State {
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> xxh{XXH3_createState()};
};

LogitsHash::LogitsHash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(state_->xxh.get()); }
LogitsHash::~LogitsHash() = default;

void LogitsHash::add(std::span<const float> logits) {
  std::array<float, 1024> block;
  while (!logits.empty()) {
    const std::size_t count = std::min(logits.size(), block.size());
    std::ranges::transform(logits.first(count), block.begin(), [](float logit) { return logit + 0.0f; });  // -0 + 0 = 0
    XXH3_64bits_update(state_->xxh.get(), block.data(), count * sizeof(float));
    logits = logits.subspan(count);
  }
}

std::string LogitsHash::hex() const { return fmt::format("{:016x}", XXH3_64bits_digest(state_->xxh.get())); }

}  // namespace sluice
