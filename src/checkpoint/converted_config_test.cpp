// What is told of another checkpoint's conversion, whoever wrote its config.
#include "checkpoint/converted_config.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::string config_of(const std::string& conversion) { return R"({"sluice_conversion": )" + conversion + "}"; }

const std::string kOurs =
    config_of(R"({"version": 1, "source": "abc", "experts": {"format": "int4", "bytes": 7}, "shard_bytes": 100})");

TEST(ConvertedConfig, TheFirstDifferenceIsTold) {
  const auto difference = [](const std::string& theirs) { return conversion_difference(kOurs, config_of(theirs)); };
  EXPECT_EQ(difference(R"({"source": "abd"})"), "is of another source");
  EXPECT_EQ(difference(R"({"source": "abc"})"), "has experts none, not int4");
  EXPECT_EQ(difference(R"({"source": "abc", "experts": {"format": "int8"}})"), "has experts int8, not int4");
  EXPECT_EQ(difference(R"({"source": "abc", "experts": {"format": "int4"}})"), "has shards of another size");
  EXPECT_EQ(difference(R"({"source": "abc", "experts": {"format": "int4"}, "shard_bytes": 100})"),
            "was made by another version of sluice");
}

TEST(ConvertedConfig, AForeignConfigIsNoConversionOrAnUnknownFormat) {
  for (const char* theirs : {"", "[]", "{", R"({"model_type": "x"})", R"({"sluice_conversion": 3})"})
    EXPECT_EQ(conversion_difference(kOurs, theirs), "") << theirs;
  for (const char* experts : {"7", "null", R"("int4")", "[1]", "{}", R"({"format": 7})", R"({"format": null})"})
    EXPECT_EQ(conversion_difference(kOurs, config_of(R"({"source": "abc", "experts": )" + std::string(experts) + "}")),
              "has experts ?, not int4")
        << experts;
}

}  // namespace
}  // namespace sluice
