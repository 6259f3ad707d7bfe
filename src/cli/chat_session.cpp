// See chat_session.h.
#include "cli/chat_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counter_random.h"
#include "cli/console.h"
#include "cli/token_output.h"
#include "engine/generate.h"
#include "residency/machine.h"

namespace sluice::cli {

ChatSession::ChatSession(Engine& engine, std::unique_ptr<ChatFormat> format, ChatSettings settings)
    : engine_(engine), format_(std::move(format)), settings_(std::move(settings)) {}

Result<> ChatSession::say(std::string text) {
  conversation_.messages.push_back({.role = Role::user, .content = {{.text = std::move(text)}}});
  attempt_ = 0;
  Result<> answered = answer();
  if (!answered || !has_answer()) conversation_.messages.pop_back();
  return answered;
}

Result<> ChatSession::regenerate() {
  std::vector<Message>& messages = conversation_.messages;
  if (!has_answer()) return fail(ErrorKind::bad_input, "there is no answer to give again", "say something first");
  const Message before = std::move(messages.back());
  messages.pop_back();
  ++attempt_;
  Result<> answered = answer();
  if (!answered || !has_answer()) messages.push_back(before);
  return answered;
}

Result<> ChatSession::undo() {
  std::vector<Message>& messages = conversation_.messages;
  const auto last = std::ranges::find(messages.rbegin(), messages.rend(), Role::user, &Message::role);
  if (last == messages.rend()) return fail(ErrorKind::bad_input, "nothing has been said that could be taken back");
  messages.erase(std::next(last).base(), messages.end());
  return {};
}

bool ChatSession::has_answer() const {
  return !conversation_.messages.empty() && conversation_.messages.back().role == Role::assistant;
}

void ChatSession::set_system(const std::string& text) {
  std::erase_if(conversation_.messages, [](const Message& message) { return message.role == Role::system; });
  if (!text.empty())
    conversation_.messages.insert(conversation_.messages.begin(), {.role = Role::system, .content = {{.text = text}}});
}

std::string ChatSession::system() const {
  std::string text;
  for (const Message& message : conversation_.messages)
    if (message.role == Role::system)
      for (const ContentPart& part : message.content) text += part.text;
  return text;
}

void ChatSession::set_thinking(const std::string& word) { sluice::set_thinking(settings_.options, word); }

Result<> ChatSession::answer() {
  TRY_TAKE(std::vector<int> prompt, format_->render(conversation_, settings_.options));
  const int context = engine_.options().context;
  const int room = context - static_cast<int>(prompt.size());
  if (room <= 0)
    return fail(
        ErrorKind::bad_input,
        fmt::format("the conversation has {} tokens, and the context holds {} with the answer", prompt.size(), context),
        "/undo takes the last turn back, /new begins again; --context N makes more room at the next start");
  TRY_TAKE(Message message, compute(std::move(prompt), room));
  if (!message.content.empty() || !message.calls.empty()) conversation_.messages.push_back(std::move(message));
  return {};
}

Result<Message> ChatSession::compute(std::vector<int> prompt, int room) {
  Request request{.prompt = std::move(prompt),
                  .max_tokens = settings_.max_tokens > 0 ? std::min(settings_.max_tokens, room) : room,
                  .stop_ids = format_->stop_ids(),
                  .sampling = settings_.sampling,
                  .seed = settings_.seed};
  if (attempt_ > 0) request.seed = counter_random(settings_.seed, static_cast<std::uint64_t>(attempt_));
  const std::span<const int> ends = engine_.config().stop_ids();
  request.stop_ids.insert(request.stop_ids.end(), ends.begin(), ends.end());

  const EngineStats before = engine_.stats();
  TokenOutput output(
      std::make_unique<TextStream>(format_->reply_parser(conversation_, settings_.options), settings_.stops), true);
  Progress progress("reading the conversation", request.prompt.size(), Progress::Unit::tokens);
  const auto on_token = [&](int id) {
    progress.finish();
    return output.add(id);
  };
  const auto on_logits = [](std::span<const float>) {};
  const auto on_prefill = [&](std::size_t done, std::size_t) { progress.at(done); };
  Result<Generation> made = generate(engine_, request, {on_logits, on_token, on_prefill}, interrupt_flag());
  progress.finish();
  output.finish();
  if (!made) return tl::unexpected<Error>(std::move(made.error()));

  last_.emplace();
  last_->generation = std::move(*made);
  last_->prompt_ids = std::move(request.prompt);
  last_->stats = engine_.stats() - before;
  last_->peak_rss_bytes = peak_resident_bytes();
  Message message{.role = Role::assistant, .reasoning = output.reasoning(), .calls = output.calls()};
  if (!output.answer().empty()) message.content.push_back({.text = output.answer()});
  return message;
}

}  // namespace sluice::cli
