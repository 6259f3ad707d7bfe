// Tests of openai_chat.h, openai_messages.h and generation_ask.h: requests in, replies out, without a server.
#include "serve/openai_chat.h"

#include <gtest/gtest.h>

#include "serve/openai_completions.h"
#include "support/reply_pieces.h"

namespace sluice::serve {
namespace {

const ChatOptions kChat;
const SamplingParams kSampling{.temperature = 0.6};

ChatAsk ask(const std::string& body) {
  auto read = read_chat(body, kChat, kSampling);
  EXPECT_TRUE(read) << body << ": " << (read ? "" : read.error().message);
  return read ? std::move(*read) : ChatAsk{};
}
ApiError fault(const std::string& body) {
  const auto read = read_chat(body, kChat, kSampling);
  EXPECT_FALSE(read) << body;
  return read ? ApiError{0, {}, {}, {}} : read.error();
}
std::string with_user(const std::string& more) {
  return R"({"messages":[{"role":"user","content":"Hi"}])" + (more.empty() ? "" : "," + more) + "}";
}

TEST(ChatRequest, OnlyMessagesAreRequired) {
  const ChatAsk made = ask(with_user(""));
  ASSERT_EQ(made.conversation.messages.size(), 1u);
  EXPECT_EQ(made.conversation.messages[0].content[0].text, "Hi");
  EXPECT_EQ(made.generation.sampling.temperature, 0.6);
  EXPECT_FALSE(made.generation.seed);
  EXPECT_FALSE(made.generation.max_tokens);
  EXPECT_EQ(made.generation.n, 1);
}

TEST(ChatRequest, ReadsEveryField) {
  const ChatAsk made = ask(with_user(R"("model":"m","temperature":0,"top_p":0.5,"seed":-3,"stop":["a","b"],"n":2,
    "max_completion_tokens":9,"logprobs":true,"top_logprobs":3,"stream":true,"stream_options":{"include_usage":true},
    "reasoning_effort":"low","tool_choice":"required","response_format":{"type":"json_object"},"user":"x","store":null)"));
  EXPECT_EQ(made.generation.sampling.temperature, 0);
  EXPECT_EQ(made.generation.sampling.top_p, 0.5);
  EXPECT_EQ(made.generation.seed, static_cast<std::uint64_t>(-3));
  EXPECT_EQ(made.generation.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(made.generation.n, 2);
  EXPECT_EQ(made.generation.max_tokens, 9);
  EXPECT_EQ(made.generation.top_logprobs, 3);
  EXPECT_TRUE(made.generation.stream && made.generation.include_usage);
  EXPECT_EQ(made.options.effort, "low");
  EXPECT_EQ(made.options.tool_choice, ToolChoice::required);
  EXPECT_EQ(made.options.response_format.kind, ResponseFormat::Kind::json_object);
}

TEST(ChatRequest, ToolsKeepTheirSpelling) {
  const ChatAsk made = ask(R"({"tools":[ {"type":"function","function":{"name":"f","x":1.0}} ],"messages":[
    {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1.0}"}}]},
    {"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]})");
  ASSERT_EQ(made.conversation.tools.size(), 1u);
  EXPECT_EQ(made.conversation.tools[0], R"({"type":"function","function":{"name":"f","x":1.0}})");
  EXPECT_EQ(made.conversation.messages[0].calls.at(0).arguments, "{\"a\": 1.0}");
  EXPECT_EQ(made.conversation.messages[1].content.size(), 2u);
}

TEST(ChatRequest, NamesWhatIsWrong) {
  const auto param = [](const std::string& more) { return fault(with_user(more)).param; };
  EXPECT_EQ(fault("{}").param, "messages");
  EXPECT_EQ(fault(R"({"messages":5})").param, "messages");
  EXPECT_EQ(fault(R"({"messages":[]})").param, "messages");
  EXPECT_EQ(fault(R"({"messages":[{"role":"user"}]})").param, "messages[0].content");
  EXPECT_EQ(fault(R"({"messages":[{"content":"x"}]})").param, "messages[0].role");
  EXPECT_EQ(fault(R"({"messages":[{"role":"king","content":"x"}]})").param, "messages[0].role");
  EXPECT_EQ(fault(R"({"messages":["x"]})").param, "messages[0]");
  EXPECT_EQ(fault(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})").param,
            "messages[0].content[0].text");
  EXPECT_EQ(param(R"("max_tokens":-1)"), "max_tokens");
  EXPECT_EQ(param(R"("max_tokens":"8")"), "max_tokens");
  EXPECT_EQ(param(R"("temperature":-0.1)"), "temperature");
  EXPECT_EQ(param(R"("n":0)"), "n");
  EXPECT_EQ(param(R"("stop":[""])"), "stop");
  EXPECT_EQ(param(R"("stream":"yes")"), "stream");
  EXPECT_EQ(param(R"("top_logprobs":2)"), "top_logprobs");
  EXPECT_EQ(param(R"("tools":[{"type":"function","function":{}}])"), "tools[0].function.name");
  EXPECT_EQ(param(R"("tool_choice":"always")"), "tool_choice");
  EXPECT_EQ(param(R"("tool_choice":{"type":"function","function":{}})"), "tool_choice.function.name");
  EXPECT_EQ(param(R"("tool_choice":{"type":"custom","function":{"name":"f"}})"), "tool_choice.type");
  EXPECT_EQ(param(R"("response_format":{"type":"xml"})"), "response_format.type");
  EXPECT_EQ(param(R"("response_format":{"type":"json_schema"})"), "response_format.json_schema");
  EXPECT_EQ(param(R"("grammar":"root ::= \"a\"","response_format":{"type":"json_object"})"), "grammar");
  for (const char* bias : {R"({"x":1})", R"({"5":101})", R"({"5":"1"})", R"({"-5":1})", "[1]"})
    EXPECT_EQ(param(std::string(R"("logit_bias":)") + bias), "logit_bias") << bias;
  EXPECT_EQ(param(R"("model":5)"), "model");
}

TEST(ChatReply, AWholeOneHasEverything) {
  const auto writer = chat_writer({"chatcmpl-1", "m", 7}, {.choices = 1});
  for (Piece& piece : test::reply_in_pieces()) writer->piece(0, std::move(piece));
  writer->choice_end(0, {Finish::stop});
  const Json body = Json::parse(writer->whole({.prompt_tokens = 3, .completion_tokens = 4}));
  const Json& choice = body.at("choices").at(0);
  EXPECT_EQ(body.at("object"), "chat.completion");
  EXPECT_EQ(body.at("usage").at("total_tokens"), 7);
  EXPECT_EQ(choice.at("message").at("content"), "Hello");
  EXPECT_EQ(choice.at("message").at("reasoning_content"), "hm");
  EXPECT_EQ(choice.at("message").at("tool_calls").at(0).at("function").at("arguments"), test::kCallArguments);
  EXPECT_EQ(choice.at("finish_reason"), "tool_calls");
}

TEST(ChatReply, AStreamAddsUpToTheWhole) {
  const auto writer = chat_writer({"chatcmpl-1", "m", 7}, {.choices = 1, .stream = true, .include_usage = true});
  std::string stream = writer->stream_begin();
  for (Piece& piece : test::reply_in_pieces()) stream += writer->piece(0, std::move(piece));
  stream += writer->choice_end(0, {Finish::stop});
  stream += writer->stream_end({.prompt_tokens = 3, .completion_tokens = 4});
  std::string content, reasoning, arguments, id, finish;
  int usage = 0, pieces_of_arguments = 0;
  bool done = false;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t end = stream.find("\n\n", at);
    ASSERT_NE(end, std::string::npos);
    ASSERT_TRUE(stream.substr(at).starts_with("data: "));
    const std::string data = stream.substr(at + 6, end - at - 6);
    at = end + 2;
    if (data == "[DONE]") {
      done = true;
      continue;
    }
    ASSERT_FALSE(done);
    const Json chunk = Json::parse(data);
    if (chunk.contains("usage")) usage = chunk.at("usage").at("total_tokens");
    if (chunk.at("choices").empty()) continue;
    const Json& choice = chunk.at("choices").at(0);
    const Json& delta = choice.at("delta");
    content += delta.value("content", "");
    reasoning += delta.value("reasoning_content", "");
    if (delta.contains("tool_calls")) {
      const Json& call = delta.at("tool_calls").at(0);
      EXPECT_EQ(call.at("index"), 0);
      id += call.value("id", "");
      ++pieces_of_arguments;
      arguments += call.at("function").value("arguments", "");
    }
    if (!choice.at("finish_reason").is_null()) finish = choice.at("finish_reason");
  }
  EXPECT_EQ(content, "Hello");
  EXPECT_EQ(reasoning, "hm");
  EXPECT_EQ(arguments, test::kCallArguments);
  EXPECT_EQ(pieces_of_arguments, 4) << "the call's name, two arguments and the end";
  EXPECT_FALSE(id.empty());
  EXPECT_EQ(finish, "tool_calls");
  EXPECT_EQ(usage, 7);
  EXPECT_TRUE(done);
}

TEST(CompletionRequest, TakesTextsAndIds) {
  const auto prompts = [](const std::string& prompt) {
    const auto read = read_completion(R"({"prompt":)" + prompt + "}", kSampling);
    return read ? static_cast<int>(read->prompts.size()) : -read.error().status;
  };
  EXPECT_EQ(prompts("\"a\""), 1);
  EXPECT_EQ(prompts("[1,2,3]"), 1);
  EXPECT_EQ(prompts("[\"a\",\"b\"]"), 2);
  EXPECT_EQ(prompts("[[1],[2,3]]"), 2);
  for (const char* wrong : {"5", "[]", "[[]]", "[1,\"a\"]", "null", "{}", "[1.5]"})
    EXPECT_EQ(prompts(wrong), -400) << wrong;
}

TEST(CompletionReply, LogprobsHaveFourListsOfOneLength) {
  const auto writer = completion_writer({"cmpl-1", "m", 7}, {.choices = 1, .logprobs = true});
  Piece piece;
  piece.events.push_back({.kind = ReplyEvent::Kind::content, .text = "h\u00e9y"});
  piece.tokens = {{"h\u00e9", std::nullopt, {}}, {"y", -0.5, {{"y", -0.5}, {"z", -1.5}}}};
  writer->piece(0, std::move(piece));
  writer->choice_end(0, {Finish::length});
  const Json choice = Json::parse(writer->whole({})).at("choices").at(0);
  EXPECT_EQ(choice.at("text"), "h\u00e9y");
  EXPECT_EQ(choice.at("finish_reason"), "length");
  EXPECT_EQ(choice.at("logprobs").at("tokens"), Json::parse("[\"h\u00e9\",\"y\"]"));
  EXPECT_EQ(choice.at("logprobs").at("token_logprobs"), Json::parse("[null,-0.5]"));
  EXPECT_EQ(choice.at("logprobs").at("text_offset"), Json::parse("[0,2]"));
  EXPECT_EQ(choice.at("logprobs").at("top_logprobs").at(1), Json::parse("{\"y\":-0.5,\"z\":-1.5}"));
}

}  // namespace
}  // namespace sluice::serve
