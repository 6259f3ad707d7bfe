// See safetensors_header.h.
#include "checkpoint/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "base/simdjson_refusal.h"
#include "base/units.h"

namespace sluice {

namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kMaxNameBytes = 4096;
constexpr int kMaxRank = 16;
constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 60;  // sums of offsets cannot overflow below
constexpr std::size_t kTypicalEntryBytes = 150;               // of JSON, for the first guess of a capacity

// Walks the JSON of one header. Functions return false and leave a sentence in `problem` when something is wrong.
class HeaderWalk {
 public:
  HeaderWalk(const HeaderPlace& place, std::size_t text_bytes) : place_(place) {
    header_.names = std::make_unique_for_overwrite<char[]>(text_bytes);
    header_.tensors.reserve(text_bytes / kTypicalEntryBytes);
  }

  bool walk(ondemand::document& document);
  bool check_extents();

  SafetensorsHeader take() { return std::move(header_); }
  std::string problem() const { return tensor_.empty() ? problem_ : where_ + in_quotes(tensor_) + ": " + problem_; }

 private:
  bool add_tensor(std::string_view name, ondemand::value value);
  bool read_fields(ondemand::value value, TensorRecord& tensor);
  bool read_dtype(ondemand::value value, TensorRecord& tensor);
  bool read_shape(ondemand::value value, TensorRecord& tensor);
  bool read_offsets(ondemand::value value, TensorRecord& tensor);
  bool check_size(const TensorRecord& tensor);
  bool skip_metadata(ondemand::value value);

