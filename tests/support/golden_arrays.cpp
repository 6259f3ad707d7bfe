// See golden_arrays.h.
#include "support/golden_arrays.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sluice::test {

namespace {

template <class T>
std::vector<double> widen(const char* bytes, std::size_t count) {
  std::vector<double> values;
  values.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    T value;
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    values.push_back(static_cast<double>(value));
  }
  return values;
}

}  // namespace

GoldenArrays::GoldenArrays(const std::filesystem::path& directory) {
  std::ifstream facts(directory / "golden.json");
  facts_ = nlohmann::json::parse(facts);
  std::ifstream bytes(directory / "golden.bin", std::ios::binary);
  bytes_.assign(std::istreambuf_iterator<char>(bytes), {});
}

std::vector<std::size_t> GoldenArrays::shape(const std::string& name) const {
  return facts_.at("arrays").at(name).at("shape").get<std::vector<std::size_t>>();
}

const std::vector<double>& GoldenArrays::all(const std::string& name) {
  if (const auto found = arrays_.find(name); found != arrays_.end()) return found->second;
  const nlohmann::json& entry = facts_.at("arrays").at(name);
  const auto type = entry.at("dtype").get<std::string>();
  const auto offset = entry.at("offset").get<std::size_t>();
  std::size_t count = 1;
  for (std::size_t extent : shape(name)) count *= extent;
  if (offset + count * (type == "f64" ? 8 : 4) > bytes_.size())
    throw std::runtime_error("golden.bin is too short for " + name);
  const char* const begin = bytes_.data() + offset;
  return arrays_[name] = type == "f64"   ? widen<double>(begin, count)
                         : type == "f32" ? widen<float>(begin, count)
                                         : widen<std::int32_t>(begin, count);
}

std::span<const double> GoldenArrays::at(const std::string& name, std::initializer_list<std::size_t> indices) {
  const std::vector<std::size_t> extents = shape(name);
  std::span<const double> run = all(name);
  std::size_t level = 0;
  for (std::size_t index : indices) {
    const std::size_t length = run.size() / extents[level++];
    run = run.subspan(index * length, length);
  }
  return run;
}

}  // namespace sluice::test
