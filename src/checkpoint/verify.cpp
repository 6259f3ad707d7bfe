// See verify.h.
//
// Files are read in windows, a few in flight while one is checked, in the order of the files. A window is read with one
// disk page more than it owns, because an element may begin in it and end after it (tensors need not be aligned to
// their elements).
#include "checkpoint/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/check.h"
#include "base/units.h"
#include "checkpoint/storage.h"
#include "checkpoint/stream_check.h"
#include "formats/scales.h"
#include "io/aligned.h"
#include "io/read_queue.h"

namespace sluice {

namespace {

constexpr std::size_t kWindowsInFlight = 4;

// What is looked for in a tensor.
enum class Look { nothing, bf16, f16, f32, e4m3, e8m0 };

Look look_of(const TensorIndex& index, const TensorRecord& tensor) {
  switch (tensor.dtype) {
    case Dtype::bf16:
      return Look::bf16;
    case Dtype::f16:
      return Look::f16;
    case Dtype::f32:
      return Look::f32;
    case Dtype::f8_e4m3:
      return Look::e4m3;
    case Dtype::f8_e8m0:
      return Look::e8m0;
    default:
      return is_mxfp4_scale(index, tensor) ? Look::e8m0 : Look::nothing;
  }
}

struct Bad {
  std::uint64_t count = 0, first = 0;
};

// Elements of which every bit of `exponent` is set: infinities and NaN (for E4M3, which has no infinities, the bits of
// NaN). `bytes` may have any alignment.
template <class Word>
Bad find_not_finite(const std::byte* bytes, std::uint64_t count, Word exponent) {
  const auto word = [bytes](std::uint64_t element) {
    Word value;
    std::memcpy(&value, bytes + element * sizeof(Word), sizeof(Word));
    return value;
  };
  Bad bad;
  bool any = false;
  for (std::uint64_t element = 0; element < count; ++element)  // the common case: one pass that vectorizes
    any |= (word(element) & exponent) == exponent;
  if (!any) return bad;
  for (std::uint64_t element = 0; element < count; ++element)
    if ((word(element) & exponent) == exponent && bad.count++ == 0) bad.first = element;
  return bad;
}

Bad find_bad_scales(const std::byte* bytes, std::uint64_t count) {
  Bad bad;
  std::uint64_t begin = 0;
  while (begin < count) {
    const std::int64_t found = find_corrupt_scale(ScaleKind::e8m0, {bytes + begin, count - begin});
    if (found < 0) break;
    if (bad.count++ == 0) bad.first = begin + static_cast<std::uint64_t>(found);
    begin += static_cast<std::uint64_t>(found) + 1;
  }
  return bad;
}

Bad find_bad(Look look, const std::byte* bytes, std::uint64_t count) {
  switch (look) {
    case Look::bf16:
      return find_not_finite<std::uint16_t>(bytes, count, 0x7f80);
    case Look::f16:
      return find_not_finite<std::uint16_t>(bytes, count, 0x7c00);
    case Look::f32:
      return find_not_finite<std::uint32_t>(bytes, count, 0x7f800000);
    case Look::e4m3:
      return find_not_finite<std::uint8_t>(bytes, count, 0x7f);
    case Look::e8m0:
      return find_bad_scales(bytes, count);
    case Look::nothing:
      break;
  }
  return {};
}

class Verifier {
 public:
  Verifier(const TensorIndex& index, const Files& files, const VerifyOptions& options)
      : index_(index),
        files_(files),
        options_(options),
        slot_bytes_(options.window_bytes + kDiskPage),
        slots_(kWindowsInFlight * slot_bytes_),
        queue_(make_pread_queue(files, options.readers)) {}

  Result<> run(VerifyProgress progress);
  std::vector<WeightFault> faults() const;

