// See bf16_stream.h.
#include "formats/bf16_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace sluice {

namespace {

constexpr char kMagic[8] = {'S', 'L', 'U', 'I', 'C', 'E', 'B', '3'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kExponentsAt = 20;  // in the head
constexpr int kNamed = 7;                 // exponents that have a code
constexpr unsigned kEscape = 7;
constexpr std::uint64_t kUnit = 64;
constexpr std::size_t kPlaneBytes = 192;  // of a group

std::uint64_t up_to_unit(std::uint64_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }
std::uint64_t numbers_of(Shape shape) {
  return static_cast<std::uint64_t>(shape.rows) * static_cast<std::uint64_t>(shape.cols);
}
std::uint64_t chunks_of(std::uint64_t numbers) { return (numbers + kChunkNumbers - 1) / kChunkNumbers; }

template <class Word>
Word load(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}
template <class Word>
void store(Word word, std::byte* to) {
  std::memcpy(to, &word, sizeof word);
}

unsigned exponent_of(std::uint16_t number) { return number >> 7 & 0xff; }
std::byte rest_of(std::uint16_t number) { return static_cast<std::byte>((number >> 8 & 0x80) | (number & 0x7f)); }
std::uint16_t number_of(unsigned exponent, std::byte rest) {
  const unsigned bits = std::to_integer<unsigned>(rest);
  return static_cast<std::uint16_t>((bits & 0x80) << 8 | exponent << 7 | (bits & 0x7f));
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// The seven most frequent ones, of equals the smaller; rising.
Exponents choose(std::span<const ExponentCounts> chunks) {
  std::array<std::uint64_t, 256> all{};
  for (const ExponentCounts& counts : chunks)
    for (std::size_t exponent = 0; exponent < all.size(); ++exponent) all[exponent] += counts[exponent];
  std::array<std::uint8_t, 256> order;
  for (std::size_t exponent = 0; exponent < order.size(); ++exponent)
    order[exponent] = static_cast<std::uint8_t>(exponent);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::uint8_t exponent) { return all[exponent]; });
  Exponents chosen{};
  std::copy_n(order.begin(), kNamed, chosen.begin());
  std::sort(chosen.begin(), chosen.begin() + kNamed);
  return chosen;
}

}  // namespace

ExponentCounts count_exponents(Bf16Numbers numbers) {
  SLUICE_CHECK(numbers.size() <= 2 * kChunkNumbers);
  std::array<ExponentCounts, 2> counts{};  // neighbours are often equal: two tables, so that they need not wait
  for (std::size_t at = 0; at + 2 <= numbers.size(); at += 2)
    ++counts[at / 2 % 2][exponent_of(load<std::uint16_t>(numbers.data() + at))];
  for (std::size_t exponent = 0; exponent < 256; ++exponent)
    counts[0][exponent] = static_cast<std::uint16_t>(counts[0][exponent] + counts[1][exponent]);
  return counts[0];
}

std::uint64_t Bf16Stream::front_bytes(std::uint64_t numbers) {
  return kStreamHeadBytes + up_to_unit(chunks_of(numbers) * sizeof(std::uint16_t));
}

std::uint64_t Bf16Stream::numbers() const { return numbers_of(shape_); }

// From the escapes of each chunk: how many numbers it has, and where it lies.
void Bf16Stream::place_chunks() {
  std::uint64_t left = numbers();
  bytes_ = front_bytes(left);
  for (Bf16Chunk& chunk : table_) {
    chunk.numbers = static_cast<std::uint16_t>(std::min<std::uint64_t>(left, kChunkNumbers));
    left -= chunk.numbers;
    chunk.begin = bytes_;
    chunk.bytes = chunk.is_plain() ? 2u * chunk.numbers
                                   : chunk.group_bytes() + static_cast<std::uint32_t>(up_to_unit(chunk.escapes));
    bytes_ += chunk.bytes;
  }
}

