// The slots of an expert store, for whoever decides how many there should be while a model runs.
#pragma once

#include <functional>
#include <memory>

#include "residency/expert_store.h"

namespace sluice {

class ResizableStore : public ExpertStore {
 public:
  // From now on it uses at most so many of its slots, at least 1: where fewer than before, what is too much goes as the
  // policy chooses, and the system gets its memory. What is leased stays, and its slot with it. Hints are forgotten.
  // Requires: no fetch is under way.
  virtual void resize(int slots) = 0;
  virtual int slots() const = 0;   // that it may use
  virtual int filled() const = 0;  // of these, with something in them or on its way
};

// As make_expert_store.
std::unique_ptr<ResizableStore> make_resizable_store(const ExpertTable& experts, int slot_count,
                                                     std::unique_ptr<EvictionPolicy> policy, ReadQueue& queue,
                                                     std::function<BlockSpec(int layer, int expert)> spec = {});

}  // namespace sluice
