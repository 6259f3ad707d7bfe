// See usage.h.
#include "residency/usage.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
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
constexpr std::size_t kMostUsageLayers = 1 << 20;

std::string header_of(const UsageOwner& owner, std::size_t layers) {
  return fmt::format("{}{}{} {} {}\n", kKind, kVersion, owner.key, layers, owner.experts);
}

// The layers that a file of this checkpoint says it counts. Nothing if it is another checkpoint's.
std::optional<std::size_t> layers_of(std::string_view text, const UsageOwner& owner) {
  const std::string before = fmt::format("{}{}{} ", kKind, kVersion, owner.key);
  if (!text.starts_with(before)) return std::nullopt;
  std::size_t layers = 0;
  const std::from_chars_result read = std::from_chars(text.data() + before.size(), text.data() + text.size(), layers);
  const bool good = read.ec == std::errc{} && layers > 0 && layers <= kMostUsageLayers;
  return good && text.starts_with(header_of(owner, layers)) ? std::optional(layers) : std::nullopt;
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
  ReadUsage read{UsageFate::absent, ExpertUsage(owner.layers, owner.experts), {}, {}};
  const auto refused = [&](UsageFate fate, std::string_view why) {
    read.fate = fate;
    read.refusal = fmt::format("{} {}", path, why);
    return std::move(read);
  };
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) return read;
  if (!std::filesystem::is_regular_file(path, problem)) return refused(UsageFate::foreign, "is not a file");
  const Result<std::string> text = read_text_file(path);
  if (!text) return refused(UsageFate::foreign, "cannot be read");
  const std::string_view all = *text;
  if (all.empty()) return refused(UsageFate::useless, "is empty");
  if (!all.starts_with(kKind)) return refused(UsageFate::foreign, "is not a file of expert usage");
  if (!all.substr(kKind.size()).starts_with(kVersion))
    return refused(UsageFate::useless, "was written by another version of sluice");
  const std::optional<std::size_t> layers = layers_of(all, owner);
  if (!layers) return refused(UsageFate::foreign, "belongs to another checkpoint");
  const std::size_t header_bytes = header_of(owner, *layers).size();
  const std::size_t count = *layers * static_cast<std::size_t>(owner.experts);
  const std::size_t whole = header_bytes + count * sizeof(std::uint32_t) + sizeof(std::uint64_t);
  if (all.size() != whole) return refused(UsageFate::useless, "was cut short or added to");
  std::uint64_t sum = 0;
  std::memcpy(&sum, all.data() + whole - sizeof sum, sizeof sum);
  if (sum != sum_of(all.substr(0, whole - sizeof sum))) return refused(UsageFate::useless, "is damaged");
  std::vector<std::uint32_t> counts(count);
  std::memcpy(counts.data(), all.data() + header_bytes, count * sizeof(std::uint32_t));
  const std::size_t mine = read.usage.counts().size();
  if (counts.size() > mine) read.beyond.assign(counts.begin() + static_cast<std::ptrdiff_t>(mine), counts.end());
  counts.resize(mine, 0);
  read.usage.add(counts);
  read.fate = UsageFate::good;
  return read;
}

Result<> write_usage(const std::string& path, const UsageOwner& owner, const ExpertUsage& usage,
                     std::span<const std::uint32_t> beyond) {
  const std::size_t counts = usage.counts().size() + beyond.size();
  std::string text = header_of(owner, counts / static_cast<std::size_t>(owner.experts));
  for (const std::span<const std::uint32_t> part : {usage.counts(), beyond})
    text.append(reinterpret_cast<const char*>(part.data()), part.size_bytes());
  const std::uint64_t sum = sum_of(text);
  text.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return replace_text_file(path, text);
}

std::unique_ptr<ExpertStore> count_uses(std::unique_ptr<ExpertStore> store, ExpertUsage& usage) {
  return std::make_unique<CountedStore>(std::move(store), usage);
}

}  // namespace sluice
