// See recorded_run.h.
#include "support/engine/recorded_run.h"

#include <algorithm>

#include "support/must.h"

namespace sluice::test {

Runner::Runner(const std::string& directory, const EngineOptions& options) {
  Survey found = must(survey(must(know_model(directory)), options));
  const MemoryPlan plan = must(plan_memory(found));
  engine_ = must(Engine::open(std::move(found), plan));
  const auto layers = static_cast<std::size_t>(engine_->options().layers);
  engine_->observe(
      [this](int layer, const Routes& routes) {
        const std::size_t first = record_.routes.size() - static_cast<std::size_t>(routes.rows);
        for (int row = 0; row < routes.rows; ++row) {
          const std::span<const Route> chosen = routes.of(row);
          record_.routes[first + static_cast<std::size_t>(row)][static_cast<std::size_t>(layer)].assign(chosen.begin(),
                                                                                                        chosen.end());
        }
      },
      [this, layers](int layer, Rows residual) {
        const std::size_t first = record_.residual.size() - static_cast<std::size_t>(residual.rows);
        for (int row = 0; row < residual.rows; ++row) {
          auto& of_position = record_.residual[first + static_cast<std::size_t>(row)];
          of_position.resize(layers);
          of_position[static_cast<std::size_t>(layer)].assign(residual[row].begin(), residual[row].end());
        }
      });
  restart();
}

void Runner::restart() {
  state_ = engine_->new_state();
  record_ = {};
}

void Runner::feed(std::span<const int> tokens, int chunk) {
  const auto layers = static_cast<std::size_t>(engine_->options().layers);
  const auto most = static_cast<std::size_t>(chunk > 0 ? chunk : engine_->plan().prefill_chunk);
  while (!tokens.empty()) {
    const std::size_t rows = std::min(tokens.size(), most);
    for (std::size_t row = 0; row < rows; ++row) {
      record_.logits.emplace_back();
      record_.residual.emplace_back(layers);
      record_.routes.emplace_back(layers);
    }
    must(engine_->step(*state_, tokens.first(rows), true));
    record_.logits.back().assign(engine_->last_logits().begin(), engine_->last_logits().end());
    tokens = tokens.subspan(rows);
  }
}

std::vector<int> Runner::greedy(int count) {
  std::vector<int> ids;
  for (int step = 0; step < count; ++step) {
    ids.push_back(argmax(record_.logits.back()));
    feed({&ids.back(), 1});
  }
  return ids;
}

std::uint64_t resident_budget(const std::string& directory, const EngineOptions& options) {
  return resident_bytes(must(survey(must(know_model(directory)), options)).needs);
}
std::uint64_t minimum_budget(const std::string& directory, const EngineOptions& options) {
  return minimum_bytes(must(survey(must(know_model(directory)), options)).needs);
}

int argmax(std::span<const float> values) {
  return static_cast<int>(std::ranges::max_element(values) - values.begin());
}

}  // namespace sluice::test