Bf16Stream Bf16Stream::of(Shape shape, std::span<const ExponentCounts> chunks) {
  SLUICE_CHECK(chunks.size() == chunks_of(numbers_of(shape)));
  Bf16Stream stream;
  stream.shape_ = shape;
  stream.exponents_ = choose(chunks);
  stream.table_.resize(chunks.size());
  for (std::size_t number = 0; number < chunks.size(); ++number) {
    const ExponentCounts& counts = chunks[number];
    unsigned all = 0, named = 0;
    for (const unsigned count : counts) all += count;
    for (int code = 0; code < kNamed; ++code) named += counts[stream.exponents_[static_cast<std::size_t>(code)]];
    const unsigned escapes = all - named;
    const bool gains = Bf16Chunk::group_bytes_of(all) + up_to_unit(escapes) <= 2u * all;
    stream.table_[number].escapes = gains ? static_cast<std::uint16_t>(escapes) : kPlainChunk;
  }
  stream.place_chunks();
  return stream;
}

std::vector<std::byte> Bf16Stream::front() const {
  std::vector<std::byte> bytes(front_bytes(numbers()));
  std::memcpy(bytes.data(), kMagic, sizeof kMagic);
  store(kVersion, bytes.data() + 8);
  store(static_cast<std::uint32_t>(shape_.rows), bytes.data() + 12);
  store(static_cast<std::uint32_t>(shape_.cols), bytes.data() + 16);
  std::memcpy(bytes.data() + kExponentsAt, exponents_.data(), kNamed);
  for (std::size_t number = 0; number < table_.size(); ++number)
    store(table_[number].escapes, bytes.data() + kStreamHeadBytes + number * sizeof(std::uint16_t));
  return bytes;
}

Shape Bf16Stream::claimed_shape(Bf16Numbers head) {
  constexpr std::uint32_t kMost = 0x7fffffff;
  const auto rows = load<std::uint32_t>(head.data() + 12), cols = load<std::uint32_t>(head.data() + 16);
  return {static_cast<int>(std::min(rows, kMost)), static_cast<int>(std::min(cols, kMost))};
}

std::optional<std::string> Bf16Stream::read(Bf16Numbers begin, Shape shape, std::uint64_t bytes, Bf16Stream& into) {
  const std::uint64_t front = front_bytes(numbers_of(shape));
  if (bytes < front || begin.size() < front)
    return fmt::format("has {} bytes, and its table alone needs {}", bytes, front);
  if (std::memcmp(begin.data(), kMagic, sizeof kMagic) != 0) return "does not begin as a compressed tensor does";
  if (const auto version = load<std::uint32_t>(begin.data() + 8); version != kVersion)
    return fmt::format("is compressed in version {}, and this program knows version {}", version, kVersion);
  const auto rows = load<std::uint32_t>(begin.data() + 12), cols = load<std::uint32_t>(begin.data() + 16);
  if (rows != static_cast<std::uint32_t>(shape.rows) || cols != static_cast<std::uint32_t>(shape.cols))
    return fmt::format("says that it holds [{}, {}], wanted is [{}, {}]", rows, cols, shape.rows, shape.cols);
  into.shape_ = shape;
  into.exponents_ = {};
  std::memcpy(into.exponents_.data(), begin.data() + kExponentsAt, kNamed);
  for (std::size_t code = 1; code < kNamed; ++code)
    if (into.exponents_[code] <= into.exponents_[code - 1])
      return fmt::format("names exponent {} after {}", into.exponents_[code], into.exponents_[code - 1]);
  into.table_.resize(chunks_of(numbers_of(shape)));
  for (std::size_t number = 0; number < into.table_.size(); ++number)
    into.table_[number].escapes = load<std::uint16_t>(begin.data() + kStreamHeadBytes + number * sizeof(std::uint16_t));
  into.place_chunks();
  for (const Bf16Chunk& chunk : into.table_)
    if (chunk.bytes > 2u * chunk.numbers)
      return fmt::format("gives a chunk of {} numbers {} escapes", chunk.numbers, chunk.escapes);
  if (into.bytes_ != bytes) return fmt::format("has {} bytes, and its table tells of {}", bytes, into.bytes_);
  const std::size_t table_end = kStreamHeadBytes + into.table_.size() * sizeof(std::uint16_t);
  if (!all_zero(begin.subspan(kExponentsAt + kNamed, kStreamHeadBytes - kExponentsAt - kNamed)) ||
      !all_zero(begin.subspan(table_end, front - table_end)))
    return "holds something where there should be nothing";
  return std::nullopt;
}

