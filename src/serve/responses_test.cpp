// Tests of responses.h.
#include "serve/responses.h"

#include <gtest/gtest.h>

#include "support/reply_pieces.h"

namespace sluice::serve {
namespace {

ApiResult<ResponseAsk> response_ask(const std::string& body) { return read_response(body, {}, {}); }

TEST(ResponseAsk, InputIsATextOrItems) {
  const auto text =
      response_ask(R"({"input":"Hi","instructions":"Be kind.","max_output_tokens":9,"reasoning":{"effort":"low"}})");
  ASSERT_TRUE(text) << text.error().message;
  ASSERT_EQ(text->chat.conversation.messages.size(), 2u);
  EXPECT_EQ(text->chat.conversation.messages[0].role, Role::system);
  EXPECT_EQ(text->chat.conversation.messages[1].content.at(0).text, "Hi");
  EXPECT_EQ(text->chat.generation.max_tokens, 9);
  EXPECT_EQ(text->chat.options.effort, "low");

  const auto items = response_ask(R"({"input":[
    {"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
    {"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"c"}]},
    {"type":"function_call","call_id":"x","name":"f","arguments":"{}"},
    {"type":"function_call","call_id":"y","name":"g","arguments":"{\"a\": 1}"},
    {"type":"function_call_output","call_id":"x","output":"1"},
    {"type":"function_call_output","call_id":"y","output":[{"type":"input_text","text":"2"}]}]})");
  ASSERT_TRUE(items) << items.error().message;
  const std::vector<Message>& messages = items->chat.conversation.messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].content.size(), 2u);
  EXPECT_EQ(messages[1].reasoning, "hm");
  EXPECT_EQ(messages[1].content.at(0).text, "c");
  ASSERT_EQ(messages[1].calls.size(), 2u);
  EXPECT_EQ(messages[1].calls[1].arguments, "{\"a\": 1}");
  EXPECT_EQ(messages[3].tool_call_id, "y");
  EXPECT_EQ(messages[3].content.at(0).text, "2");
}

TEST(ResponseAsk, ToolsFormatsAndChoices) {
  const auto ask = response_ask(R"({"input":"Hi","tools":[{"type":"function","name":"f","description":"d","strict":true,
    "parameters":{"type":"object", "properties":{}}}],"tool_choice":{"type":"function","name":"f"},
    "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"null"}}}})");
  ASSERT_TRUE(ask) << ask.error().message;
  EXPECT_EQ(
      ask->chat.conversation.tools.at(0),
      R"({"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object", "properties":{}}}})");
  EXPECT_EQ(ask->chat.named_tool, "f");
  EXPECT_EQ(ask->chat.generation.form.kind, AnswerForm::Kind::json_schema);
  EXPECT_EQ(ask->chat.generation.form.text, R"({"type":"null"})");
}

TEST(ResponseAsk, WrongFieldsAreNamed) {
  const auto param = [](const std::string& fields) {
    const auto ask = response_ask("{" + fields + "}");
    return ask ? std::string("(taken)") : ask.error().param;
  };
  EXPECT_EQ(param(""), "input");
  EXPECT_EQ(param(R"("input":[])"), "input");
  EXPECT_EQ(param(R"("input":5)"), "input");
  EXPECT_EQ(param(R"("input":[{"role":"user"}])"), "input[0].content");
  EXPECT_EQ(param(R"("input":[{"type":"item_reference","id":"x"}])"), "input[0].type");
  EXPECT_EQ(param(R"("input":"a","previous_response_id":"r")"), "previous_response_id");
  EXPECT_EQ(param(R"("input":"a","tools":[{"type":"web_search"},{"type":"local_shell"}])"), "tools[1].type");
  EXPECT_EQ(param(R"("input":"a","text":{"format":{"type":"yaml"}})"), "text.format.type");
  EXPECT_EQ(param(R"("input":"a","tool_choice":"sometimes")"), "tool_choice");
  EXPECT_EQ(param(R"("input":"a","max_output_tokens":0)"), "max_output_tokens");
}

std::vector<Json> events_of(const std::string& stream) {
  std::vector<Json> events;
  for (std::size_t at = 0; (at = stream.find("data: ", at)) != std::string::npos; ++at)
    events.push_back(Json::parse(stream.substr(at + 6, stream.find('\n', at) - at - 6)));
  return events;
}

TEST(ResponseReply, TheStreamEndsInWhatIsSaidWhole) {
  const ReplyNames names = {"resp_1", "m", 7};
  const Usage usage = {.prompt_tokens = 3, .completion_tokens = 4};
  const auto whole = response_writer(names, {}, false);
  for (Piece& piece : test::reply_in_pieces()) whole->piece(0, std::move(piece));
  whole->choice_end(0, {Finish::stop});
  const Json response = Json::parse(whole->whole(usage));
  EXPECT_EQ(response.at("status"), "completed");
  EXPECT_EQ(response.at("usage").at("total_tokens"), 7);

  const auto writer = response_writer(names, {}, true);
  std::string stream = writer->stream_begin();
  for (Piece& piece : test::reply_in_pieces()) stream += writer->piece(0, std::move(piece));
  stream += writer->choice_end(0, {Finish::stop});
  stream += writer->stream_end(usage);
  const std::vector<Json> events = events_of(stream);
  std::map<std::string, std::string> said;  // by item: its deltas
  std::size_t open = 0, items = 0, pieces_of_arguments = 0;
  for (std::size_t number = 0; number < events.size(); ++number) {
    const Json& event = events[number];
    EXPECT_EQ(event.at("sequence_number"), number);
    const std::string type = event.at("type");
    if (type == "response.output_item.added") ++open, ++items;
    if (type == "response.output_item.done") --open;
    EXPECT_LE(open, 1u);
    if (type == "response.function_call_arguments.delta") ++pieces_of_arguments;
    if (type.ends_with(".delta")) said[event.at("item_id")] += event.at("delta").get<std::string>();
  }
  EXPECT_EQ(open, 0u);
  EXPECT_EQ(events.front().at("type"), "response.created");
  EXPECT_EQ(events.back().at("type"), "response.completed");
  EXPECT_EQ(events.back().at("response"), response);
  EXPECT_EQ(pieces_of_arguments, 3u);
  ASSERT_EQ(response.at("output").size(), items);
  for (const Json& item : response.at("output")) {
    const std::string text = item.at("type") == "function_call"
                                 ? item.at("arguments").get<std::string>()
                                 : item.at("content").at(0).at("text").get<std::string>();
    EXPECT_EQ(said[item.at("id")], text);
    EXPECT_EQ(item.at("status"), "completed");
  }
}

TEST(ResponseReply, ACutAnswerIsIncomplete) {
  const auto writer = response_writer({"resp_1", "m", 7}, {}, false);
  Piece piece;
  piece.events.push_back({.kind = ReplyEvent::Kind::content, .text = "a"});
  writer->piece(0, std::move(piece));
  writer->choice_end(0, {Finish::length});
  const Json response = Json::parse(writer->whole({}));
  EXPECT_EQ(response.at("status"), "incomplete");
  EXPECT_EQ(response.at("incomplete_details").at("reason"), "max_output_tokens");
  EXPECT_EQ(response.at("output").at(0).at("status"), "incomplete");
}

}  // namespace
}  // namespace sluice::serve
