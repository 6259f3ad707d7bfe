// A running server, as the tests ask it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <thread>

#include "support/http_client.h"
#include "support/sluice_program.h"

namespace sluice::test {

inline constexpr const char* kChatPath = "/v1/chat/completions";

// `sluice serve` on a free port, until it goes out of scope.
class Served {
 public:
  explicit Served(const Arguments& arguments = {}, const std::filesystem::path& model = demo_model())
      : program_(sluice_path(), Arguments{"serve", model.string(), "--port", "0"} + arguments) {
    for (int wait = 0; wait < 3000 && port_ == 0; ++wait) {
      std::smatch found;
      const std::string said = program_.err_so_far();
      if (std::regex_search(said, found, std::regex("listening on http://[^ ]*:([0-9]+) ")))
        port_ = std::stoi(found[1]);
      if (program_.done()) throw std::runtime_error("the server ended: " + said);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (port_ == 0) throw std::runtime_error("the server does not listen");
  }
  int port() const { return port_; }
  RunningProgram& program() { return program_; }

  HttpAnswer post(const std::string& path, const std::string& body, const std::string& headers = {}) const {
    return http(port_, "POST", path, body, headers);
  }
  nlohmann::json posted(const std::string& path, const std::string& body) const {
    const HttpAnswer answer = post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return nlohmann::json::parse(answer.body, nullptr, false);
  }
  double metric(const std::string& name) const {
    const std::string text = http(port_, "GET", "/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  bool settles() const {  // nobody runs or waits
    for (int wait = 0; wait < 1000; ++wait) {
      const nlohmann::json health = nlohmann::json::parse(http(port_, "GET", "/health").body);
      if (health.at("running") == 0 && health.at("waiting") == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  RunningProgram program_;
  int port_ = 0;
};

}  // namespace sluice::test
