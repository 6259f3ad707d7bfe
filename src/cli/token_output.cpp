// See token_output.h.
#include "cli/token_output.h"

#include <unistd.h>

#include <cstdio>

#include "cli/console.h"

namespace sluice::cli {

namespace {

// What a model writes must not be able to steer the terminal: control characters become U+FFFD.
std::string harmless(const std::string& text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_c1 = byte == 0xC2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    const bool is_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F || is_c1;
    shown += is_control ? std::string("\xEF\xBF\xBD") : std::string(1, text[at]);
    if (is_c1) ++at;
  }
  return shown;
}

}  // namespace

TokenOutput::TokenOutput(std::unique_ptr<TextStream> stream, bool shown)
    : stream_(std::move(stream)),
      shown_(shown),
      on_terminal_(::isatty(STDOUT_FILENO) == 1),
      dim_(::isatty(STDERR_FILENO) == 1) {}

bool TokenOutput::add(int id) {
  if (stream_ == nullptr) {
    show((text_.empty() ? "" : ",") + std::to_string(id));
    return true;
  }
  stream_->push(id, pieces_);
  tell();
  return !stream_->stop_met();
}

void TokenOutput::finish() {
  if (stream_ != nullptr) stream_->finish(pieces_);
  tell();
  end_reasoning();
  if (!shown_ || text_.empty() || text_.back() == '\n') return;
  std::fputc('\n', stdout);
  std::fflush(stdout);  // before the report, where both outputs are one
}

void TokenOutput::tell() {
  for (const ReplyEvent& piece : pieces_) {
    if (piece.kind == ReplyEvent::Kind::reasoning) {
      think(piece.text);
      continue;
    }
    end_reasoning();
    if (piece.kind == ReplyEvent::Kind::content) {
      answer_ += piece.text;
      show(piece.text);
    } else if (piece.kind == ReplyEvent::Kind::call_begin) {
      calls_.push_back({.name = piece.text});
      show((text_.empty() || text_.back() == '\n' ? "" : "\n") + piece.text + " ");
    } else if (piece.kind == ReplyEvent::Kind::call_end && !calls_.empty()) {
      calls_.back().arguments = piece.text;
      show(piece.text + "\n");
    }
  }
  pieces_.clear();
}

void TokenOutput::show(const std::string& text) {
  text_ += text;
  if (!shown_ || text.empty()) return;
  const std::string safe = on_terminal_ ? harmless(text) : text;
  std::fwrite(safe.data(), 1, safe.size(), stdout);
  std::fflush(stdout);
}

void TokenOutput::think(const std::string& text) {
  reasoning_ += text;
  if (verbosity() == Verbosity::quiet) return;
  std::fputs(((thinking_ || !dim_ ? "" : "\x1b[2m") + (dim_ ? harmless(text) : text)).c_str(), stderr);
  thinking_ = true;
}

void TokenOutput::end_reasoning() {
  if (thinking_) std::fputs(dim_ ? "\x1b[0m\n" : "\n", stderr);
  thinking_ = false;
}

}  // namespace sluice::cli
