// See storage.h.
#include "checkpoint/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "checkpoint/shard_names.h"
#include "formats/bf16_stream.h"
#include "formats/format.h"

namespace sluice {

namespace {

struct Convention {
  FormatId format;
  std::string_view weights_suffix;  // after the name the family uses
  Dtype weights_dtype;
  std::string_view scales_suffix;  // likewise; ".scale" stands in place of ".weight"; empty: no scales
  Dtype scales_dtype;
};
// Those that share a weights_suffix stand together. The name or the type of the scales tells apart what shares a type
// of weights (docs/converted.md says why).
constexpr Convention kConventions[] = {
    {FormatId::bf16, "", Dtype::bf16, "", Dtype::u8},
    {FormatId::f32, "", Dtype::f32, "", Dtype::u8},
    {FormatId::f16, "", Dtype::f16, "", Dtype::u8},
    {FormatId::fp8, "", Dtype::f8_e4m3, "_scale_inv", Dtype::f32},  // GLM-5.2, DeepSeek-V3
    {FormatId::fp8_e8m0, "", Dtype::f8_e4m3, "_scale_inv", Dtype::f8_e8m0},
    {FormatId::fp8_e8m0, "", Dtype::f8_e4m3, ".scale", Dtype::f8_e8m0},  // DeepSeek-V4
    {FormatId::int8, "", Dtype::i8, "_scale_int8", Dtype::f32},          // this and int4*: docs/converted.md
    {FormatId::mxfp4, "", Dtype::i8, ".scale", Dtype::f8_e8m0},          // experts of DeepSeek-V4
    {FormatId::mxfp4, "_packed", Dtype::u8, "_scale", Dtype::u8},        // compressed-tensors, mxfp4-pack-quantized
    {FormatId::int4g64, "_packed", Dtype::u8, "_scale_int4g64", Dtype::f32},
    {FormatId::int4g128, "_packed", Dtype::u8, "_scale_int4g128", Dtype::f32},
    {FormatId::int4g32, "_packed", Dtype::u8, "_scale_int4g32", Dtype::f32},
    {FormatId::int4, "_packed", Dtype::u8, "_scale_int4", Dtype::f32},
};

constexpr std::string_view kCompressedInfix = ".sluice_bf16.";

using Problem = tl::unexpected<StorageProblem>;
Problem missing(std::string name) { return Problem({std::move(name), {}}); }
Problem wrong(std::string problem) { return Problem({{}, std::move(problem)}); }

std::string place(const TensorIndex& index, const TensorRecord& tensor) {
  const std::string& path = index.files()[tensor.file];
  return fmt::format("{} in {}", in_quotes(tensor.name()), file_name(path));
}

// Sizes of 1 do not count: [n, 1, 4] is [n, 4] and [n] is [1, n].
bool shape_fits(std::span<const std::uint32_t> stored, std::initializer_list<std::uint64_t> sizes) {
  std::uint64_t wanted[3];
  std::size_t count = 0;
  for (std::uint64_t size : sizes)
    if (size != 1) wanted[count++] = size;
  std::size_t seen = 0;
  for (std::uint32_t size : stored) {
    if (size == 1) continue;
    if (seen == count || wanted[seen] != size) return false;
    ++seen;
  }
  return seen == count;
}

// Checks one of the stored tensors of a form: `stacked` matrices of together `rows` rows. `row_bytes`: what a row must
// take there.
tl::expected<void, StorageProblem> check_part(const TensorIndex& index, const TensorRecord& part, int stacked, int rows,
                                              std::uint64_t row_bytes) {
  const std::uint64_t cols = row_bytes * 8 / dtype_bits(part.dtype);
  const std::span<const std::uint32_t> shape = index.shape(part);
  const auto each = static_cast<std::uint64_t>(rows / stacked);
  if (rows % stacked == 0 && shape_fits(shape, {static_cast<std::uint64_t>(stacked), each, cols})) return {};
  return wrong(fmt::format("{} has shape [{}], wanted is [{}{}, {}]", place(index, part), fmt::join(shape, ", "),
                           stacked > 1 ? fmt::format("{}, ", stacked) : "", each, cols));
}

void make_scales_name(std::string_view name, std::string_view suffix, std::string& scales_name) {
  constexpr std::string_view kWeight = ".weight";
  if (suffix.starts_with('.') && name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
  scales_name.assign(name).append(suffix);
}

// Of the conventions that fit weights like `first`'s, the one that their file follows elsewhere: scales that are not
// there are missed by its name. Looks at the beginning of the file only, since a checkpoint may miss all of them.
const Convention& usual_convention(const TensorIndex& index, const Convention* first, int file) {
  constexpr std::size_t kLookedAt = 4096;
  std::size_t looked_at = 0;
  for (const TensorRecord& tensor : index.tensors_of(file)) {
    if (++looked_at > kLookedAt) break;
    for (const Convention* each = first; each != std::end(kConventions); ++each)
      if (each->weights_suffix == first->weights_suffix && each->weights_dtype == first->weights_dtype &&
          tensor.dtype == each->scales_dtype && tensor.name().ends_with(each->scales_suffix))
        return *each;
  }
  return *first;
}

// The first convention that shares suffix and type of `weights` with `first`, and whose scales are there.
tl::expected<const Convention*, StorageProblem> find_scales(const TensorIndex& index, std::string_view name,
                                                            const Convention* first, StoredForm& form) {
  if (first->scales_suffix.empty()) return first;
  std::string scales_name;
  std::string_view looked_up;
  const TensorRecord* strange = nullptr;
  for (const Convention* each = first; each != std::end(kConventions); ++each) {
    if (each->weights_suffix != first->weights_suffix || each->weights_dtype != first->weights_dtype) continue;
    if (each->scales_suffix != looked_up) {
      looked_up = each->scales_suffix;
      make_scales_name(name, looked_up, scales_name);
      form.scales = index.find(scales_name);
    }
    if (form.scales == nullptr) continue;
    if (form.scales->dtype == each->scales_dtype) return each;
    if (strange == nullptr) strange = form.scales;
  }
  if (strange != nullptr)
    return wrong(fmt::format("{} is stored as {}, wanted is {}", place(index, *strange), dtype_name(strange->dtype),
                             dtype_name(first->scales_dtype)));
  make_scales_name(name, usual_convention(index, first, form.weights->file).scales_suffix, scales_name);
  return missing(scales_name);
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
      if (there != nullptr) strange = there;
    }
    if (there == nullptr || there == form.weights || there->dtype != convention.weights_dtype) continue;
    if (match != nullptr)
      return wrong(
          fmt::format("{} and {} are two forms of one tensor", place(index, *form.weights), place(index, *there)));
    match = &convention;
    form.weights = there;
  }
  if (match == nullptr) {
    if (strange == nullptr) return missing(spec.name);
    return wrong(fmt::format("{} is stored as {}, which cannot be decoded there", place(index, *strange),
                             dtype_name(strange->dtype)));
  }
  auto found = find_scales(index, spec.name, match, form);
  if (!found) return Problem(std::move(found.error()));
  form.format = (*found)->format;

