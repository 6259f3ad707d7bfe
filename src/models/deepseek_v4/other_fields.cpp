// See other_fields.h.
#include "models/deepseek_v4/other_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "models/common/config_rules.h"
#include "models/deepseek_v4/config.h"

namespace sluice::deepseek_v4 {

namespace {

constexpr NumberRange kTheta{1.001, 1e12};
constexpr const char* kSliding = "sliding_attention";
constexpr const char* kIndexed = "compressed_sparse_attention";
constexpr const char* kHeavy = "heavily_compressed_attention";
constexpr const char* kHash = "hash_moe";
constexpr const char* kScored = "moe";

// One of the names for each layer, or a fault and nothing.
std::vector<std::string> names_by_layer(const Fields& fields, const char* field, int layers) {
  std::vector<std::string> names = fields.texts_or(field, {});
  if (!fields.good(field)) return {};
  if (static_cast<int>(names.size()) == layers) return names;
  fields.wrong(field, fmt::format("has {} entries for {} layers", names.size(), layers));
  return {};
}

// Older files have the rates on their own.
int rate(const Fields& fields, const char* kind, const char* older, int otherwise) {
  const int rate = fields.optional_object("compress_rates").integer_or(kind, otherwise, {1, 1 << 20});
  return fields.integer_or(older, rate, {1, 1 << 20});
}

void read_yarn(const Fields& scaling, YarnScaling& yarn) {
  must_say(scaling, scaling.has("rope_type") ? "rope_type" : "type", "yarn");
  yarn.factor = scaling.number("factor", {1, 1e6});
  yarn.original_max_position_embeddings = scaling.integer("original_max_position_embeddings", kPositions);
  yarn.beta_fast = scaling.number("beta_fast", {1e-3, 1e6});
  yarn.beta_slow = scaling.number("beta_slow", {1e-3, 1e6});
  // Scores have no factor of YaRN's in this model, and ramps begin and end at whole pairs.
  if (scaling.number_or("attention_factor", 1, {1e-6, 1e6}) != 1)
    scaling.wrong("attention_factor", "is not 1, as it is in DeepSeek-V4");
  may_be(scaling, "truncate", true);
}

// A base at its own name, or where transformers keeps it; `parameters` may be null.
float theta(const Fields& fields, const char* name, const Fields* parameters) {
  const char* const inner = "rope_theta";
  if (parameters == nullptr || !parameters->has(inner)) return fields.number(name, kTheta);
  const float there = parameters->number(inner, kTheta);
  if (fields.has(name) && fields.number(name, kTheta) != there)
    parameters->wrong(inner, fmt::format("is {}, and {} says otherwise", there, name));
  return there;
}

void check_rotated(const Fields& fields, const Fields& copies) {
  if (!copies.has("partial_rotary_factor") || !fields.has("partial_rotary_factor")) return;
  const float factor = copies.number("partial_rotary_factor", {1e-6, 1});
  if (factor != fields.number("partial_rotary_factor", {1e-6, 1}))
    copies.wrong("partial_rotary_factor", fmt::format("is {}, and the whole model's is another", factor));
}

}  // namespace

bool layers_by_name(const Fields& fields) { return fields.has("layer_types") && !fields.has("compress_ratios"); }

std::vector<int> ratios_of_names(const Fields& fields, int layers) {
  const int indexed = rate(fields, kIndexed, "compress_rate_csa", kIndexedRatio);
  const int heavy = rate(fields, kHeavy, "compress_rate_hca", 128);
  std::vector<int> ratios;
  for (const std::string& name : names_by_layer(fields, "layer_types", layers)) {
    if (name != kSliding && name != kIndexed && name != kHeavy) {
      fields.wrong("layer_types", fmt::format("holds '{}', known are {}, {} and {}", name, kSliding, kIndexed, kHeavy));
      return {};
    }
    ratios.push_back(name == kSliding ? 0 : name == kIndexed ? indexed : heavy);
  }
  if (std::ranges::find(ratios, indexed) != ratios.end() && indexed != kIndexedRatio)
    fields.wrong("compress_rates",
                 fmt::format("makes entries of {} positions for the indexer, known is {}", indexed, kIndexedRatio));
  else if (std::ranges::find(ratios, heavy) != ratios.end() && heavy <= kIndexedRatio)
    fields.wrong(
        "compress_rates",
        fmt::format("makes entries of {} positions without an indexer, known are more than {}", heavy, kIndexedRatio));
  return ratios;
}

int hash_layers_of_names(const Fields& fields, int layers) {
  const std::vector<std::string> names = names_by_layer(fields, "mlp_layer_types", layers);
  const auto scored = std::ranges::find_if(names, [](const std::string& name) { return name != kHash; });
  const auto stranger = std::find_if(scored, names.end(), [](const std::string& name) { return name != kScored; });
  if (stranger != names.end())
    fields.wrong("mlp_layer_types",
                 fmt::format("holds '{}' behind others, known are {} and then {}", *stranger, kHash, kScored));
  return static_cast<int>(std::distance(names.begin(), scored));
}

int rotated_of_factor(const Fields& fields, int head_dim) {
  const float factor = fields.number("partial_rotary_factor", {1e-6, 1});
  if (!fields.good("partial_rotary_factor")) return 2;
  const double rotated = static_cast<double>(factor) * head_dim, whole = std::round(rotated);
  if (std::abs(rotated - whole) > 1e-3 || whole < 2 || std::fmod(whole, 2) != 0) {
    fields.wrong("partial_rotary_factor",
                 fmt::format("is {}, which of {} channels is no even number", factor, head_dim));
    return 2;
  }
  return static_cast<int>(whole);
}

RopeFields read_rope_fields(const Fields& fields, bool compresses) {
  RopeFields rope;
  const bool released = fields.has("rope_scaling") || !fields.has("rope_parameters");
  const Fields all = fields.optional_object("rope_parameters");
  const Fields main = all.optional_object("main"), compress = all.optional_object("compress");
  const bool apart = !released && all.has("main") && all.has("compress");
  if (apart) {
    may_say(main, "rope_type", "default");
    check_rotated(fields, main);
    check_rotated(fields, compress);
  }
  rope.theta = theta(fields, "rope_theta", apart ? &main : nullptr);
  if (!compresses) return rope;
  rope.compress_theta = theta(fields, "compress_rope_theta", apart ? &compress : nullptr);
  read_yarn(released ? fields.object("rope_scaling") : apart ? compress : all, rope.yarn);
  return rope;
}

}  // namespace sluice::deepseek_v4