 private:
  struct Window {
    int file = 0;
    std::uint64_t begin = 0, end = 0;  // owned bytes of the file
    std::uint64_t read_bytes = 0;
    std::optional<Result<>> status = {};  // none: it has not landed
  };
  bool submit_next(std::size_t slot);
  void take(const Window& window, const std::byte* bytes);
  void check(const Window& window, const std::byte* bytes);
  void check_stream(const TensorRecord& tensor, const Window& window, const std::byte* bytes);
  void sort_tensors(int file);

  const TensorIndex& index_;
  const Files& files_;
  const VerifyOptions& options_;
  const std::uint64_t slot_bytes_;
  PageArena slots_;
  Landings landings_;
  std::unique_ptr<ReadQueue> queue_;  // after what its requests write to

  int next_file_ = 0;
  std::uint64_t next_begin_ = 0;
  Window windows_[kWindowsInFlight];
  bool cancelled_ = false;
  int sorted_file_ = -1;
  std::vector<const TensorRecord*> sorted_;          // tensors of sorted_file_ by offset
  std::map<int, std::string> unreadable_;            // by file
  std::map<std::size_t, Bad> bad_;                   // by tensor number
  std::map<std::size_t, StreamCheck> open_streams_;  // likewise; those of which bytes are still to come
  std::map<std::size_t, std::string> bad_streams_;   // likewise
};

// False if every window has been asked for.
bool Verifier::submit_next(std::size_t slot) {
  while (next_file_ < files_.count() && next_begin_ >= files_.size(next_file_)) {
    ++next_file_;
    next_begin_ = 0;
  }
  if (next_file_ >= files_.count()) return false;
  const std::uint64_t size = files_.size(next_file_);
  Window& window = windows_[slot];
  window = {};
  window.file = next_file_;
  window.begin = next_begin_;
  window.end = std::min(size, window.begin + options_.window_bytes);
  window.read_bytes = std::min(size, window.end + kDiskPage) - window.begin;
  next_begin_ = window.end;
  const Extent extent{window.file, window.begin, window.read_bytes, 0};
  queue_->submit(slot, {&extent, 1}, slots_.slice(slot * slot_bytes_, slot_bytes_), Urgency::demand, landings_);
  return true;
}

Result<> Verifier::run(VerifyProgress progress) {
  std::uint64_t done = 0;
  std::size_t submitted = 0;
  while (submitted < kWindowsInFlight && submit_next(submitted)) ++submitted;
  for (std::size_t next = 0; next < submitted; ++next) {
    const std::size_t slot = next % kWindowsInFlight;
    while (!windows_[slot].status) {
      Landed landed = landings_.wait();
      windows_[landed.tag].status = std::move(landed.status);
    }
    const Window& window = windows_[slot];
    take(window, window.status->has_value() ? slots_.data() + slot * slot_bytes_ : nullptr);
    progress(done += window.end - window.begin);
    if (options_.cancel != nullptr && options_.cancel->requested()) {
      cancelled_ = true;
      continue;  // what is in flight still writes to the slots
    }
    if (!cancelled_ && submit_next(slot)) ++submitted;
  }
  return cancelled_ ? Result<>(fail(ErrorKind::cancelled, "interrupted")) : Result<>();
}

// Bytes of the next window; null: it could not be read.
void Verifier::take(const Window& window, const std::byte* bytes) {
  if (bytes == nullptr)
    unreadable_.try_emplace(window.file, window.status->error().what);
  else
    check(window, bytes);
  if (options_.hasher != nullptr) options_.hasher->feed(window.file, window.begin, window.end - window.begin, bytes);
}

void Verifier::sort_tensors(int file) {
  if (file == sorted_file_) return;
  sorted_file_ = file;
  sorted_.clear();
  for (const TensorRecord& tensor : index_.tensors_of(file))
    if (tensor.bytes > 0) sorted_.push_back(&tensor);
  std::sort(sorted_.begin(), sorted_.end(),
            [](const auto* left, const auto* right) { return left->offset < right->offset; });
}

// `bytes` begin at window.begin. Elements belong to the window in which they begin.
void Verifier::check(const Window& window, const std::byte* bytes) {
  sort_tensors(window.file);
  auto next = std::upper_bound(
      sorted_.begin(), sorted_.end(), window.begin,
      [](std::uint64_t place, const TensorRecord* tensor) { return place < tensor->offset + tensor->bytes; });
  for (; next != sorted_.end() && (*next)->offset < window.end; ++next) {
    const TensorRecord& tensor = **next;
    if (is_compressed(tensor)) check_stream(tensor, window, bytes);
    const Look look = look_of(index_, tensor);
    if (look == Look::nothing) continue;
    const std::uint64_t width = dtype_bits(tensor.dtype) / 8;
    const auto element_at = [&](std::uint64_t place) {  // the first that begins at `place` or later
      return place <= tensor.offset ? 0 : std::min((place - tensor.offset + width - 1) / width, tensor.bytes / width);
    };
    const std::uint64_t first = element_at(window.begin), count = element_at(window.end) - first;
    const std::byte* const begin = bytes + (tensor.offset + first * width - window.begin);
    const Bad found = find_bad(look, begin, count);
    if (found.count == 0) continue;
    Bad& total = bad_.try_emplace(index_.number(tensor), Bad{0, first + found.first}).first->second;
    total.first = std::min(total.first, first + found.first);
    total.count += found.count;
  }
}

// Windows of a file come one after the other; after one that could not be read, nothing can be said of a stream.
void Verifier::check_stream(const TensorRecord& tensor, const Window& window, const std::byte* bytes) {
  if (unreadable_.contains(window.file)) return;
  const std::size_t number = index_.number(tensor);
  const std::uint64_t begin = std::max(window.begin, tensor.offset);
  const std::uint64_t end = std::min(window.end, tensor.offset + tensor.bytes);
  StreamCheck& stream = open_streams_.try_emplace(number, tensor.bytes).first->second;
  stream.feed({bytes + (begin - window.begin), end - begin});
  if (end < tensor.offset + tensor.bytes) return;
  if (auto problem = stream.problem()) bad_streams_.emplace(number, *std::move(problem));
  open_streams_.erase(number);
}

// Where an element stands: [row, column] of a matrix.
std::string coordinates(std::span<const std::uint32_t> shape, std::uint64_t element) {
  std::vector<std::uint64_t> places(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    places[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(places, ", "));
}

std::vector<WeightFault> Verifier::faults() const {
  std::vector<WeightFault> faults;
  for (const auto& [file, problem] : unreadable_) faults.push_back({file, "", problem});
  for (const auto& [number, bad] : bad_) {
    const TensorRecord& tensor = index_.tensor(number);
    const bool one = bad.count == 1;
    const char* const what = look_of(index_, tensor) == Look::e8m0
                                 ? (one ? "scale byte is corrupt" : "scale bytes are corrupt")
                                 : (one ? "value is not finite" : "values are not finite");
    faults.push_back({tensor.file, std::string(tensor.name()),
                      fmt::format("{} {}, the first at {}", format_count(bad.count), what,
                                  coordinates(index_.shape(tensor), bad.first))});
  }
  for (const auto& [number, problem] : bad_streams_) {
    const TensorRecord& tensor = index_.tensor(number);
    faults.push_back({tensor.file, std::string(tensor.name()), problem});
  }
  std::stable_sort(faults.begin(), faults.end(),
                   [](const auto& left, const auto& right) { return left.file < right.file; });
  return faults;
}

}  // namespace

std::uint64_t verify_bytes(const Files& files) {
  std::uint64_t bytes = 0;
  for (int file = 0; file < files.count(); ++file) bytes += files.size(file);
  return bytes;
}

Result<std::vector<WeightFault>> verify_weights(const TensorIndex& index, const Files& files,
                                                const VerifyOptions& options, VerifyProgress progress) {
  SLUICE_CHECK(files.count() == static_cast<int>(index.files().size()));
  SLUICE_CHECK(options.window_bytes > 0 && options.window_bytes % kDiskPage == 0);
  Verifier verifier(index, files, options);
  TRY(verifier.run(progress));
  return verifier.faults();
}

}  // namespace sluice