  bool wrong(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool wrong(simdjson::error_code code) {
    const bool type = code == simdjson::INCORRECT_TYPE || code == simdjson::NUMBER_ERROR;
    return wrong(type ? "a value of its header is not of the kind that belongs there"
                      : fmt::format("the header is not valid JSON ({})", simdjson::error_message(code)));
  }

  const HeaderPlace& place_;
  SafetensorsHeader header_;
  std::size_t names_used_ = 0;
  std::string_view tensor_;  // being read; empty outside of an entry
  std::string where_ = "tensor ";
  std::string problem_;
};

bool HeaderWalk::walk(ondemand::document& document) {
  ondemand::object entries;
  const simdjson::error_code kind = document.get_object().get(entries);
  if (kind == simdjson::INCORRECT_TYPE) return wrong("the header is not a JSON object");
  if (kind) return wrong(kind);
  for (auto item : entries) {
    ondemand::field field;
    std::string_view name;
    if (auto code = std::move(item).get(field)) return wrong(code);
    if (auto code = field.unescaped_key().get(name)) return wrong(code);
    if (!(name == "__metadata__" ? skip_metadata(field.value()) : add_tensor(name, field.value()))) return false;
    where_ = "after tensor ";  // a syntax error from here on belongs to no tensor yet: name the last good one
  }
  tensor_ = {};
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
    return wrong("the header is not valid JSON (something follows the object)");
  return true;
}

bool HeaderWalk::skip_metadata(ondemand::value value) {
  ondemand::object entries;
  if (value.get_object().get(entries) != simdjson::SUCCESS) return wrong("__metadata__ is not an object");
  for (auto item : entries) {
    ondemand::field field;
    std::string_view text;
    if (auto code = std::move(item).get(field)) return wrong(code);
    if (auto code = field.unescaped_key().get(text)) return wrong(code);
    if (field.value().get_string().get(text) != simdjson::SUCCESS)
      return wrong("a value of __metadata__ is not a string");
  }
  return true;
}

bool HeaderWalk::add_tensor(std::string_view name, ondemand::value value) {
  if (name.size() > kMaxNameBytes) return wrong(fmt::format("a tensor's name has {} bytes", name.size()));
  // The arena is as large as the JSON text, and a name is never longer than its spelling there.
  char* const kept = header_.names.get() + names_used_;
  std::memcpy(kept, name.data(), name.size());
  names_used_ += name.size();

  TensorRecord tensor;
  tensor.name_begin = kept;
  tensor.name_bytes = static_cast<std::uint16_t>(name.size());
  tensor.file = static_cast<std::uint16_t>(place_.file);
  tensor_ = tensor.name();
  where_ = "tensor ";
  if (!read_fields(value, tensor) || !check_size(tensor)) return false;
  tensor.offset += place_.data_begin;
  header_.tensors.push_back(tensor);
  return true;
}

bool HeaderWalk::read_fields(ondemand::value value, TensorRecord& tensor) {
  ondemand::object fields;
  if (auto code = value.get_object().get(fields)) return wrong(code);
  bool dtype = false, shape = false, offsets = false;
  const auto first = [this](bool& seen, const char* name) {
    if (!std::exchange(seen, true)) return true;
    return wrong(fmt::format("its header says {} twice", name));
  };
  for (auto item : fields) {
    ondemand::field field;
    if (auto code = std::move(item).get(field)) return wrong(code);
    const ondemand::raw_json_string key = field.key();
    if (key.unsafe_is_equal("dtype")) {
      if (!first(dtype, "dtype") || !read_dtype(field.value(), tensor)) return false;
    } else if (key.unsafe_is_equal("shape")) {
      if (!first(shape, "shape") || !read_shape(field.value(), tensor)) return false;
    } else if (key.unsafe_is_equal("data_offsets")) {
      if (!first(offsets, "data_offsets") || !read_offsets(field.value(), tensor)) return false;
    } else {
      return wrong("its header has a field that is not dtype, shape or data_offsets");
    }
  }
  if (!dtype) return wrong("its header lacks dtype");
  if (!shape) return wrong("its header lacks shape");
  if (!offsets) return wrong("its header lacks data_offsets");
  return true;
}

bool HeaderWalk::read_dtype(ondemand::value value, TensorRecord& tensor) {
  std::string_view name;
  if (auto code = value.get_string().get(name)) return wrong(code);
  const std::optional<Dtype> dtype = parse_dtype(name);
  if (!dtype) return wrong(fmt::format("its dtype {} is not known", in_quotes(name)));
  tensor.dtype = *dtype;
  return true;
}

bool HeaderWalk::read_shape(ondemand::value value, TensorRecord& tensor) {
  ondemand::array dims;
  if (auto code = value.get_array().get(dims)) return wrong(code);
  std::uint32_t shape[kMaxRank];
  int rank = 0;
  for (auto item : dims) {
    std::uint64_t dim = 0;
    const simdjson::error_code code = item.get_uint64().get(dim);
    if (code == simdjson::INCORRECT_TYPE || code == simdjson::NUMBER_ERROR || code == simdjson::NUMBER_OUT_OF_RANGE)
      return wrong("its shape holds something that is not a size");
    if (code) return wrong(code);
    if (dim > std::numeric_limits<std::uint32_t>::max()) return wrong(fmt::format("its shape has a size of {}", dim));
    if (rank == kMaxRank) return wrong(fmt::format("its shape has more than {} sizes", kMaxRank));
    shape[rank++] = static_cast<std::uint32_t>(dim);
  }
  tensor.rank = static_cast<std::uint8_t>(rank);
  if (rank <= kInlineDims) {
    std::copy_n(shape, rank, tensor.dims);
  } else {
    tensor.dims[0] = static_cast<std::uint32_t>(header_.long_shapes.size());
    header_.long_shapes.insert(header_.long_shapes.end(), shape, shape + rank);
  }
  return true;
}

bool HeaderWalk::read_offsets(ondemand::value value, TensorRecord& tensor) {
  ondemand::array numbers;
  if (auto code = value.get_array().get(numbers)) return wrong(code);
  std::uint64_t offsets[2] = {};
  int count = 0;
  for (auto item : numbers) {
    if (count == 2) return wrong("its data_offsets are not two numbers");
    const simdjson::error_code code = item.get_uint64().get(offsets[count]);
    if (code == simdjson::INCORRECT_TYPE || code == simdjson::NUMBER_ERROR || code == simdjson::NUMBER_OUT_OF_RANGE)
      return wrong("its data_offsets hold something that is not an offset");
    if (code) return wrong(code);
    ++count;
  }
  if (count != 2) return wrong("its data_offsets are not two numbers");
  if (offsets[0] > offsets[1])
    return wrong(fmt::format("its data ends at {} before it begins at {}", offsets[1], offsets[0]));
  if (offsets[1] > kMaxOffset) return wrong(fmt::format("its data ends at {}, beyond any file", offsets[1]));
  tensor.offset = offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  return true;
}

bool HeaderWalk::check_size(const TensorRecord& tensor) {
  const std::span<const std::uint32_t> shape = header_.shape(tensor);
  std::uint64_t bits = dtype_bits(tensor.dtype);
  for (std::uint32_t dim : shape)
    if (__builtin_mul_overflow(bits, std::uint64_t{dim}, &bits))
      return wrong(fmt::format("its shape [{}] is absurdly large", fmt::join(shape, ", ")));
  if (bits % 8 != 0 || bits / 8 != tensor.bytes)
    return wrong(fmt::format("its shape [{}] of {} needs {} bytes, its data_offsets hold {}", fmt::join(shape, ", "),
                             dtype_name(tensor.dtype), format_count(bits / 8), format_count(tensor.bytes)));
  return true;
}

// Requires: walk. Every tensor inside the file, no two sharing a byte, nothing after the last.
bool HeaderWalk::check_extents() {
  const std::vector<TensorRecord>& tensors = header_.tensors;
  const auto before = [](const TensorRecord& left, const TensorRecord& right) { return left.offset < right.offset; };
  std::vector<std::uint32_t> order;  // by offset; empty if the header is in that order already, as releases are
  if (!std::is_sorted(tensors.begin(), tensors.end(), before)) {
    order.resize(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto left, auto right) { return before(tensors[left], tensors[right]); });
  }
  std::uint64_t end = place_.data_begin;
  const TensorRecord *last = nullptr, *cut = nullptr;
  for (std::size_t place = 0; place < tensors.size(); ++place) {
    const TensorRecord& tensor = tensors[order.empty() ? place : order[place]];
    if (tensor.bytes == 0) continue;
    if (tensor.offset < end)
      return wrong(fmt::format("tensors {} and {} overlap", in_quotes(last->name()), in_quotes(tensor.name())));
    end = tensor.offset + tensor.bytes;
    last = &tensor;
    if (end > place_.file_bytes && cut == nullptr) cut = &tensor;
  }
  if (cut != nullptr) {
    const std::uint64_t missing = end - place_.file_bytes;
    return wrong(fmt::format("the file is cut short: {} byte{} missing (of {}), from tensor {} on",
                             format_count(missing), missing == 1 ? " is" : "s are", format_count(end),
                             in_quotes(cut->name())));
  }
  if (end < place_.file_bytes)
    return wrong(fmt::format("{} bytes follow the last tensor of its header", format_count(place_.file_bytes - end)));
  return true;
}

}  // namespace

