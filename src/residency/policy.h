// Which expert goes when a slot is needed: pure bookkeeping without bytes, threads or a clock.
//
// The engine and the trace replay run the same objects, so their miss counts agree exactly. A policy cannot choose a
// slot that is in use or incoming: it asks before it names one. What was used by the request before is fair game, so a
// policy may turn a newcomer away at once. A new policy is a file in policies/ and one line in the list in policy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/function_ref.h"

namespace sluice {

struct ExpertKey {
  int layer = 0, expert = 0;
  bool operator==(const ExpertKey&) const = default;
};

// Its place in a table [layers * experts].
inline std::size_t index_of(ExpertKey key, int experts) {
  return static_cast<std::size_t>(key.layer) * static_cast<std::size_t>(experts) + static_cast<std::size_t>(key.expert);
}

// An expert of a request and how many rows of the batch chose it: in a prefill chunk the difference between an expert
// that the text needs and one that a single token met.
struct ExpertUse {
  int expert = 0, rows = 1;
  bool operator==(const ExpertUse&) const = default;
};

class EvictionPolicy {
 public:
  virtual ~EvictionPolicy() = default;
  // Before all else, if anything is known: what earlier runs used, [layers * experts]. It may mislead.
  virtual void begin_with(std::span<const std::uint32_t> uses) { static_cast<void>(uses); }
  // A layer's request begins: called once per (step, layer) with all experts that will be used, resident or not.
  virtual void requested(int layer, std::span<const ExpertUse> uses) = 0;
  virtual void filled(int slot, ExpertKey key) = 0;  // the slot now holds this expert; slot >= 0
  // The filled slot that goes; it holds nothing afterwards. Requires: may_go is true for one of them at least.
  virtual int victim(FunctionRef<bool(int slot)> may_go) = 0;
  // A request for text has ended, and no pass is under way: for what is to change rarely.
  virtual void between_turns() {}
};

struct PolicyShape {
  int layers = 0, experts = 0;
  int slots = 0;         // about how many experts stay from one request to the next
  int top_k = 1;         // experts of one row in one layer
  int pin_percent = 25;  // of the slots: of policies that pin
};

inline constexpr int kMostPinPercent = 50;  // the others are what a policy chooses with

// "default" is the shipped one. Null if there is no such policy.
std::unique_ptr<EvictionPolicy> make_policy(std::string_view name, PolicyShape shape);
std::span<const std::string_view> policy_names();

// What any of them keeps in memory for each expert of the model, resident or not.
inline constexpr std::uint64_t kPolicyBytesPerExpert = 40;

}  // namespace sluice
