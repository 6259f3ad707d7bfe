// See indexer_layers.h.
#include "models/glm_dsa/indexer_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sluice::glm_dsa {

namespace {

std::vector<std::string> letters(const std::string& pattern) {
  std::vector<std::string> each;
  for (char letter : pattern) each.emplace_back(1, letter);
  return each;
}

std::vector<bool> read_kinds(const Fields& fields, const char* name, const std::vector<std::string>& kinds,
                             int layers) {
  std::vector<bool> owns;
  if (static_cast<int>(kinds.size()) != layers) {
    fields.wrong(name, fmt::format("has {} entries for {} layers", kinds.size(), layers));
    return owns;
  }
  for (const std::string& kind : kinds) {
    const bool full = kind == "full" || kind == "F", shared = kind == "shared" || kind == "S";
    if (!full && !shared) {
      fields.wrong(name, fmt::format("holds '{}', known are 'full' (F) and 'shared' (S)", kind));
      return owns;
    }
    owns.push_back(full);
  }
  return owns;
}

}  // namespace

std::vector<bool> read_indexer_layers(const Fields& fields, int layers) {
  const char* name = "indexer_types";
  std::vector<bool> owns;
  if (fields.has(name)) {
    const std::vector<std::string> kinds = fields.texts_or(name, {});
    if (fields.good(name)) owns = read_kinds(fields, name, kinds, layers);
  } else if (name = "index_topk_pattern"; fields.has(name)) {
    const std::vector<std::string> kinds =
        fields.is_list(name) ? fields.texts_or(name, {}) : letters(fields.text_or(name, ""));
    if (fields.good(name)) owns = read_kinds(fields, name, kinds, layers);
  } else {
    name = "index_skip_topk_offset";
    const int freq = std::max(fields.integer_or("index_topk_freq", 1, {0, 1 << 20}), 1);
    const int offset = fields.integer_or(name, 2, {0, 1 << 20});
    for (int layer = 0; layer < layers; ++layer) owns.push_back(std::max(layer - offset + 1, 0) % freq == 0);
  }
  if (!owns.empty() && !owns.front()) {
    fields.wrong(name, "makes layer 0 share a choice of keys that no layer before it has made");
    owns.clear();
  }
  return owns;
}

}  // namespace sluice::glm_dsa
