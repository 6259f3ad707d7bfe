// Tests of rope_angles.h: the angles of the formula, a row that depends on its position alone, and fixed bits.
#include "compute/rope_angles.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice {
namespace {

struct Table {
  std::vector<float> values;
  Rows cos, sin;
  Table(const RopeAngles& angles, int first, int rows)
      : values(2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(angles.pairs())) {
    cos = {values.data(), rows, angles.pairs(), angles.pairs()};
    sin = {values.data() + values.size() / 2, rows, angles.pairs(), angles.pairs()};
    angles.fill(first, cos, sin);
  }
};

TEST(RopeAngles, AreThoseOfTheFormula) {
  const RopeAngles angles(10000, 128);
  ASSERT_EQ(angles.pairs(), 64);
  for (const int first : {0, 77, 4090, 1'048'570}) {
    const Table table(angles, first, 5);
    for (int row = 0; row < 5; ++row)
      for (int j = 0; j < 64; ++j) {
        const double angle = (first + row) * std::pow(10000.0, -2.0 * j / 128);
        EXPECT_NEAR(table.cos.row(row)[j], std::cos(angle), 1e-7);
        EXPECT_NEAR(table.sin.row(row)[j], std::sin(angle), 1e-7);
      }
  }
}

TEST(RopeAngles, ARowDependsOnItsPositionAlone) {
  const RopeAngles angles(8e6, 64);
  const Table together(angles, 1000, 9), alone(angles, 1004, 1);
  for (int j = 0; j < 32; ++j) {
    EXPECT_EQ(together.cos.row(4)[j], alone.cos.row(0)[j]);
    EXPECT_EQ(together.sin.row(4)[j], alone.sin.row(0)[j]);
  }
}

TEST(RopeAngles, HaveTheseBitsEverywhere) {
  const Table table(RopeAngles(10000, 128), 4095, 1);
  EXPECT_EQ(table.cos.row(0)[1], -0x1.7c1760p-1f);
  EXPECT_EQ(table.sin.row(0)[40], 0x1.7ed280p-2f);
}

}  // namespace
}  // namespace sluice
