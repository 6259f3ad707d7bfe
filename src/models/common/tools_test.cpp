// Tests of tools.h.
#include "models/common/tools.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(StringArguments, AreThoseThatAreNothingElse) {
  const std::vector<std::string> tools = {
      R"({"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{
          "plain":{"type":"string"},"list":{"type":["string"]},"either":{"type":["string","null"]},"number":{"type":"integer"},
          "constant":{"const":"x"},"chosen":{"enum":["a","b"]},"mixed":{"enum":["a",1]},"named":{"$ref":"#/$defs/s"},
          "any":{"anyOf":[{"$ref":"#/$defs/s"},{"const":"y"}]},"some":{"anyOf":[{"type":"string"},{"type":"null"}]},
          "nullable":{"type":"string","nullable":true},"lost":{"$ref":"#/nowhere"},"circle":{"$ref":"#/$defs/c"}},
          "$defs":{"s":{"type":"string","maxLength":3},"c":{"$ref":"#/$defs/c"}}}}})",
      R"({"name":"g","parameters":{"anyOf":[{"properties":{"id":{"type":"string"},"name":{"type":"string"}}},{"properties":{"id":{"type":"integer"}}}]}})",
      "no JSON"};
  const StringArguments strings(tools);
  for (const char* name : {"plain", "list", "constant", "chosen", "named", "any"})
    EXPECT_TRUE(strings.has("f", name)) << name;
  for (const char* name : {"either", "number", "mixed", "some", "nullable", "lost", "circle", "unknown"})
    EXPECT_FALSE(strings.has("f", name)) << name;
  EXPECT_TRUE(strings.has("g", "name"));
  EXPECT_FALSE(strings.has("g", "id")) << "in one of its shapes it is a number";
  EXPECT_FALSE(strings.has("h", "name"));
}

}  // namespace
}  // namespace sluice