  const Format& stored = format(form.format);
  const int cols = spec.shape.cols;
  if (cols % stored.block_cols != 0)
    return wrong(fmt::format("{} is stored as {}, but its {} columns are not a multiple of {}",
                             place(index, *form.weights), stored.name, cols, stored.block_cols));
  const int stacked = spec.stacked, rows = spec.shape.rows;
  if (auto fits = check_part(index, *form.weights, stacked, rows, stored.row_weight_bytes(cols)); !fits)
    return Problem(fits.error());
  if (form.scales == nullptr) return form;
  if (stacked > 1 && rows / stacked % stored.scale_rows != 0)
    return wrong(fmt::format("{} is stored as {}, but its stacked matrices of {} rows are no multiple of {}",
                             place(index, *form.weights), stored.name, rows / stacked, stored.scale_rows));
  const int scale_rows = (rows + stored.scale_rows - 1) / stored.scale_rows;
  if (auto fits = check_part(index, *form.scales, stacked, scale_rows, stored.scale_row_bytes(cols)); !fits)
    return Problem(fits.error());
  return form;
}

std::string compressed_name(std::string_view name, int first_row, int rows) {
  return fmt::format("{}{}{}.{}", name, kCompressedInfix, first_row, rows);
}

bool is_compressed(const TensorRecord& tensor) {
  return tensor.dtype == Dtype::u8 && tensor.name().find(kCompressedInfix) != std::string_view::npos;
}

bool has_compressed_rows(const TensorIndex& index, const TensorSpec& spec) {
  const std::string beginning = fmt::format("{}{}", spec.name, kCompressedInfix);
  for (std::size_t number = 0; number < index.count(); ++number)
    if (index.tensor(number).name().starts_with(beginning)) return true;
  return false;
}

tl::expected<const TensorRecord*, StorageProblem> find_compressed(const TensorIndex& index, const TensorSpec& spec) {
  const TensorRecord* const stream = index.find(compressed_name(spec.name, spec.first_row, spec.held().rows));
  if (stream == nullptr) return nullptr;
  if (const TensorRecord* const whole = index.find(spec.name); whole != nullptr)
    return wrong(fmt::format("{} and {} are two forms of one tensor", place(index, *whole), place(index, *stream)));
  const std::uint64_t numbers =
      static_cast<std::uint64_t>(spec.held().rows) * static_cast<std::uint64_t>(spec.held().cols);
  if (stream->dtype != Dtype::u8 || stream->bytes < Bf16Stream::front_bytes(numbers) || stream->bytes >= 2 * numbers)
    return wrong(fmt::format("{} has {} bytes of {}, which are no {} numbers compressed", place(index, *stream),
                             stream->bytes, dtype_name(stream->dtype), numbers));
  return stream;
}

tl::expected<const TensorRecord*, StorageProblem> find_ids(const TensorIndex& index, const TensorSpec& spec) {
  const TensorRecord* const there = index.find(spec.name);
  if (there == nullptr) return missing(spec.name);
  if (there->dtype != Dtype::i64 && there->dtype != Dtype::i32)
    return wrong(fmt::format("{} is stored as {}, wanted is {}", place(index, *there), dtype_name(there->dtype),
                             dtype_name(Dtype::i64)));
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(spec.shape.cols) * dtype_bits(there->dtype) / 8;
  if (auto fits = check_part(index, *there, 1, spec.shape.rows, row_bytes); !fits) return Problem(fits.error());
  return there;
}

WrittenForm written_form(FormatId id, const std::string& name, Shape shape) {
  // Not the spellings that put ".scale" in place of ".weight": int8 would then be told apart by the type of a tensor
  // that a reader has to look for first.
  const auto* const convention = std::find_if(std::begin(kConventions), std::end(kConventions), [&](const auto& each) {
    return each.format == id && !each.scales_suffix.starts_with('.');
  });
  SLUICE_CHECK(convention != std::end(kConventions));
  const Format& stored = format(id);
  const auto dims = [](int rows, std::uint64_t row_bytes, Dtype type) {
    return std::vector<std::uint64_t>{static_cast<std::uint64_t>(rows), row_bytes * 8 / dtype_bits(type)};
  };
  WrittenForm form{{name + std::string(convention->weights_suffix), convention->weights_dtype,
                    dims(shape.rows, stored.row_weight_bytes(shape.cols), convention->weights_dtype)},
                   {}};
  if (stored.scales == ScaleKind::none) return form;
  const int rows = (shape.rows + stored.scale_rows - 1) / stored.scale_rows;
  form.scales = {name + std::string(convention->scales_suffix), convention->scales_dtype,
                 dims(rows, stored.scale_row_bytes(shape.cols), convention->scales_dtype)};
  if (form.scales->shape[1] == 1 && stored.scale_rows == 1) form.scales->shape.pop_back();  // [rows]: one each
  return form;
}

}  // namespace sluice
