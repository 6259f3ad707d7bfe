// Tests of unpack_bf16 of every kernel set: the numbers that formats/bf16_stream.h defines, and no byte beyond.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "compute/kernel_table.h"
#include "support/bf16_numbers.h"

namespace sluice {
namespace {

using test::Numbers;

// Bytes that end where nobody may touch the next one.
class Fenced {
 public:
  explicit Fenced(std::span<const std::byte> bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    room_ = (bytes.size() + page - 1) / page * page + page;
    void* const got = ::mmap(nullptr, room_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::uint8_t*>(got);
    data_ = base_ + room_ - page - bytes.size();
    ::mprotect(base_ + room_ - page, page, PROT_NONE);
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  ~Fenced() { ::munmap(base_, room_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  std::uint8_t* data() const { return data_; }

 private:
  std::uint8_t *base_ = nullptr, *data_ = nullptr;
  std::size_t room_ = 0;
};

struct Chunk {
  Chunk(std::size_t numbers, Numbers like, std::uint64_t seed) : wanted(test::bf16_numbers(numbers, like, seed)) {
    const Shape shape{1, static_cast<int>(numbers)};
    bytes = encode_matrix(shape, wanted);
    Bf16Stream stream;
    Bf16Stream::read(bytes, shape, bytes.size(), stream);
    chunk = stream.chunk(0);
    exponents = stream.exponents();
    groups = (numbers + kGroupNumbers - 1) / kGroupNumbers * kGroupBytes;
  }
  std::span<const std::byte> group_bytes() const { return std::span(bytes).subspan(chunk.begin, groups); }
  std::span<const std::byte> escapes() const { return std::span(bytes).subspan(chunk.begin + groups, chunk.escapes); }

  std::vector<std::byte> wanted, bytes;
  Bf16Chunk chunk;
  Exponents exponents{};
  std::size_t groups = 0;
};

class Unpack : public testing::TestWithParam<const KernelTable*> {
 protected:
  // Of the groups and escapes given, each behind a fence.
  std::int64_t unpack(const Chunk& chunk, std::span<const std::byte> groups, std::span<const std::byte> escapes,
                      std::vector<std::byte>& made) const {
    const Fenced from(groups), list(escapes), to(std::vector<std::byte>(chunk.wanted.size()));
    const std::int64_t used = GetParam()->unpack_bf16({.groups = from.data(),
                                                       .escapes = list.data(),
                                                       .exponents = chunk.exponents.data(),
                                                       .numbers = static_cast<std::int64_t>(chunk.wanted.size() / 2),
                                                       .escape_count = static_cast<std::int64_t>(escapes.size()),
                                                       .to = to.data()});
    made.resize(chunk.wanted.size());
    std::memcpy(made.data(), to.data(), made.size());
    return used;
  }
};

TEST_P(Unpack, GivesTheNumbers) {
  for (const std::size_t numbers : {1024u, 1500u, 2047u, 16'384u, 16'383u, 9001u})
    for (const Numbers like : {Numbers::trained, Numbers::few_escapes, Numbers::zeros}) {
      SCOPED_TRACE(testing::Message() << numbers << " numbers, " << static_cast<int>(like));
      const Chunk chunk(numbers, like, numbers);
      ASSERT_FALSE(chunk.chunk.is_plain());
      std::vector<std::byte> made;
      EXPECT_EQ(unpack(chunk, chunk.group_bytes(), chunk.escapes(), made), chunk.chunk.escapes);
      EXPECT_TRUE(made == chunk.wanted);
    }
}

// Every code and every rest in every place.
TEST_P(Unpack, GivesWhatAnyBitsMean) {
  std::mt19937 random(5);
  Chunk chunk(4096, Numbers::trained, 1);
  std::vector<std::byte> groups(chunk.group_bytes().begin(), chunk.group_bytes().end());
  std::ranges::generate(groups, [&] { return static_cast<std::byte>(random()); });
  std::vector<std::byte> escapes;
  for (std::size_t word = 0; word < 64; ++word) {
    std::uint64_t planes[3];
    std::memcpy(planes, groups.data() + word / 8 * kGroupBytes + word % 8 * sizeof planes, sizeof planes);
    const auto more = static_cast<std::size_t>(std::popcount(planes[0] & planes[1] & planes[2]));
    escapes.resize(escapes.size() + more, static_cast<std::byte>(200 + word % 50));
  }
  std::vector<std::byte> stream = groups;
  stream.insert(stream.end(), escapes.begin(), escapes.end());
  stream.resize(groups.size() + (escapes.size() + 63) / 64 * 64);
  const Bf16Chunk whole{0, static_cast<std::uint32_t>(stream.size()), 4096, static_cast<std::uint16_t>(escapes.size())};
  std::vector<std::byte> made, wanted(8192);
  ASSERT_TRUE(decode_chunk(chunk.exponents, whole, stream, wanted));
  EXPECT_EQ(unpack(chunk, groups, escapes, made), static_cast<std::int64_t>(escapes.size()));
  EXPECT_TRUE(made == wanted);
}

TEST_P(Unpack, EscapesThatAreNotThereAreNotRead) {
  const Chunk chunk(16'384, Numbers::trained, 9);
  ASSERT_GT(chunk.chunk.escapes, 10);
  std::vector<std::byte> made;
  for (const int fewer : {1, 5, static_cast<int>(chunk.chunk.escapes)}) {
    const auto there = chunk.escapes().first(static_cast<std::size_t>(chunk.chunk.escapes - fewer));
    EXPECT_GT(unpack(chunk, chunk.group_bytes(), there, made), static_cast<std::int64_t>(there.size()));
  }
  std::vector<std::byte> more(chunk.escapes().begin(), chunk.escapes().end());
  more.push_back({});
  EXPECT_EQ(unpack(chunk, chunk.group_bytes(), more, made), chunk.chunk.escapes);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Unpack, testing::ValuesIn(supported_kernels().begin(), supported_kernels().end()),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace sluice