struct HeaderParser::Buffers {
  ondemand::parser json;
};

HeaderParser::HeaderParser() : buffers_(std::make_unique<Buffers>()) {}
HeaderParser::~HeaderParser() = default;
std::size_t HeaderParser::padding() { return simdjson::SIMDJSON_PADDING; }

Result<SafetensorsHeader> HeaderParser::parse(std::string_view text, const HeaderPlace& place) {
  const auto damaged = [&](std::string_view problem) {
    return fail(ErrorKind::corrupt, fmt::format("{}: {}", place.path, problem), "fetch this file again");
  };
  ondemand::document document;
  const auto parsed = buffers_->json.iterate(text.data(), text.size(), text.size() + padding()).get(document);
  if (const auto code = or_throw_refusal(parsed, "the header of a shard"))
    return damaged(fmt::format("the header is not valid JSON ({})", simdjson::error_message(code)));
  HeaderWalk walk(place, text.size());
  if (!walk.walk(document) || !walk.check_extents()) return damaged(walk.problem());
  return walk.take();
}

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 200;
  std::string text = "'";
  for (char letter : name.substr(0, kShown)) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < 0x20 || code == 0x7f)
      text += fmt::format("\\x{:02x}", code);
    else
      text += letter;
  }
  return text + (name.size() > kShown ? "…'" : "'");
}

}  // namespace sluice
