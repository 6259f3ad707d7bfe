// Traces are read as they are written, others' too; what is no trace is refused with its line.
#include "residency/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "residency/replay.h"
#include "residency/trace_report.h"

namespace sluice {
namespace {

using testing::HasSubstr;

Result<Trace> parse(const std::string& text) {
  std::istringstream stream(text);
  return parse_trace(stream, "t.trace");
}

TEST(Trace, ReadsWhatItWrites) {
  std::ostringstream text;
  Trace shape;
  shape.layers = 4, shape.experts = 9, shape.top_k = 2, shape.slots = 7;
  write_trace_shape(text, shape);
  write_trace_line(text, false, 0, 1, 100, std::vector<int>{3, 5, 3, 8});
  write_trace_line(text, true, 2, 3, 120, std::vector<int>{0, 8});
  const Result<Trace> trace = parse(text.str());
  ASSERT_TRUE(trace.has_value()) << trace.error().what;
  EXPECT_EQ(trace->layers, 4);
  EXPECT_EQ(trace->experts, 9);
  EXPECT_EQ(trace->top_k, 2);
  EXPECT_EQ(trace->slots, 7);
  EXPECT_EQ(trace->layer_bytes, (std::vector<std::uint64_t>{0, 100, 0, 120}));
  EXPECT_EQ(trace->expert_bytes(), 120u);
  EXPECT_EQ(trace->token_bytes(), 440u);
  ASSERT_EQ(trace->lines.size(), 2u);
  EXPECT_FALSE(trace->lines[0].decode);
  EXPECT_EQ(trace->lines[0].uses, (std::vector<ExpertUse>{{3, 2}, {5, 1}, {8, 1}}));
  EXPECT_TRUE(trace->lines[1].decode);
  EXPECT_EQ(trace->lines[1].token, 2);
  EXPECT_EQ(trace->lines[1].layer, 3);
}

TEST(Trace, FindsTheShapeOfOthers) {
  const Result<Trace> trace = parse("# a comment\n0 0 0 10 1 2 3 1\n\n0 0 1 10 4\n1 1 0 10 6 2\n1 1 1 10 0 1\n");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->layers, 2);
  EXPECT_EQ(trace->experts, 7);
  EXPECT_EQ(trace->top_k, 2);  // of decode lines
  EXPECT_EQ(parse("0 0 0 10 1 2 3\n0 0 1 10 4\n")->top_k, 1);
}

TEST(Trace, APromptAfterAnAnswerBeginsATurn) {
  const auto begun = [](const Trace& trace) {
    std::vector<std::size_t> lines;
    for (std::size_t line = 0; line < trace.lines.size(); ++line)
      if (trace.lines[line].begins_turn) lines.push_back(line);
    return lines;
  };
  Result<Trace> trace = parse(
      "0 0 0 10 1\n0 0 1 10 1\n0 1 0 10 1\n1 2 0 10 1\n1 2 1 10 1\n0 3 0 10 1\n0 3 1 10 1\n1 9 0 10 1\n0 0 0 10 1\n");
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(begun(*trace), (std::vector<std::size_t>{5, 8}));
  cut_into_turns(*trace, 2);
  EXPECT_EQ(begun(*trace), (std::vector<std::size_t>{3, 7, 8}));
  cut_into_turns(*trace, 100);
  EXPECT_EQ(begun(*trace), (std::vector<std::size_t>{8}));
}

TEST(Trace, RefusesWhatIsNoTrace) {
  const std::string good = "1 0 0 10 1\n", shape = "# sluice routing trace: ";
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"", "holds no requests"},
           {"# only words\n", "holds no requests"},
           {good + "1 0 zero 10 1\n", "line 2 is not a line of whole numbers"},
           {good + "1 0 0 10 -1\n", "line 2 is not"},
           {good + "1 0 0 10\n", "line 2 has fewer than five"},
           {good + "2 0 0 10 1\n", "line 2 has phase 2"},
           {good + "1 0 99999 10 1\n", "line 2 has layer 99999"},
           {good + "1 0 0 10 99999999\n", "line 2 has expert 99999999"},
           {good + "1 0 0 11 1\n", "layer 0 had 10 before"},
           {good + "1 0 1 0 1\n", "0 bytes"},
           {good + "1 0 0 10 99999999999999999999\n", "line 2 is not"},
           {good + "1 0 1 1099511627777 1\n", "line 2 has experts of 1099511627777 bytes, more than 2^40"},
           {"1 0 16000 10 1\n1 0 0 10 1047\n1 0 0 10 1048\n", "line 3 makes it 16001 layers of 1049 experts"},
           {shape + "16384 1025 1 0\n" + good, "line 1 makes it 16384 layers of 1025 experts"},
           {shape + "1 1\n" + good, "line 1 is not the shape"},
           {shape + "1 1 1 0\n" + good, "outside the shape"}}) {
    const Result<Trace> trace = parse(text);
    ASSERT_FALSE(trace.has_value()) << text;
    EXPECT_EQ(trace.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(trace.error().what, HasSubstr("t.trace"));
    EXPECT_THAT(trace.error().what, HasSubstr(what));
  }
  EXPECT_EQ(read_trace("/nowhere/t.trace").error().kind, ErrorKind::bad_input);
}

