// Tests of anthropic.h: requests in, replies out, without a server.
#include "serve/anthropic.h"

#include <gtest/gtest.h>

#include "support/reply_pieces.h"

namespace sluice::serve {
namespace {

ApiResult<ChatAsk> messages_ask(const std::string& body, bool counted = false) {
  return read_messages(body, ChatOptions{}, SamplingParams{.temperature = 0.6}, counted);
}

TEST(MessagesRequest, ReadsBlocks) {
  const auto ask =
      messages_ask(R"({"model":"m","max_tokens":9,"system":[{"type":"text","text":"Be brief."}],"stop_sequences":["x"],
    "messages":[
      {"role":"user","content":"Hi"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"},
        {"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]},
      {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"5"}]},
        {"type":"text","text":"Go on"}]}],
    "tools":[{"name":"f","description":"d\"q","input_schema":{"type":"object","x":1.0}}],"tool_choice":{"type":"any"}})");
  ASSERT_TRUE(ask) << ask.error().message;
  const std::vector<Message>& messages = ask->conversation.messages;
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].role, Role::system);
  EXPECT_EQ(messages[2].reasoning, "hm");
  EXPECT_EQ(messages[2].calls.at(0).arguments, R"({"a":1})");
  EXPECT_EQ(messages[3].role, Role::tool);
  EXPECT_EQ(messages[3].tool_call_id, "t1");
  EXPECT_EQ(messages[4].content.at(0).text, "Go on");
  EXPECT_EQ(
      ask->conversation.tools.at(0),
      R"({"type":"function","function":{"name":"f","description":"d\"q","parameters":{"type":"object","x":1.0}}})");
  EXPECT_EQ(ask->options.tool_choice, ToolChoice::required);
  EXPECT_EQ(ask->generation.max_tokens, 9);
  EXPECT_EQ(ask->generation.stops, std::vector<std::string>{"x"});
}

TEST(MessagesRequest, NamesWhatIsWrong) {
  const auto param = [](const std::string& body) {
    const auto ask = messages_ask(body);
    return ask ? std::string("none") : ask.error().param;
  };
  EXPECT_EQ(param("{}"), "messages");
  EXPECT_EQ(param(R"({"messages":[{"role":"user","content":"a"}]})"), "max_tokens");
  EXPECT_TRUE(messages_ask(R"({"messages":[{"role":"user","content":"a"}]})", true));
  EXPECT_EQ(param(R"({"max_tokens":1,"messages":[{"role":"system","content":"a"}]})"), "messages[0].role");
  EXPECT_EQ(param(R"({"max_tokens":1,"messages":[{"role":"user"}]})"), "messages[0].content");
  EXPECT_EQ(param(R"({"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text"}]}]})"),
            "messages[0].content[0].text");
  EXPECT_EQ(param(R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}],"tools":[{"name":5}]})"),
            "tools[0].name");
  EXPECT_EQ(param(R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}],"stop_sequences":[""]})"),
            "stop_sequences");
}

TEST(MessagesRequest, AFormIsAskedForInTwoPlaces) {
  const std::string rest = R"("max_tokens":1,"messages":[{"role":"user","content":"a"}]})";
  const std::string format = R"({"type":"json_schema","schema":{"type":"object", "x":1.0}})";
  for (const std::string& body : {R"({"output_config":{"effort":"high","format":)" + format + "}," + rest,
                                  R"({"output_format":)" + format + "," + rest}) {
    const auto ask = messages_ask(body);
    ASSERT_TRUE(ask) << ask.error().message;
    EXPECT_EQ(ask->generation.form.kind, AnswerForm::Kind::json_schema);
    EXPECT_EQ(ask->generation.form.text, R"({"type":"object", "x":1.0})") << "spelled as it was sent";
    EXPECT_EQ(ask->options.effort.value_or("none"), body.starts_with(R"({"output_c)") ? "high" : "none");
  }
  EXPECT_EQ(messages_ask(R"({"output_config":{"format":{"type":"xml"}},)" + rest).error().param,
            "output_config.format.type");
  EXPECT_EQ(messages_ask(R"({"output_config":{"format":{"type":"json_schema"}},)" + rest).error().param,
            "output_config.format.schema");
}

TEST(MessagesRequest, ToolsOfTheServerAreLeftOut) {
  const auto ask = messages_ask(R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}],
    "tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"f","input_schema":{}}]})");
  ASSERT_TRUE(ask) << ask.error().message;
  EXPECT_EQ(ask->conversation.tools.size(), 1u);
  EXPECT_EQ(messages_ask(R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}],
    "tools":[{"type":"bash_20250124","name":"bash"}]})")
                .error()
                .param,
            "tools[0].type");
}