bool encode_chunk(const Exponents& exponents, const Bf16Chunk& chunk, Bf16Numbers numbers, std::span<std::byte> to) {
  SLUICE_CHECK(numbers.size() == 2u * chunk.numbers && to.size() == chunk.bytes);
  if (chunk.is_plain()) {
    std::ranges::copy(numbers, to.begin());
    return true;
  }
  std::array<std::uint8_t, 256> code_of;
  code_of.fill(kEscape);
  for (int code = 0; code < kNamed; ++code)
    code_of[exponents[static_cast<std::size_t>(code)]] = static_cast<std::uint8_t>(code);
  std::ranges::fill(to, std::byte{0});
  std::size_t escape = chunk.group_bytes();
  const std::size_t end = escape + chunk.escapes;
  for (std::size_t word = 0; word * 64 < chunk.numbers; ++word) {
    std::byte* const group = to.data() + word / 8 * kGroupBytes;
    std::array<std::uint64_t, 3> planes{};
    const std::size_t count = std::min<std::size_t>(64, chunk.numbers - word * 64);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const auto number = load<std::uint16_t>(numbers.data() + 2 * (word * 64 + lane));
      const std::uint64_t code = code_of[exponent_of(number)];
      for (std::size_t plane = 0; plane < planes.size(); ++plane) planes[plane] |= (code >> plane & 1) << lane;
      group[kPlaneBytes + word % 8 * 64 + lane] = rest_of(number);
      if (code != kEscape) continue;
      if (escape == end) return false;
      to[escape++] = static_cast<std::byte>(exponent_of(number));
    }
    for (std::size_t plane = 0; plane < planes.size(); ++plane)
      store(planes[plane], group + (word % 8 * planes.size() + plane) * sizeof planes[plane]);
  }
  return escape == end;
}

std::vector<std::byte> encode_matrix(Shape shape, Bf16Numbers numbers) {
  constexpr std::size_t kChunkBytes = 2 * kChunkNumbers;
  std::vector<ExponentCounts> counts;
  for (std::size_t at = 0; at < numbers.size(); at += kChunkBytes)
    counts.push_back(count_exponents(numbers.subspan(at, std::min(kChunkBytes, numbers.size() - at))));
  const Bf16Stream stream = Bf16Stream::of(shape, counts);
  std::vector<std::byte> bytes = stream.front();
  bytes.resize(stream.bytes());
  for (std::size_t number = 0; number < stream.chunks(); ++number) {
    const Bf16Chunk chunk = stream.chunk(number);
    const bool as_counted =
        encode_chunk(stream.exponents(), chunk, numbers.subspan(kChunkBytes * number, 2u * chunk.numbers),
                     std::span(bytes).subspan(chunk.begin, chunk.bytes));
    SLUICE_CHECK(as_counted);
  }
  return bytes;
}

bool decode_chunk(const Exponents& exponents, const Bf16Chunk& chunk, std::span<const std::byte> from,
                  std::span<std::byte> to) {
  SLUICE_CHECK(from.size() == chunk.bytes && to.size() == 2u * chunk.numbers);
  if (chunk.is_plain()) {
    std::ranges::copy(from, to.begin());
    return true;
  }
  const std::size_t filled = chunk.group_bytes() / kGroupBytes * kGroupNumbers;
  std::size_t escape = chunk.group_bytes();
  const std::size_t end = escape + chunk.escapes;
  for (std::size_t number = 0; number < filled; ++number) {
    const std::byte* const group = from.data() + number / kGroupNumbers * kGroupBytes;
    const std::size_t word = number % kGroupNumbers / 64;
    unsigned code = 0;
    for (std::size_t plane = 0; plane < 3; ++plane)
      code |= static_cast<unsigned>(load<std::uint64_t>(group + (word * 3 + plane) * 8) >> number % 64 & 1) << plane;
    const std::byte rest = group[kPlaneBytes + number % kGroupNumbers];
    if (number >= chunk.numbers) {
      if (code != 0 || rest != std::byte{0}) return false;
      continue;
    }
    unsigned exponent = exponents[code];
    if (code == kEscape) {
      if (escape == end) return false;
      exponent = std::to_integer<unsigned>(from[escape++]);
      if (std::count(exponents.begin(), exponents.begin() + kNamed, exponent) > 0) return false;
    }
    store(number_of(exponent, rest), to.data() + 2 * number);
  }
  return escape == end && all_zero(from.subspan(end));
}

}  // namespace sluice