// The largest that are taken: everything kept for each expert of them fits in memory.
TEST(Trace, TakesTheLargestShape) {
  const Result<Trace> named = parse("# sluice routing trace: 16384 1024 1 9\n1 0 0 10 1\n");
  ASSERT_TRUE(named.has_value()) << named.error().what;
  EXPECT_EQ(named->slots, 9);
  const Result<Trace> found = parse("1 0 16383 1099511627776 1\n1 0 0 1099511627776 1023\n");
  ASSERT_TRUE(found.has_value()) << found.error().what;
  EXPECT_EQ(found->layers * found->experts, 1 << 24);
  EXPECT_EQ(slots_within(*found, std::uint64_t{5} << 40), 5);
}

TEST(TraceReport, CountsReuseOverlapAndHotExperts) {
  // Layer 0: {1 2} then {1 3} then {2 3}; layer 1: 5 always.
  const Result<Trace> trace =
      parse("0 0 0 10 1 2\n0 0 1 10 5 6\n1 1 0 10 1 3\n1 1 1 10 5 6\n1 2 0 10 2 3\n1 2 1 10 5 7\n");
  ASSERT_TRUE(trace.has_value());
  const TraceReport report = report_on(*trace);
  EXPECT_EQ(report.decode_tokens, 2u);
  EXPECT_EQ(report.requests, 12u);
  EXPECT_EQ(report.decode_requests, 8u);
  EXPECT_EQ(report.distinct, 6u);
  EXPECT_EQ(report.seen_before, 6u);        // all but 3 and 7 when new
  EXPECT_EQ(report.reuse[0].requests, 5u);  // 1; 5 6; 3; 5
  EXPECT_EQ(report.reuse[1].requests, 6u);  // and 2 from two before
  EXPECT_EQ(report.layers[0].repeated, 2u);
  EXPECT_EQ(report.layers[1].repeated, 3u);
  EXPECT_EQ(report.by_use[0].key, (ExpertKey{1, 5}));
  EXPECT_EQ(report.by_use[0].uses, 3u);
  EXPECT_DOUBLE_EQ(report.share_of_hottest(0.1), 3.0 / 12);
  EXPECT_DOUBLE_EQ(report.share_of_hottest(1), 1);
}

