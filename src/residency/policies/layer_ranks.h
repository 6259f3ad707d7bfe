// Residents ordered by layer: finds the worst of thousands of slots without looking at them.
//
// What an expert is worth changes when its layer is visited; between two visits only the distance to the next one does,
// and that is the same for all experts of the layer. So within a layer the order stands, and the worst resident of all
// is the worst of some layer: a request costs the residents of one layer and one look at each layer, an eviction
// log(residents of a layer) + log(layers).
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/function_ref.h"
#include "residency/policy.h"

namespace sluice {

// 1 .. layers: how many layers on a layer comes round again.
inline int layers_until(int layer, int now, int layers) { return (layer - now + layers - 1) % layers + 1; }

class LayerRanks {
 public:
  explicit LayerRanks(int layers) : layers_(static_cast<std::size_t>(layers)) {}

  void requested(int layer) {  // the values of its experts have changed, and every layer's distance
    forget_ranking();
    at(layer).ordered = false;
  }
  void filled(int slot, ExpertKey key);

  // value_of(key): within a layer the smallest goes first, then the lowest expert. score_of(layer, value): among the
  // worst of each layer the largest goes first, then the lowest layer. While a request goes on, what it has brought in
  // goes only when nothing else may.
  template <class ValueOf, class ScoreOf>
  int victim(FunctionRef<bool(int slot)> may_go, ValueOf value_of, ScoreOf score_of) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (!ranked_) rank(value_of, score_of);
      while (!heads_.empty()) {
        const Resident chosen = take_worst(score_of);
        if (may_go(chosen.slot)) {
          where_[static_cast<std::size_t>(chosen.slot)] = kNowhere;
          return chosen.slot;
        }
        set_aside_.push_back(chosen.slot);
      }
      forget_ranking();  // those in use before may have come free
    }
    SLUICE_CHECK(false);  // no filled slot may go
    return -1;
  }

 private:
  static constexpr ExpertKey kNowhere{-1, -1};
  struct Resident {
    double value = 0;
    int expert = 0, slot = 0;
    // As heap order: the largest is the one to go.
    bool operator<(const Resident& other) const {
      return value != other.value ? value > other.value : expert > other.expert;
    }
  };
  struct Layer {
    std::vector<Resident> residents;  // a heap if ordered
    bool ordered = false;
  };
  struct Head {
    double score = 0;
    int layer = 0;
    bool operator<(const Head& other) const { return score != other.score ? score < other.score : layer > other.layer; }
  };

  Layer& at(int layer) { return layers_[static_cast<std::size_t>(layer)]; }
  // Every resident back in its layer.
  void forget_ranking();
  void forget(int slot);

  template <class ValueOf, class ScoreOf>
  void rank(ValueOf value_of, ScoreOf score_of) {
    ranked_ = true;
    heads_.clear();
    for (int number = 0; number < static_cast<int>(layers_.size()); ++number) {
      Layer& layer = at(number);
      if (layer.residents.empty()) continue;
      if (!std::exchange(layer.ordered, true)) {
        for (Resident& resident : layer.residents) resident.value = value_of(ExpertKey{number, resident.expert});
        std::make_heap(layer.residents.begin(), layer.residents.end());
      }
      heads_.push_back({score_of(number, layer.residents.front().value), number});
    }
    std::make_heap(heads_.begin(), heads_.end());
  }
  template <class ScoreOf>
  Resident take_worst(ScoreOf score_of) {
    std::pop_heap(heads_.begin(), heads_.end());
    Head& head = heads_.back();
    std::vector<Resident>& residents = at(head.layer).residents;
    std::pop_heap(residents.begin(), residents.end());
    const Resident worst = residents.back();
    residents.pop_back();
    if (residents.empty()) {
      heads_.pop_back();
    } else {
      head.score = score_of(head.layer, residents.front().value);
      std::push_heap(heads_.begin(), heads_.end());
    }
    return worst;
  }

  std::vector<Layer> layers_;
  std::vector<ExpertKey> where_;  // by slot
  bool ranked_ = false;
  std::vector<Head> heads_;     // a heap, one for each layer with residents; valid while ranked
  std::vector<int> set_aside_;  // slots in no layer until the ranking is forgotten: in use, or filled since
};

}  // namespace sluice
