// See usage.h.
#include "residency/usage.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/text_file.h"
#include "io/output_file.h"
#include "residency/store_around.h"

namespace sluice {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kKind = "sluice usage ", kVersion = "1 ";
constexpr std::uint32_t kLargestCount = 1 << 16;

std::string header_of(const UsageOwner& owner) {
  return fmt::format("{}{}{} {} {}\n", kKind, kVersion, owner.key, owner.layers, owner.experts);
}

std::uint64_t sum_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// Counts the fetches of another store.
class CountedStore final : public StoreAround {
 public:
  CountedStore(std::unique_ptr<ExpertStore> store, ExpertUsage& usage) : StoreAround(std::move(store)), usage_(usage) {}
  std::unique_ptr<Fetch> fetch(int layer, std::span<const ExpertUse> uses) override {
    usage_.add(layer, uses);
    return StoreAround::fetch(layer, uses);
  }

 private:
  ExpertUsage& usage_;
};

}  // namespace

ExpertUsage::ExpertUsage(int layers, int experts)
    : layers_(layers),
      experts_(experts),
      counts_(static_cast<std::size_t>(layers) * static_cast<std::size_t>(experts), 0) {}

void ExpertUsage::add(int layer, std::span<const ExpertUse> uses) {
  bool full = false;
  for (const ExpertUse& use : uses) {
    std::uint32_t& count = counts_[index_of({layer, use.expert}, experts_)];
    count += static_cast<std::uint32_t>(use.rows);
    total_ += static_cast<std::uint64_t>(use.rows);
    full = full || count > kLargestCount;
  }
  if (full) fade();
}

void ExpertUsage::add(std::span<const std::uint32_t> counts) {
  SLUICE_CHECK(counts.size() == counts_.size());
  bool full = false;
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    counts_[expert] += std::min(counts[expert], kLargestCount);
    total_ += counts[expert];
    full = full || counts_[expert] > kLargestCount;
  }
  if (full) fade();
}

void ExpertUsage::clear() {
  std::ranges::fill(counts_, 0u);
  total_ = 0;
}

void ExpertUsage::fade() {
  while (*std::ranges::max_element(counts_) > kLargestCount) {
    total_ = 0;
    for (std::uint32_t& count : counts_) total_ += count /= 2;
  }
}

std::vector<ExpertKey> ExpertUsage::hottest(std::size_t most) const {
  std::vector<std::uint32_t> order;  // places in counts_
  for (std::size_t expert = 0; expert < counts_.size(); ++expert)
    if (counts_[expert] > 0) order.push_back(static_cast<std::uint32_t>(expert));
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint32_t expert) { return counts_[expert]; });
  order.resize(std::min(order.size(), most));
  std::vector<ExpertKey> keys;
  keys.reserve(order.size());
  for (const std::uint32_t expert : order) {
    const auto place = static_cast<int>(expert);
    keys.push_back({place / experts_, place % experts_});
  }
  return keys;
}

ReadUsage read_usage(const std::string& path, const UsageOwner& owner) {
  ReadUsage read{UsageFate::absent, ExpertUsage(owner.layers, owner.experts), {}};
  const auto refused = [&](UsageFate fate, std::string_view why) {
    read.fate = fate;
    read.refusal = fmt::format("{} {}", path, why);
    return std::move(read);
  };
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) return read;
  const std::string header = header_of(owner);
  const std::size_t counts_bytes = read.usage.counts().size_bytes();
  const std::size_t whole = header.size() + counts_bytes + sizeof(std::uint64_t);
  if (!std::filesystem::is_regular_file(path, problem)) return refused(UsageFate::foreign, "is not a file");
  const Result<std::string> text = read_text_file(path);
  if (!text) return refused(UsageFate::foreign, "cannot be read");
  const std::string_view all = *text;
  if (all.empty()) return refused(UsageFate::useless, "is empty");
  if (!all.starts_with(kKind)) return refused(UsageFate::foreign, "is not a file of expert usage");
  if (!all.substr(kKind.size()).starts_with(kVersion))
    return refused(UsageFate::useless, "was written by another version of sluice");
  if (!all.starts_with(header)) return refused(UsageFate::foreign, "belongs to another checkpoint");
  if (all.size() != whole) return refused(UsageFate::useless, "was cut short or added to");
  std::uint64_t sum = 0;
  std::memcpy(&sum, all.data() + whole - sizeof sum, sizeof sum);
  if (sum != sum_of(all.substr(0, whole - sizeof sum))) return refused(UsageFate::useless, "is damaged");
  std::vector<std::uint32_t> counts(read.usage.counts().size());
  std::memcpy(counts.data(), all.data() + header.size(), counts_bytes);
  read.usage.add(counts);
  read.fate = UsageFate::good;
  return read;
}

Result<> write_usage(const std::string& path, const UsageOwner& owner, const ExpertUsage& usage) {
  std::string text = header_of(owner);
  text.append(reinterpret_cast<const char*>(usage.counts().data()), usage.counts().size_bytes());
  const std::uint64_t sum = sum_of(text);
  text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return replace_text_file(path, text);
}

std::unique_ptr<ExpertStore> count_uses(std::unique_ptr<ExpertStore> store, ExpertUsage& usage) {
  return std::make_unique<CountedStore>(std::move(store), usage);
}

}  // namespace sluice
