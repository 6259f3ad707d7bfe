// golden.json and golden.bin of an oracle's run: facts by name, arrays by name. Layout: tests/golden/README.md.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace sluice::test {

class GoldenArrays {
 public:
  explicit GoldenArrays(const std::filesystem::path& directory);

  const nlohmann::json& facts() const { return facts_; }
  bool has(const std::string& name) const { return facts_.at("arrays").contains(name); }
  std::vector<std::size_t> shape(const std::string& name) const;
  // All numbers of an array, widened to double.
  const std::vector<double>& all(const std::string& name);
  // The run of numbers at the given leading indices: at("logits", {position}) is one row.
  std::span<const double> at(const std::string& name, std::initializer_list<std::size_t> indices);

 private:
  nlohmann::json facts_;
  std::vector<char> bytes_;
  std::map<std::string, std::vector<double>> arrays_;
};

}  // namespace sluice::test
