// Every kind of fault is noted with its path, and all of them come out together.
#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::AllOf, testing::ElementsAre, testing::HasSubstr, testing::Not;

Fields parsed(std::string_view json) { return Fields::parse(json, "dir/config.json").value(); }

TEST(Fields, ReadsWhatIsThere) {
  const Fields root = parsed(R"({"a":7,"b":-1.5,"c":true,"d":"x","e":[1,2],"f":{"g":1e-05},"n":null})");
  EXPECT_EQ(root.integer("a", {0, 10}), 7);
  EXPECT_EQ(root.number("b", {-2, 2}), -1.5f);
  EXPECT_EQ(root.number("a", {0, 10}), 7.0f);
  EXPECT_TRUE(root.flag("c"));
  EXPECT_EQ(root.text("d"), "x");
  EXPECT_THAT(root.integers("e", {1, 2}), ElementsAre(1, 2));
  EXPECT_EQ(root.object("f").number("g", {0, 1}), 1e-5f);
  EXPECT_THAT(root.object("f").names(), ElementsAre("g"));
  EXPECT_EQ(root.integer_or("n", 3, {0, 10}), 3);
  EXPECT_FALSE(root.has("n"));
  EXPECT_FALSE(root.optional_object("z").has("a"));
  EXPECT_TRUE(root.outcome());
}

TEST(Fields, TellsEveryFaultAtOnce) {
  const Fields root = parsed(
      R"({"i":1.5,"big":99999999999999999999,"huge":18446744073709551615,"low":-9,"s":4,"b":1,"l":[1,0],"o":[],"x":"y","n":null,"in":{"k":"v"}})");
  root.integer("gone", {0, 5});
  root.integer("n", {0, 5});
  root.integer("i", {0, 5});
  root.integer("big", {0, 5});
  EXPECT_EQ(root.integer("huge", {-1, 5}), -1);
  root.integer("low", {0, 5});
  root.text("s");
  root.flag("b");
  root.integers("l", {1, 5});
  root.object("o").integer("never_asked", {0, 1});
  root.object("lost").integer("never_asked", {0, 1});
  root.number("x", {0, 1});
  root.object("in").integer("k", {0, 5});
  root.object("in").flag("deep");
  root.wrong("i", "does not suit s");
  const auto outcome = root.outcome();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(outcome.error().what,
              AllOf(HasSubstr("dir/config.json: missing gone, n, lost, in.deep; "),
                    HasSubstr("; i is 1.5, must be a whole number from 0 to 5"), HasSubstr("big is 1e+20, must"),
                    HasSubstr("huge is 18446744073709551615, must"), HasSubstr("low is -9, must"),
                    HasSubstr("s is 4, must be a text"), HasSubstr("b is 1, must be true or false"),
                    HasSubstr("l holds 0, each must")));
  EXPECT_THAT(outcome.error().what,
              AllOf(HasSubstr("o is [], must be an object"), HasSubstr("x is \"y\", must be a number from 0 to 1"),
                    HasSubstr("in.k is \"v\", must"), HasSubstr("i does not suit s"), Not(HasSubstr("never_asked"))));
}

TEST(Fields, RefusesWhatIsNotAnObject) {
  for (const char* json : {"", "[]", "{", "{\"a\":}", "{\"a\":1} x", "7", "{\"a\":NaN}"}) {
    const auto fields = Fields::parse(json, "dir/config.json");
    ASSERT_FALSE(fields) << json;
    EXPECT_EQ(fields.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(fields.error().what, HasSubstr("dir/config.json"));
  }
}

}  // namespace
}  // namespace sluice