TEST(Trace, KeepsWhatWasForeseenOfALine) {
  std::ostringstream text;
  write_trace_line(text, false, 0, 1, 10, std::vector<int>{1, 2, 3, 1});
  write_foreseen(text, AskedBefore::attention, 1, std::vector<int>{4, 2, 0, 7});
  write_foreseen(text, AskedBefore::last_experts, 1, std::vector<int>{7, 4});
  write_trace_line(text, true, 2, 1, 10, std::vector<int>{2, 4});
  write_trace_line(text, true, 3, 1, 10, std::vector<int>{2, 5});
  const Result<Trace> trace = parse(text.str());
  ASSERT_TRUE(trace.has_value()) << trace.error().what;
  ASSERT_EQ(trace->lines.size(), 3u);
  using Names = std::array<std::vector<int>, kForesights>;
  EXPECT_EQ(trace->lines[0].foreseen, Names{});
  EXPECT_EQ(trace->lines[1].foreseen, (Names{{{4, 2, 0, 7}, {7, 4}}}));
  EXPECT_EQ(trace->lines[2].foreseen, Names{});
  EXPECT_EQ(trace->experts, 6);  // what is used counts
  for (std::size_t at = 0, begin = 0; (at = text.str().find('\n', begin)) != std::string::npos; begin = at + 1) {
    const std::string line = text.str().substr(begin, at - begin);
    EXPECT_EQ(line.starts_with("# "), line.find("foreseen") != std::string::npos) << line;  // a comment to others
  }
}

TEST(Trace, RefusesWhatWasForeseenOfNothing) {
  for (const char* wrong : {"# foreseen attention 1 2 3\n1 0 0 10 2 3\n", "# foreseen attention 1\n1 0 1 10 2\n",
                            "# foreseen yesterday 1 2\n1 0 1 10 2\n", "# foreseen attention 1 x\n1 0 1 10 2\n",
                            "# foreseen attention 1 99999999\n1 0 1 10 2\n"}) {
    const Result<Trace> trace = parse(wrong);
    ASSERT_FALSE(trace.has_value()) << wrong;
    EXPECT_THAT(trace.error().what, HasSubstr("t.trace: line")) << wrong;
  }
}

// By hand: two layers, two of eight experts a token.
TEST(TraceReport, ComparesWhatWasForeseenWithWhatWasUsed) {
  const Result<Trace> trace = parse(
      "0 0 0 10 1 2 5 6\n"
      "# foreseen attention 0 1 5 2 6\n1 2 0 10 1 2\n"                                       // 1 of 2, 2 by twice
      "# foreseen attention 1 0 1 2 3\n# foreseen last-experts 1 4 5 6 7\n1 2 1 10 0 1\n"    // 2, 2; 0, 0
      "# foreseen attention 0 7 6 5 4\n1 3 0 10 2 4\n"                                       // 0, 1; 2 was used
      "# foreseen attention 1 0 5 1 3\n# foreseen last-experts 1 1 3 0 7\n1 3 1 10 0 1\n");  // 1, 2; 1, 2; both were
  ASSERT_TRUE(trace.has_value()) << trace.error().what;
  const TraceReport report = report_on(*trace);
  const auto numbers = [](const TraceReport::Recall& recall) {
    return std::vector{recall.requests, recall.named, recall.named_by_twice, recall.behind_another, recall.repeated};
  };
  const TraceReport::Foreseen& attention = report.foreseen[0];
  const TraceReport::Foreseen& last = report.foreseen[1];
  EXPECT_EQ(numbers(attention.all), (std::vector<std::uint64_t>{8, 4, 7, 4, 3}));
  EXPECT_EQ(numbers(attention.layers[0]), (std::vector<std::uint64_t>{4, 1, 3, 2, 1}));
  EXPECT_EQ(numbers(attention.layers[1]), (std::vector<std::uint64_t>{4, 3, 4, 2, 2}));
  EXPECT_EQ(numbers(last.all), (std::vector<std::uint64_t>{4, 1, 2, 2, 2}));
  EXPECT_EQ(last.layers[0].requests, 0u);
}

}  // namespace
}  // namespace sluice
