// See stream_check.h.
#include "checkpoint/stream_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/units.h"

namespace sluice {

std::uint64_t StreamCheck::wanted() const {
  if (front_known_) return next_ < stream_.chunks() ? stream_.chunk(next_).bytes : 0;
  if (held_.size() < kStreamHeadBytes) return kStreamHeadBytes;
  const Shape shape = Bf16Stream::claimed_shape(held_);
  return Bf16Stream::front_bytes(static_cast<std::uint64_t>(shape.rows) * static_cast<std::uint64_t>(shape.cols));
}

void StreamCheck::feed(std::span<const std::byte> piece) {
  while (!piece.empty() && !problem_) {
    const std::uint64_t wanted = this->wanted();
    if (wanted > bytes_) {
      problem_ = fmt::format("has {} bytes, and its table alone needs {}", format_count(bytes_), format_count(wanted));
      return;
    }
    if (held_.empty() && piece.size() >= wanted && front_known_) {  // the common case: nothing is copied
      look(piece.first(wanted));
      piece = piece.subspan(wanted);
      continue;
    }
    const std::size_t count = std::min<std::uint64_t>(piece.size(), wanted - held_.size());
    held_.insert(held_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
    piece = piece.subspan(count);
    if (held_.size() < this->wanted()) continue;
    look(held_);
    held_.clear();
  }
}

void StreamCheck::look(std::span<const std::byte> bytes) {
  if (front_known_) return look_at_chunk(bytes);
  problem_ = Bf16Stream::read(bytes, Bf16Stream::claimed_shape(bytes), bytes_, stream_);
  front_known_ = true;
}

void StreamCheck::look_at_chunk(std::span<const std::byte> bytes) {
  const std::size_t number = next_++;
  const Bf16Chunk chunk = stream_.chunk(number);
  numbers_.resize(2u * chunk.numbers);
  if (!decode_chunk(stream_.exponents(), chunk, bytes, numbers_)) {
    problem_ = fmt::format("is damaged in its chunk {} of {}", number, stream_.chunks());
    return;
  }
  for (std::size_t at = 0; at < numbers_.size(); at += 2) {
    std::uint16_t value;
    std::memcpy(&value, numbers_.data() + at, sizeof value);
    if ((value & 0x7f80) == 0x7f80 && not_finite_++ == 0) first_not_finite_ = number * kChunkNumbers + at / 2;
  }
}

std::optional<std::string> StreamCheck::problem() const {
  if (problem_ || not_finite_ == 0) return problem_;
  const auto cols = static_cast<std::uint64_t>(stream_.shape().cols);
  return fmt::format("{} value{} not finite, the first at [{}, {}]", format_count(not_finite_),
                     not_finite_ == 1 ? " is" : "s are", first_not_finite_ / cols, first_not_finite_ % cols);
}

}  // namespace sluice