TEST(MessagesReply, AStreamAddsUpToTheWhole) {
  const auto whole = messages_writer({"msg_1", "m", 7}, 3, false), stream = messages_writer({"msg_1", "m", 7}, 3, true);
  std::string text = stream->stream_begin();
  for (Piece& piece : test::reply_in_pieces()) {
    whole->piece(0, piece);
    text += stream->piece(0, std::move(piece));
  }
  whole->choice_end(0, {Finish::stop});
  text += stream->choice_end(0, {Finish::stop});
  text += stream->stream_end({.prompt_tokens = 3, .completion_tokens = 4});
  Json message;
  std::vector<std::string> inputs(3);
  int open = -1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t data = text.find("\ndata: ", at), end = text.find("\n\n", at);
    ASSERT_TRUE(data != std::string::npos && data < end);
    const std::string name = text.substr(at + 7, data - at - 7);
    const Json event = Json::parse(text.substr(data + 7, end - data - 7));
    at = end + 2;
    ASSERT_EQ(event.at("type"), name);
    if (name == "message_start") message = event.at("message");
    if (name == "content_block_start") {
      EXPECT_EQ(open, -1);
      open = event.at("index");
      message.at("content").push_back(event.at("content_block"));
    }
    if (name == "content_block_delta") {
      ASSERT_EQ(event.at("index"), open);
      const Json& delta = event.at("delta");
      Json& block = message.at("content").back();
      if (delta.contains("text")) block["text"] = block["text"].get<std::string>() + delta["text"].get<std::string>();
      if (delta.contains("thinking"))
        block["thinking"] = block["thinking"].get<std::string>() + delta["thinking"].get<std::string>();
      if (delta.contains("partial_json"))
        inputs[static_cast<std::size_t>(open)] += delta["partial_json"].get<std::string>();
    }
    if (name == "content_block_stop") {
      if (!inputs[static_cast<std::size_t>(open)].empty())
        message.at("content").back()["input"] = Json::parse(inputs[static_cast<std::size_t>(open)]);
      open = -1;
    }
    if (name == "message_delta") {
      message.update(event.at("delta"));
      message["usage"].update(event.at("usage"));
    }
  }
  EXPECT_EQ(open, -1);
  const Json wanted = Json::parse(whole->whole({.prompt_tokens = 3, .completion_tokens = 4}));
  EXPECT_EQ(message, wanted) << message << "\n" << wanted;
  EXPECT_EQ(wanted.at("stop_reason"), "tool_use");
  EXPECT_EQ(wanted.at("content").at(1).at("text"), "Hello");
  EXPECT_EQ(wanted.at("content").at(2).at("input"), Json::parse(test::kCallArguments));
}

TEST(MessagesReply, SaysWhyItEnded) {
  const auto reason = [](const ChoiceEnd& end) {
    const auto writer = messages_writer({"msg_1", "m", 7}, 3, false);
    writer->choice_end(0, end);
    return Json::parse(writer->whole({})).at("stop_reason").get<std::string>();
  };
  EXPECT_EQ(reason({Finish::length}), "max_tokens");
  EXPECT_EQ(reason({Finish::stop}), "end_turn");
  EXPECT_EQ(reason({Finish::stop, "x"}), "stop_sequence");
  EXPECT_EQ(Json::parse(to_messages_reply({429, "full"}).body).at("error").at("type"), "rate_limit_error");
}

}  // namespace
}  // namespace sluice::serve
