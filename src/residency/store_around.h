// An expert store around another one: passes everything on, for those that watch or count some of it.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "residency/expert_store.h"

namespace sluice {

class StoreAround : public ExpertStore {
 public:
  explicit StoreAround(std::unique_ptr<ExpertStore> inside) : inside_(std::move(inside)) {}
  std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) override {
    return inside_->fetch(layer, uses);
  }
  void hint(int layer, std::span<const ExpertUse> uses) override { inside_->hint(layer, uses); }
  void expect(int layer, std::span<const int> experts) override { inside_->expect(layer, experts); }
  void preload(std::vector<ExpertKey> experts, PreloadPace pace) override {
    inside_->preload(std::move(experts), pace);
  }
  bool tend() override { return inside_->tend(); }
  ExpertStats stats() const override { return inside_->stats(); }

 private:
  std::unique_ptr<ExpertStore> inside_;
};

}  // namespace sluice
