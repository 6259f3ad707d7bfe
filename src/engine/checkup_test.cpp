// What doctor says of memory nodes, on machines that are not at hand.
#include "engine/checkup.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Checkup, OneNodeHasNothingToDo) {
  for (const Finding& finding : {examine_nodes({{0}, "", ""}, 1, ""), examine_nodes({{3}, "", ""}, 4, ""),
                                 examine_nodes({{}, "this program was built without libnuma", ""}, 1, "")}) {
    EXPECT_EQ(finding.health, Health::good);
    EXPECT_EQ(finding.text, "one: nothing is to be spread");
    EXPECT_EQ(finding.fix, "");
  }
}

TEST(Checkup, SeveralNodesAreInterleavedUnlessSomebodyDecidedOrForbidsIt) {
  const Finding spread = examine_nodes({{0, 2}, "", ""}, 3, "");
  EXPECT_EQ(spread.health, Health::good);
  EXPECT_EQ(spread.text, "2 (0, 2): weights are interleaved over all of them");
  const Finding decided = examine_nodes({{0, 2}, "", "bind"}, 3, "");
  EXPECT_EQ(decided.health, Health::good);
  EXPECT_NE(decided.text.find("started with a policy (bind)"), std::string::npos) << decided.text;
  const Finding refused = examine_nodes({{0, 2}, "", ""}, 3, "Operation not permitted");
  EXPECT_EQ(refused.health, Health::slow);
  EXPECT_NE(refused.text.find("refuses to spread them (Operation not permitted)"), std::string::npos) << refused.text;
  EXPECT_NE(refused.fix.find("numactl --interleave=all"), std::string::npos);
  const Finding unknown = examine_nodes({{}, "this program was built without libnuma", ""}, 2, "");
  EXPECT_EQ(unknown.health, Health::slow);
  EXPECT_NE(unknown.text.find("built without libnuma"), std::string::npos) << unknown.text;
  EXPECT_NE(unknown.fix.find("libnuma-dev"), std::string::npos);
}

}  // namespace
}  // namespace sluice
