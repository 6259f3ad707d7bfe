// A headless chromium that tests drive by its DevTools protocol: JSON over a WebSocket of this machine.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "support/run_program.h"

namespace sluice::test {

// The browser's program; empty if it is not installed.
std::string chromium_path();

// One browser with one page, and a profile of its own that is gone with it.
class Browser {
 public:
  explicit Browser(const std::string& program);
  ~Browser();

  void open(const std::string& address);
  void window(int width, int height, bool dark);
  // What a script in the page says; promises are waited for. Throws if it throws.
  nlohmann::json says(const std::string& script);
  // Waits until the script says true. False: it did not within half a minute.
  bool comes_true(const std::string& script);
  void type(const std::string& text);  // where the focus is
  void press_enter();
  void screenshot(const std::string& path);  // PNG
  // Addresses of everything the page asked for since it was opened.
  const std::vector<std::string>& requests() const { return requests_; }
  // Errors that the page wrote to its console.
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  class Socket;
  nlohmann::json call(const std::string& method, const nlohmann::json& parameters = nlohmann::json::object());
  void take_event(const nlohmann::json& event);

  TempDir profile_;
  RunningProgram program_;
  std::unique_ptr<Socket> socket_;
  std::string session_;  // with the page; empty: calls go to the browser
  int calls_ = 0;
  std::vector<std::string> requests_, errors_;
};

}  // namespace sluice::test
