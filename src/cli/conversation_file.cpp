// See conversation_file.h.
#include "cli/conversation_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text_file.h"
#include "serve/openai_messages.h"
#include "serve/reply_writer.h"

namespace sluice::cli {

namespace {

Result<> cannot_write(const std::string& path) {
  return fail(ErrorKind::bad_input, fmt::format("cannot write {}: {}", path, std::strerror(errno)),
              "check that the folder exists and may be written");
}

std::string lines_of(std::span<const Message> messages) {
  std::string text;
  for (const Message& message : messages) text += serve::dump(serve::message_json(message)) + "\n";
  return text;
}

Result<> write_to(const std::string& path, std::ios::openmode how, std::span<const Message> messages) {
  std::ofstream file(path, std::ios::binary | how);
  file << lines_of(messages);
  file.close();
  return file.good() ? Result<>{} : cannot_write(path);
}

}  // namespace

Result<std::vector<Message>> read_conversation_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file.good() || std::filesystem::is_directory(path, ignored)) return tl::unexpected<Error>(unreadable(path));
  std::vector<Message> messages;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto json = serve::parse_body(line);
    auto problem = json ? std::optional<serve::ApiError>() : std::optional(json.error());
    if (json) {
      const serve::Body body(*json);
      messages.push_back(serve::read_message(body));
      problem = body.fault();
    }
    if (problem)
      return fail(ErrorKind::bad_input, fmt::format("{}, line {}: {}", path, number, problem->message),
                  "each line is one message: {\"role\": \"user\", \"content\": \"...\"}");
  }
  return messages;
}

Result<> write_conversation_file(const std::string& path, std::span<const Message> messages) {
  std::error_code problem;
  if (std::filesystem::exists(path, problem) && !std::filesystem::is_regular_file(path, problem))
    return fail(ErrorKind::bad_input, fmt::format("{} is no file", path));
  const std::string beside = path + ".new";
  TRY(write_to(beside, std::ios::trunc, messages));
  std::filesystem::rename(beside, path, problem);
  if (problem) return fail(ErrorKind::bad_input, fmt::format("cannot write {}: {}", path, problem.message()));
  return {};
}

Result<> append_to_conversation_file(const std::string& path, std::span<const Message> messages) {
  return messages.empty() ? Result<>{} : write_to(path, std::ios::app, messages);
}

}  // namespace sluice::cli
