// The vocabulary of a random Kimi K3. See synth.h.
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/check.h"
#include "models/kimi_k3/synth.h"

namespace sluice::kimi_k3 {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned group = 0;
    for (std::size_t index = at; index < at + 3; ++index)
      group = group << 8 | (index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0u);
    for (int digit = 0; digit < 4; ++digit) text += kDigits[group >> (18 - 6 * digit) & 63u];
  }
  const std::size_t missing = (3 - bytes.size() % 3) % 3;
  return text.replace(text.size() - missing, missing, missing, '=');
}

// GPT-2's order of the bytes: the printable ones of Latin-1 first, then the others.
std::vector<std::string> single_bytes() {
  std::vector<std::string> printable, others;
  for (int byte = 0; byte < 256; ++byte) {
    const bool shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    (shown ? printable : others).emplace_back(1, static_cast<char>(byte));
  }
  printable.insert(printable.end(), others.begin(), others.end());
  return printable;
}

}  // namespace

std::string synth_tiktoken(int ranks, std::uint64_t seed) {
  SLUICE_CHECK(ranks >= 256);
  constexpr std::string_view kCommon = " etaoinshrdlucmfwypvbgkjqxzETAOINSHRDLUCMFWYPVBGKJQXZ0123456789";
  constexpr std::size_t kLongest = 12;
  std::vector<std::string> entries = single_bytes();
  std::unordered_set<std::string> known(entries.begin(), entries.end());
  std::uint64_t state = value_key(seed, "tiktoken.model");
  const auto below = [&state](std::size_t count) {
    state = value_key(state, "");
    return static_cast<std::size_t>(state >> 33) % count;
  };
  // Mostly letters and words that are there already; every eighth part is any byte, as other scripts need.
  const auto part = [&]() -> std::string {
    const std::size_t kind = below(8);
    if (kind == 0) return entries[below(256)];
    if (kind < 4 || entries.size() == 256) return std::string(1, kCommon[below(kCommon.size())]);
    return entries[256 + below(entries.size() - 256)];
  };
  while (entries.size() < static_cast<std::size_t>(ranks)) {
    std::string merged = part();
    merged += part();
    if (merged.size() <= kLongest && known.insert(merged).second) entries.push_back(std::move(merged));
  }
  std::string text;
  for (std::size_t rank = 0; rank < entries.size(); ++rank)
    text += base64(entries[rank]) + ' ' + std::to_string(rank) + '\n';
  return text;
}

}  // namespace sluice::kimi_k3
