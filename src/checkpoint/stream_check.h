// Looks through a compressed tensor (formats/bf16_stream.h) while its bytes come past, in pieces of any size.
//
// Holds a chunk of it at most, beside its table. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/bf16_stream.h"

namespace sluice {

class StreamCheck {
 public:
  explicit StreamCheck(std::uint64_t bytes) : bytes_(bytes) {}  // of the whole tensor

  void feed(std::span<const std::byte> piece);
  // What is wrong with what came so far, as a sentence without subject: only the first fault of a stream is told.
  std::optional<std::string> problem() const;

 private:
  std::uint64_t wanted() const;  // bytes that are looked at together next
  void look(std::span<const std::byte> bytes);
  void look_at_chunk(std::span<const std::byte> bytes);

  std::uint64_t bytes_;
  std::vector<std::byte> held_;  // of what is not whole yet
  bool front_known_ = false;
  Bf16Stream stream_;
  std::size_t next_ = 0;  // chunk
  std::vector<std::byte> numbers_;
  std::optional<std::string> problem_;
  std::uint64_t not_finite_ = 0, first_not_finite_ = 0;
};

}  // namespace sluice
