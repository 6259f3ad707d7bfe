// See bind_report.h.
#include "checkpoint/bind_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/units.h"

namespace sluice {

namespace {

constexpr std::size_t kToldByName = 12;

// Two names of which one can be the other with a damaged byte (or an escape made of two). Names that differ only in a
// digit are different tensors of a good checkpoint.
bool look_alike(std::string_view left, std::string_view right) {
  const std::size_t shorter = std::min(left.size(), right.size()), longer = std::max(left.size(), right.size());
  if (longer - shorter > 1) return false;
  std::size_t head = 0, tail = 0;
  while (head < shorter && left[head] == right[head]) ++head;
  while (tail < shorter - head && left[left.size() - 1 - tail] == right[right.size() - 1 - tail]) ++tail;
  if (longer - head - tail > 2) return false;
  const auto digits_only = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char letter) { return std::isdigit(letter) != 0; });
  };
  return !(digits_only(left.substr(head, left.size() - head - tail)) &&
           digits_only(right.substr(head, right.size() - head - tail)));
}

std::string and_more(std::size_t count, std::size_t told) {
  return count > told ? fmt::format(" and {} more", format_count(count - told)) : "";
}

}  // namespace

void BindReport::missing(std::string_view name, Neighbours neighbours) {
  if (name == last_missing_) return;
  last_missing_ = name;
  if (missing_count_++ < kToldByName) missing_.push_back({std::string(name), neighbours, nullptr});
}

void BindReport::wrong(std::string problem) {
  if (wrong_.empty() || wrong_.back() != problem) wrong_.push_back(std::move(problem));
}

void BindReport::surplus(const TensorRecord& tensor) {
  if (surplus_count_++ < kToldByName) surplus_.push_back(&tensor);
}

void BindReport::unused(const TensorRecord& tensor) {
  for (Missing& missing : missing_)
    for (std::string_view ending : {"", "_packed"})  // a packed tensor is missed by the name of its matrix
      if (missing.look_alike == nullptr && look_alike(missing.name + std::string(ending), tensor.name()))
        missing.look_alike = &tensor;
}

std::string BindReport::file_name(int file) const {
  return std::filesystem::path(index_.files()[static_cast<std::size_t>(file)]).filename().string();
}

std::string BindReport::tell_missing() const {
  std::vector<std::string> told;
  for (const Missing& missing : missing_) {
    std::string text = in_quotes(missing.name);
    if (missing.look_alike != nullptr)
      text += fmt::format(" ({} has {} instead, its header is damaged)", file_name(missing.look_alike->file),
                          in_quotes(missing.look_alike->name()));
    else if (missing.neighbours.block != kUnknownFile)
      text += fmt::format(" (its neighbours are in {})", file_name(missing.neighbours.block));
    else if (missing.neighbours.before != kUnknownFile)
      text += fmt::format(" (what comes before it is in {})", file_name(missing.neighbours.before));
    told.push_back(std::move(text));
  }
  return fmt::format("missing {} tensor{}: {}{}", format_count(missing_count_), missing_count_ == 1 ? "" : "s",
                     fmt::join(told, ", "), and_more(missing_count_, told.size()));
}

Error BindReport::error(const std::string& directory, const std::vector<std::string>& missing_shards) const {
  std::vector<std::string> parts;
  if (missing_count_ > 0) parts.push_back(tell_missing());
  const bool shards = !missing_shards.empty();
  if (shards) {
    const std::size_t told = std::min(missing_shards.size(), kToldByName);
    parts.push_back(
        fmt::format("not here: shard{} {}{}", missing_shards.size() == 1 ? "" : "s",
                    fmt::join(missing_shards.begin(), missing_shards.begin() + static_cast<std::ptrdiff_t>(told), ", "),
                    and_more(missing_shards.size(), told)));
  }
  if (!wrong_.empty()) {
    const std::size_t told = std::min(wrong_.size(), kToldByName);
    parts.push_back(fmt::format("{}{}",
                                fmt::join(wrong_.begin(), wrong_.begin() + static_cast<std::ptrdiff_t>(told), ", "),
                                and_more(wrong_.size(), told)));
  }
  if (surplus_count_ > 0) {
    std::vector<std::string> told;
    for (const TensorRecord* tensor : surplus_)
      told.push_back(fmt::format("{} in {}", in_quotes(tensor->name()), file_name(tensor->file)));
    parts.push_back(fmt::format("{} tensor{} this model does not have: {}{}", format_count(surplus_count_),
                                surplus_count_ == 1 ? "" : "s", fmt::join(told, ", "),
                                and_more(surplus_count_, told.size())));
  }
  return {ErrorKind::corrupt,
          fmt::format("{} does not hold the model of its config: {}", directory, fmt::join(parts, "; ")),
          shards ? "fetch the shards that are not here"
                 : "fetch the named files again, or the config.json that belongs to them"};
}

}  // namespace sluice
