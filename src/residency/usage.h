// How often each expert of a checkpoint was used, over all its runs: what a cache is filled with before anybody asks.
//
// It decides what is read while the disk is idle and what a policy begins with, so it may be wrong, old or lost. The
// file is small (4 bytes for each expert), versioned, tied to its checkpoint and checked; it gets its name only when it
// is whole. Several runs may write it: each adds what it counted to what is there.
//
// A run may know fewer layers than the file (the first ones, or without the head that drafts) or more: what the file
// says of the others is kept.
//
//   "sluice usage 1 KEY LAYERS EXPERTS\n", then LAYERS * EXPERTS counts as little-endian u32, then XXH3-64 of all that
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "residency/expert_store.h"
#include "residency/policy.h"

namespace sluice {

class ExpertUsage {
 public:
  ExpertUsage(int layers, int experts);

  int layers() const { return layers_; }
  int experts() const { return experts_; }
  std::span<const std::uint32_t> counts() const { return counts_; }  // [layers * experts]
  bool empty() const { return total_ == 0; }

  void add(int layer, std::span<const ExpertUse> uses);  // each row that chose it counts
  void add(std::span<const std::uint32_t> counts);       // [layers * experts]
  void clear();
  // Used experts, most used first, then by layer and expert. At most `most` of them.
  std::vector<ExpertKey> hottest(std::size_t most) const;

 private:
  void fade();  // so that what is in use today outweighs what was in use long ago, and counts stay counts

  int layers_, experts_;
  std::vector<std::uint32_t> counts_;
  std::uint64_t total_ = 0;
};

// What a file with these names means: whose it is.
struct UsageOwner {
  std::string key;  // of the checkpoint: letters and digits
  int layers = 0, experts = 0;
};

enum class UsageFate {
  good,
  absent,   // there is no such file yet
  useless,  // damaged, cut short or of another version: it may be written anew
  foreign,  // another checkpoint's, or not a file of this kind: it is left alone
};
struct ReadUsage {
  UsageFate fate = UsageFate::absent;
  ExpertUsage usage;                  // [owner's layers * experts], whatever the file counts
  std::vector<std::uint32_t> beyond;  // [layers that the owner does not know * experts], if good
  std::string refusal;                // a sentence, if useless or foreign
};
ReadUsage read_usage(const std::string& path, const UsageOwner& owner);
Result<> write_usage(const std::string& path, const UsageOwner& owner, const ExpertUsage& usage,
                     std::span<const std::uint32_t> beyond = {});

// The same store, whose fetches are counted. `usage` must outlive it.
std::unique_ptr<ExpertStore> count_uses(std::unique_ptr<ExpertStore> store, ExpertUsage& usage);

}  // namespace sluice
