// Which expert goes when a slot is needed: pure bookkeeping without bytes, threads or a clock.
//
// The engine and the trace simulator run the same objects, so their miss counts agree exactly. A policy cannot choose a
// slot that is in use or incoming: it is only shown the others. A new policy is a file in policies/ and one line in the
// list in policy.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sluice {

struct ExpertKey {
  int layer = 0, expert = 0;
  bool operator==(const ExpertKey&) const = default;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // A layer's request begins: called once per (step, layer) with all experts that will be used, resident or not.
  virtual void requested(int layer, std::span<const int> experts) = 0;
  virtual void filled(int slot, ExpertKey key) = 0;        // the slot now holds this expert
  virtual int victim(std::span<const int> evictable) = 0;  // one of these slots; never empty
};

struct PolicyShape {
  int layers = 0, experts = 0, slots = 0;
};

// "default" is the shipped one. Null if there is no such policy.
std::unique_ptr<EvictionPolicy> make_policy(std::string_view name, PolicyShape shape);
std::span<const std::string_view> policy_names();

}  // namespace sluice
