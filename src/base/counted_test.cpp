// One thing is told in the singular.
#include "base/counted.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Counted, OneThingIsSingular) {
  EXPECT_EQ(counted(1, "layer"), "1 layer");
  EXPECT_EQ(counted(0, "layer"), "0 layers");
  EXPECT_EQ(counted(std::size_t{2}, "layer"), "2 layers");
  EXPECT_EQ(counted(std::uint64_t{497220}, "tensor"), "497,220 tensors");
}

}  // namespace
}  // namespace sluice
