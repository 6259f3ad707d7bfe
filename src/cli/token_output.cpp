// See token_output.h.
#include "cli/token_output.h"

#include <unistd.h>

#include <cstdio>

#include "cli/console.h"
#include "generate/stop.h"
#include "text/utf8_stream.h"

namespace sluice::cli {

namespace {

class Shown : public TokenOutput {
 public:
  explicit Shown(const OutputOptions& options) : stops_(options.stops), shown_(options.shown) {}

  void finish() override {
    if (!stops_.met()) show(stops_.finish());
    if (!shown_ || text_.empty() || text_.back() == '\n') return;
    std::fputc('\n', stdout);
    std::fflush(stdout);  // before the report, where both outputs are one
  }

 protected:
  // False once a stop string is complete.
  bool say(std::string_view text) {
    show(stops_.push(text));
    return !stops_.met();
  }

 private:
  void show(const std::string& text) {
    text_ += text;
    if (!shown_ || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  StopStrings stops_;
  bool shown_;
};

class IdOutput final : public Shown {
 public:
  using Shown::Shown;
  bool add(int id) override {
    say((first_ ? "" : ",") + std::to_string(id));
    first_ = false;
    return true;
  }

 private:
  bool first_ = true;
};

class TextOutput final : public Shown {
 public:
  TextOutput(const Tokenizer& tokenizer, const OutputOptions& options) : Shown(options), tokenizer_(tokenizer) {}
  bool add(int id) override { return !tokenizer_.is_shown(id) || say(utf8_.push(tokenizer_.bytes(id))); }
  void finish() override {
    say(utf8_.finish());
    Shown::finish();
  }

 private:
  const Tokenizer& tokenizer_;
  Utf8Stream utf8_;
};

class ChatOutput final : public Shown {
 public:
  ChatOutput(std::unique_ptr<ReplyParser> parser, const OutputOptions& options)
      : Shown(options), parser_(std::move(parser)), dim_(::isatty(STDERR_FILENO) == 1) {}
  bool add(int id) override {
    events_.clear();
    parser_->push({&id, 1}, events_);
    return tell();
  }
  void finish() override {
    events_.clear();
    parser_->finish(events_);
    tell();
    end_reasoning();
    Shown::finish();
  }

 private:
  bool tell() {
    bool go_on = true;
    for (const ReplyEvent& event : events_) {
      if (event.kind == ReplyEvent::Kind::reasoning) {
        think(event.text);
        continue;
      }
      end_reasoning();
      if (event.kind == ReplyEvent::Kind::content) go_on = say(event.text);
      if (event.kind == ReplyEvent::Kind::call_begin) go_on = say("\n" + event.text + " ");
      if (event.kind == ReplyEvent::Kind::call_end) go_on = say(event.text + "\n");
    }
    return go_on;
  }
  void think(const std::string& text) {
    reasoning_ += text;
    if (verbosity() == Verbosity::quiet) return;
    std::fputs(((thinking_ || !dim_ ? "" : "\x1b[2m") + text).c_str(), stderr);
    thinking_ = true;
  }
  void end_reasoning() {
    if (thinking_) std::fputs(dim_ ? "\x1b[0m\n" : "\n", stderr);
    thinking_ = false;
  }

  std::unique_ptr<ReplyParser> parser_;
  std::vector<ReplyEvent> events_;
  bool dim_, thinking_ = false;
};

}  // namespace

std::unique_ptr<TokenOutput> id_output(const OutputOptions& options) { return std::make_unique<IdOutput>(options); }

std::unique_ptr<TokenOutput> text_output(const Tokenizer& tokenizer, const OutputOptions& options) {
  return std::make_unique<TextOutput>(tokenizer, options);
}

std::unique_ptr<TokenOutput> chat_output(std::unique_ptr<ReplyParser> parser, const OutputOptions& options) {
  return std::make_unique<ChatOutput>(std::move(parser), options);
}

}  // namespace sluice::cli
