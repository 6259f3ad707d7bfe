// See shard_index.h.
#include "checkpoint/shard_index.h"

#include <simdjson.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/simdjson_refusal.h"

namespace sluice {

namespace {

// Shards by what the index says of them: all that it lists, and those that hold a tensor without an ignored prefix.
struct Listed {
  std::set<std::string, std::less<>> known, wanted;
};

bool read_index(const std::string& path, std::span<const std::string> ignored, Listed& listed) {
  constexpr const char* kIndexUse = "the index of the shards";
  simdjson::padded_string text;
  if (or_throw_refusal(simdjson::padded_string::load(path).get(text), kIndexUse) != simdjson::SUCCESS) return false;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object map;
  if (or_throw_refusal(parser.iterate(text).get(document), kIndexUse) != simdjson::SUCCESS) return false;
  if (document["weight_map"].get_object().get(map) != simdjson::SUCCESS) return false;
  for (auto field : map) {
    std::string_view tensor, shard;
    if (field.unescaped_key().get(tensor) != simdjson::SUCCESS) return false;
    if (field.value().get_string().get(shard) != simdjson::SUCCESS) return false;
    if (!listed.known.contains(shard)) listed.known.emplace(shard);
    const bool skipped =
        std::ranges::any_of(ignored, [&](const std::string& prefix) { return tensor.starts_with(prefix); });
    if (!skipped && !listed.wanted.contains(shard)) listed.wanted.emplace(shard);
  }
  return true;
}

}  // namespace

std::vector<std::string> shards_that_matter(const std::string& directory, std::vector<std::string> absent,
                                            std::span<const std::string> ignored) {
  Listed listed;
  const std::string path = (std::filesystem::path(directory) / "model.safetensors.index.json").string();
  if (absent.empty() || !read_index(path, ignored, listed)) return absent;
  std::erase_if(
      absent, [&](const std::string& shard) { return listed.known.contains(shard) && !listed.wanted.contains(shard); });
  return absent;
}

}  // namespace sluice
