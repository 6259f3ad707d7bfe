// See shard_names.h.
#include "checkpoint/shard_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

namespace sluice {

namespace {

constexpr std::string_view kExtension = ".safetensors";
constexpr std::string_view kOf = "-of-";
constexpr int kMostShards = 100'000;  // a larger number in a name is no count of shards

struct ShardName {
  std::string series;  // the name without its own number: "model-", "000096"
  std::string total_digits;
  std::size_t digits = 0;  // width of the own number
  int number = 0, total = 0;
};

std::optional<int> parse_digits(std::string_view digits) {
  int value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc{} || end != digits.data() + digits.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<ShardName> parse_name(std::string_view name) {
  name.remove_suffix(kExtension.size());
  const std::size_t of = name.rfind(kOf);
  if (of == std::string_view::npos) return std::nullopt;
  const std::size_t begin = name.find_last_not_of("0123456789", of == 0 ? 0 : of - 1);
  const std::size_t first_digit = begin == std::string_view::npos ? 0 : begin + 1;
  ShardName shard;
  shard.series = name.substr(0, first_digit);
  shard.total_digits = name.substr(of + kOf.size());
  shard.digits = of - first_digit;
  const auto number = parse_digits(name.substr(first_digit, shard.digits)), total = parse_digits(shard.total_digits);
  if (!number || !total || *total > kMostShards) return std::nullopt;
  shard.number = *number;
  shard.total = *total;
  return shard;
}

}  // namespace

std::vector<std::string> find_shards(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(directory, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    const bool shard = name.size() > kExtension.size() && name.ends_with(kExtension) && name.front() != '.';
    if (shard) paths.push_back(entry->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> missing_shards(const std::vector<std::string>& paths) {
  std::map<std::pair<std::string, std::string>, std::pair<ShardName, std::set<int>>> series;
  for (const std::string& path : paths)
    if (const auto shard = parse_name(file_name(path))) {
      auto& [first, numbers] =
          series.try_emplace({shard->series, shard->total_digits}, *shard, std::set<int>{}).first->second;
      numbers.insert(shard->number);
    }
  std::vector<std::string> missing;
  for (const auto& [key, members] : series) {
    const auto& [first, numbers] = members;
    for (int number = 1; number <= first.total; ++number)
      if (!numbers.contains(number))
        missing.push_back(
            fmt::format("{}{:0{}}{}{}{}", first.series, number, first.digits, kOf, first.total_digits, kExtension));
  }
  return missing;
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

}  // namespace sluice
