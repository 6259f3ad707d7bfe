// See storage.h.
#include "checkpoint/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string_view>

#include "formats/format.h"

namespace sluice {

namespace {

struct Convention {
  FormatId format;
  std::string_view weights_suffix;  // after the name the family uses
  Dtype weights_dtype;
  std::string_view scales_suffix;  // empty where the format has no scales
  Dtype scales_dtype;
};
constexpr Convention kConventions[] = {
    {FormatId::bf16, "", Dtype::bf16, "", Dtype::u8},
    {FormatId::f32, "", Dtype::f32, "", Dtype::u8},
    {FormatId::mxfp4, "_packed", Dtype::u8, "_scale", Dtype::u8},  // compressed-tensors, mxfp4-pack-quantized
};

using Problem = tl::unexpected<StorageProblem>;
Problem missing(std::string name) { return Problem({std::move(name), {}}); }
Problem wrong(std::string problem) { return Problem({{}, std::move(problem)}); }

std::string place(const TensorIndex& index, const TensorRecord& tensor) {
  const std::string& path = index.files()[tensor.file];
  return fmt::format("{} in {}", in_quotes(tensor.name()), std::filesystem::path(path).filename().string());
}

// Sizes of 1 do not count: [n, 1, 4] is [n, 4] and [n] is [1, n].
bool shape_fits(std::span<const std::uint32_t> stored, std::uint64_t rows, std::uint64_t cols) {
  std::uint64_t wanted[2];
  std::size_t count = 0;
  if (rows != 1) wanted[count++] = rows;
  if (cols != 1) wanted[count++] = cols;
  std::size_t seen = 0;
  for (std::uint32_t size : stored) {
    if (size == 1) continue;
    if (seen == count || wanted[seen] != size) return false;
    ++seen;
  }
  return seen == count;
}

// Checks one of the stored tensors of a form. `row_bytes`: what a row must take there.
tl::expected<void, StorageProblem> check_part(const TensorIndex& index, const TensorRecord& part, int rows,
                                              std::uint64_t row_bytes) {
  const std::uint64_t cols = row_bytes * 8 / dtype_bits(part.dtype);
  const std::span<const std::uint32_t> shape = index.shape(part);
  if (shape_fits(shape, static_cast<std::uint64_t>(rows), cols)) return {};
  return wrong(
      fmt::format("{} has shape [{}], wanted is [{}, {}]", place(index, part), fmt::join(shape, ", "), rows, cols));
}

}  // namespace

bool is_mxfp4_scale(const TensorIndex& index, const TensorRecord& tensor) {
  for (const Convention& convention : kConventions) {
    if (convention.format != FormatId::mxfp4 || tensor.dtype != convention.scales_dtype) continue;
    std::string_view name = tensor.name();
    if (!name.ends_with(convention.scales_suffix)) continue;
    name.remove_suffix(convention.scales_suffix.size());
    const TensorRecord* const weights = index.find(std::string(name).append(convention.weights_suffix));
    if (weights != nullptr && weights->dtype == convention.weights_dtype) return true;
  }
  return false;
}

tl::expected<StoredForm, StorageProblem> find_stored(const TensorIndex& index, const TensorSpec& spec) {
  const Convention* match = nullptr;
  StoredForm form;
  const TensorRecord* strange = nullptr;  // has the right name and a type no convention knows there
  std::string name;
  std::string_view looked_up = "?";
  const TensorRecord* there = nullptr;
  for (const Convention& convention : kConventions) {
    if (convention.weights_suffix != looked_up) {
      looked_up = convention.weights_suffix;
      name.assign(spec.name).append(looked_up);
      there = index.find(name);
    }
    if (there == nullptr) continue;
    if (there->dtype != convention.weights_dtype) {
      if (strange == nullptr) strange = there;
      continue;
    }
    if (match != nullptr)
      return wrong(
          fmt::format("{} and {} are two forms of one tensor", place(index, *form.weights), place(index, *there)));
    match = &convention;
    form = {convention.format, there, nullptr};
  }
  if (match == nullptr) {
    if (strange == nullptr) return missing(spec.name);
    return wrong(fmt::format("{} is stored as {}, which cannot be decoded there", place(index, *strange),
                             dtype_name(strange->dtype)));
  }
  const Format& stored = format(match->format);
  if (spec.shape.cols % stored.block_cols != 0)
    return wrong(fmt::format("{} is stored as {}, but its {} columns are not a multiple of {}",
                             place(index, *form.weights), stored.name, spec.shape.cols, stored.block_cols));
  if (auto fits = check_part(index, *form.weights, spec.shape.rows, stored.row_weight_bytes(spec.shape.cols)); !fits)
    return Problem(fits.error());
  if (match->scales_suffix.empty()) return form;

  name.assign(spec.name).append(match->scales_suffix);
  form.scales = index.find(name);
  if (form.scales == nullptr) return missing(name);
  if (form.scales->dtype != match->scales_dtype)
    return wrong(fmt::format("{} is stored as {}, wanted is {}", place(index, *form.scales),
                             dtype_name(form.scales->dtype), dtype_name(match->scales_dtype)));
  if (auto fits = check_part(index, *form.scales, spec.shape.rows, stored.row_scale_bytes(spec.shape.cols)); !fits)
    return Problem(fits.error());
  return form;
}

}  // namespace sluice
