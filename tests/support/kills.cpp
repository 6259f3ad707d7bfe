// See kills.h.
#include "support/kills.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/at_call.h"
#include "support/directory_contents.h"

namespace sluice::test {

void expect_to_go_on(const Written& written, std::span<const char* const> ways, FunctionRef<bool(int call)> tried,
                     FunctionRef<Outcome()> command) {
  for (int call = 1; call <= written.calls; ++call) {
    if (!tried(call)) continue;
    const char* const way = ways[static_cast<std::size_t>(call) % ways.size()];
    SCOPED_TRACE(fmt::format("call {} of {}, {}", call, written.calls, way));
    std::filesystem::remove_all(written.out);
    {
      const AtCall order(call, way);
      const Outcome killed = command();
      ASSERT_EQ(killed.exit_code, 128 + 9) << killed.err;
    }
    const Outcome again = command();
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_TRUE(directory_contents(written.out) == directory_contents(written.whole));
  }
}

}  // namespace sluice::test
