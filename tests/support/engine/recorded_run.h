// Runs a checkpoint through the engine and keeps everything that goldens speak of.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace sluice::test {

struct RecordedRun {
  // By position.
  std::vector<std::vector<float>> logits;                 // empty where they were not asked for (inside a chunk)
  std::vector<std::vector<std::vector<float>>> residual;  // [position][layer] residual stream after the layer
  std::vector<std::vector<std::vector<Route>>> routes;    // [position][layer], empty for layers without experts
};

class Runner {
 public:
  // Throws the error's sentence if the engine cannot be opened.
  Runner(const std::string& directory, const EngineOptions& options);

  // Feeds tokens to the sequence, `chunk` rows at a time (0: as the plan says); logits are those of each chunk's last
  // row.
  void feed(std::span<const int> tokens, int chunk = 0);
  // Feeds its own argmax `count` times, after the tokens fed so far; returns the ids it chose.
  std::vector<int> greedy(int count);
  void restart();  // a new sequence; the record is emptied

  const RecordedRun& record() const { return record_; }
  SequenceState& state() { return *state_; }
  Engine& engine() { return *engine_; }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<SequenceState> state_;
  RecordedRun record_;
};

// A budget in which everything is resident, and the least that runs.
std::uint64_t resident_budget(const std::string& directory, const EngineOptions& options = {});
std::uint64_t minimum_budget(const std::string& directory, const EngineOptions& options = {});

int argmax(std::span<const float> values);  // ties: lower index

}  // namespace sluice::test
