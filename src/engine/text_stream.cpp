// See text_stream.h.
#include "engine/text_stream.h"

#include <utility>

namespace sluice {

TextStream::TextStream(const Tokenizer& tokenizer, std::vector<std::string> stops)
    : tokenizer_(&tokenizer), stops_(std::move(stops)) {}

TextStream::TextStream(std::unique_ptr<ReplyParser> parser, std::vector<std::string> stops)
    : parser_(std::move(parser)), stops_(std::move(stops)) {}

void TextStream::push(int id, std::vector<ReplyEvent>& pieces) {
  if (stop_met()) return;
  if (parser_ != nullptr) {
    parser_->push({&id, 1}, parsed_);
    take(pieces);
  } else if (tokenizer_->is_shown(id)) {
    say(stops_.push(utf8_.push(tokenizer_->bytes(id))), pieces);
  }
}

void TextStream::finish(std::vector<ReplyEvent>& pieces) {
  if (stop_met()) return;
  if (parser_ != nullptr) {
    parser_->finish(parsed_);
    take(pieces);
  } else {
    say(stops_.push(utf8_.finish()), pieces);
  }
  if (!stop_met()) say(stops_.finish(), pieces);
}

void TextStream::take(std::vector<ReplyEvent>& pieces) {
  for (ReplyEvent& event : std::exchange(parsed_, {})) {
    if (stop_met()) return;
    if (event.kind == ReplyEvent::Kind::content) {
      say(stops_.push(event.text), pieces);
      continue;
    }
    say(stops_.finish(), pieces);  // the answer is interrupted here, so nothing held back can become a stop string
    pieces.push_back(std::move(event));
  }
}

void TextStream::say(std::string text, std::vector<ReplyEvent>& pieces) {
  if (text.empty()) return;
  pieces.push_back(
      {.kind = ReplyEvent::Kind::content, .text = std::move(text), .key = {}, .call = -1, .complete = true});
}

}  // namespace sluice
