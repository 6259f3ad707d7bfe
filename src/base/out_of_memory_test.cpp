// What was refused is told with its size, its use and a way out, and a refusal ends as an Error.
#include "base/out_of_memory.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(OutOfMemory, TheSentenceSaysWhatHowMuchUnderWhichBudgetAndWhatToDo) {
  const Error known = memory_error(MemoryRefused(3 * kMiB, "the experts", {}), 100 * kMiB, kNoLimit);
  EXPECT_EQ(known.kind, ErrorKind::refused);
  EXPECT_EQ(known.what, "the system refuses 3.00 MiB of memory for the experts; the budget is 100 MiB");
  EXPECT_EQ(known.hint, "give a smaller budget: --memory 80M");
  const Error unknown = memory_error(std::bad_alloc(), 0, kNoLimit);
  EXPECT_EQ(unknown.what, "the system refuses more memory");
  EXPECT_EQ(unknown.hint, "give a smaller budget with --memory, or end other programs");
}

TEST(OutOfMemory, ALimitOnAddressesIsNamedAndCountsForTheAdvice) {
  const AddressSpace then{.limit_bytes = 500 * kMiB, .used_bytes = 450 * kMiB};
  const Error error = memory_error(MemoryRefused(0, "another thread", then), 1000 * kMiB, 500 * kMiB);
  EXPECT_EQ(error.what,
            "the system refuses more memory for another thread (ulimit -v allows 500 MiB of addresses, 450 MiB were in "
            "use); the budget is 1000 MiB");
  EXPECT_EQ(error.hint, "give a smaller budget: --memory 400M, or raise ulimit -v");
  EXPECT_EQ(smaller_budget(0, kNoLimit), 0u);
  EXPECT_EQ(smaller_budget(0, 10 * kMiB), 8 * kMiB);
  EXPECT_EQ(smaller_budget(10 * kMiB, 20 * kMiB), 8 * kMiB);
}

TEST(OutOfMemory, ARefusalOfOursAndOneOfTheLibrarysAreErrors) {
  const auto ours = unless_refused(0, []() -> Result<int> { refuse_memory(7 * kMiB, "a test"); });
  ASSERT_FALSE(ours.has_value());
  EXPECT_NE(ours.error().what.find("7.00 MiB of memory for a test"), std::string::npos) << ours.error().what;
  const auto theirs = unless_refused(0, []() -> Result<int> { throw std::bad_alloc(); });  // as containers do
  ASSERT_FALSE(theirs.has_value());
  EXPECT_EQ(theirs.error().kind, ErrorKind::refused);
  const auto neither = unless_refused(0, []() -> Result<int> { return 5; });
  EXPECT_EQ(neither.value(), 5);
}

TEST(OutOfMemory, ThisProcessHasAddresses) { EXPECT_GT(address_space().used_bytes, kMiB); }

}  // namespace
}  // namespace sluice
