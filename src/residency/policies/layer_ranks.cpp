// See layer_ranks.h.
#include "residency/policies/layer_ranks.h"

namespace sluice {

void LayerRanks::filled(int slot, ExpertKey key) {
  const auto index = static_cast<std::size_t>(slot);
  if (index >= where_.size()) where_.resize(index + 1, kNowhere);
  if (where_[index] != kNowhere) forget(slot);  // the read of what was to be there failed
  where_[index] = key;
  set_aside_.push_back(slot);
  if (!ranked_) forget_ranking();
}

void LayerRanks::forget_ranking() {
  ranked_ = false;
  for (const int slot : set_aside_) {
    const ExpertKey key = where_[static_cast<std::size_t>(slot)];
    at(key.layer).residents.push_back({0, key.expert, slot});
    at(key.layer).ordered = false;
  }
  set_aside_.clear();
}

void LayerRanks::forget(int slot) {
  forget_ranking();
  Layer& layer = at(where_[static_cast<std::size_t>(slot)].layer);
  std::erase_if(layer.residents, [&](const Resident& resident) { return resident.slot == slot; });
  layer.ordered = false;
}

}  // namespace sluice
