// Turns what the engine makes for one request into the text of an answer: a whole body, or a stream of server-sent
// events. Pure: the same calls give the same text. One implementation for each endpoint that generates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/request.h"
#include "serve/api_error.h"
#include "text/messages.h"

namespace sluice::serve {

// A token with its log probability, as bytes that may be a part of a character.
struct TokenText {
  std::string bytes;
  std::optional<double> logprob;                    // nothing for the first token of a prompt
  std::vector<std::pair<std::string, double>> top;  // alternatives, most likely first
};

// What one step added to a choice.
struct Piece {
  std::vector<ReplyEvent> events;
  std::vector<TokenText> tokens;  // only if log probabilities were asked for
};

struct ChoiceEnd {
  Finish finish = Finish::length;
  std::string stop_string = {};  // that was met; empty if none
};

struct Usage {
  std::size_t prompt_tokens = 0, completion_tokens = 0;
  std::size_t cached_tokens = 0;  // of the prompt: computed for an earlier request
  std::size_t forced_tokens = 0;  // of those generated: a grammar left no choice, and they cost no pass
};

struct ReplyNames {
  std::string id, model;
  std::int64_t created = 0;  // Unix seconds
};

class ReplyWriter {
 public:
  virtual ~ReplyWriter() = default;

  // Takes in a piece of a choice, or its end. What comes back is the text to stream for it, which may be empty; an
  // answer that is not streamed ignores it.
  virtual std::string piece(std::size_t choice, Piece piece) = 0;
  virtual std::string choice_end(std::size_t choice, const ChoiceEnd& end) = 0;

  virtual std::string stream_begin() = 0;
  virtual std::string stream_end(const Usage& usage) = 0;
  // Instead of the rest of a stream.
  virtual std::string stream_error(const ApiError& error) = 0;
  // Instead of an answer that has not begun, in the shape of the API.
  virtual HttpReply refusal(const ApiError& error) { return to_reply(error); }
  // The body of an answer that is not streamed, after the end of every choice.
  virtual std::string whole(const Usage& usage) = 0;
};

// The arguments of a call as they become certain, one after another, so that a stream need not wait for the last.
class CallArguments {
 public:
  // What follows what was told before, of an event `argument` or `call_end`: in the end it is all of call_end's text.
  std::string more(const ReplyEvent& event);

 private:
  std::string told_;
};

// "data: ...\n\n"
std::string sse_data(std::string_view text);
std::string dump(const nlohmann::ordered_json& json);
// Text of bytes that may be cut inside a character.
std::string as_text(std::string_view bytes);
nlohmann::ordered_json usage_json(const Usage& usage);

}  // namespace sluice::serve
