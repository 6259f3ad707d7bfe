// See converted_config.h.
#include "checkpoint/converted_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "formats/format.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kConversion = "sluice_conversion";
constexpr const char* kPack = "sluice_pack";
constexpr const char* kCompressed = "compressed";
constexpr const char* kCompressedForm = "bf16 in streams, version 1";  // formats/bf16_stream.h
constexpr const char* kReleasedForm = "quantization_config";

Json description(std::string_view fingerprint, const ConversionPlan& plan) {
  Json json = {{"version", 1}, {"source", fingerprint}};
  for (int kind = 0; !plan.packs() && kind < kTensorKinds; ++kind) {
    const KindTotals& totals = plan.totals(static_cast<TensorKind>(kind));
    if (totals.tensors > 0)
      json[std::string(kind_name(static_cast<TensorKind>(kind)))] = {{"format", format_names(totals.after)},
                                                                     {"bytes", totals.bytes_after}};
  }
  json["shard_bytes"] = plan.shard_bytes();
  if (plan.compression() != nullptr) json[kCompressed] = kCompressedForm;
  return json;
}

// What a config says that sluice made: a pack is told by its own key, whatever was packed.
struct Made {
  const char* key = nullptr;  // null: nothing
  Json record;
};
Made made_in(std::string_view config) {
  const Json json = Json::parse(config, nullptr, false);
  for (const char* key : {kPack, kConversion})
    if (const auto found = json.is_object() ? json.find(key) : json.end(); found != json.end() && found->is_object())
      return {key, *found};
  return {};
}

// Of a kind: "none" if the conversion has none of it, "?" if what it says of it is not ours to read.
std::string format_in(const Json& conversion, const std::string& kind) {
  const auto found = conversion.find(kind);
  if (found == conversion.end()) return "none";
  const auto name = found->is_object() ? found->find("format") : found->end();
  return name != found->end() && name->is_string() ? name->get<std::string>() : "?";
}

}  // namespace

std::string format_names(const std::set<FormatId>& formats) {
  std::string names;
  for (const FormatId id : formats) names += (names.empty() ? "" : "+") + std::string(format(id).name);
  return names;
}

Result<std::string> converted_config(std::string_view source_config, std::string_view source_fingerprint,
                                     const ConversionPlan& plan) {
  Json json = Json::parse(source_config, nullptr, false);
  if (!json.is_object()) return fail(ErrorKind::bad_input, "config.json is not a JSON object", "fetch it again");
  if (plan.changes_anything()) {
    json.erase(kReleasedForm);
    if (json.contains("text_config") && json["text_config"].is_object()) json["text_config"].erase(kReleasedForm);
  }
  json.erase(kPack);
  json[plan.packs() ? kPack : kConversion] = description(source_fingerprint, plan);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string conversion_difference(std::string_view wanted, std::string_view other) {
  const auto [our_key, ours] = made_in(wanted);
  const auto [their_key, theirs] = made_in(other);
  if (their_key == nullptr || their_key != our_key) return "";
  if (theirs.value("source", Json()) != ours.at("source")) return "is of another source";
  for (int kind = 0; kind < kTensorKinds; ++kind) {
    const std::string name(kind_name(static_cast<TensorKind>(kind)));
    const std::string wants = format_in(ours, name), has = format_in(theirs, name);
    if (has != wants) return fmt::format("has {} {}, not {}", name, has, wants);
  }
  if (theirs.contains(kCompressed) != ours.contains(kCompressed))
    return theirs.contains(kCompressed) ? "is compressed" : "is not compressed";
  if (theirs.value("shard_bytes", Json()) != ours.at("shard_bytes")) return "has shards of another size";
  return "was made by another version of sluice";
}

}  // namespace sluice
