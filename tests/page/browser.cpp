// See browser.h.
#include "page/browser.h"

#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <thread>

namespace sluice::test {

namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using Json = nlohmann::json;

std::vector<std::string> flags(const std::string& profile) {
  return {"--headless",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--no-first-run",
          "--hide-scrollbars",
          "--disable-background-networking",
          "--remote-debugging-port=0",
          "--user-data-dir=" + profile,
          "about:blank"};
}

struct Address {
  std::string port, path;
};
// Of the browser itself. It takes seconds to start on a busy machine.
Address debugging_address(RunningProgram& program) {
  for (int wait = 0; wait < 6000; ++wait) {
    std::smatch found;
    const std::string said = program.err_so_far();
    if (std::regex_search(said, found, std::regex("DevTools listening on ws://127.0.0.1:([0-9]+)(/[^ \n]+)\n")))
      return {found[1], found[2]};
    if (program.done()) throw std::runtime_error("chromium ended: " + said);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("chromium does not say where it listens");
}

std::string from_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned held = 0;
  int bits = 0;
  for (const char digit : text) {
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) break;
    held = (held << 6 | static_cast<unsigned>(value)) & 0xFFFFFF;
    if ((bits += 6) >= 8) bytes += static_cast<char>(held >> (bits -= 8) & 0xFF);
  }
  return bytes;
}

}  // namespace

class Browser::Socket {
 public:
  Socket(const std::string& port, const std::string& path) : stream_(context_) {
    asio::ip::tcp::resolver resolver(context_);
    asio::connect(stream_.next_layer(), resolver.resolve("127.0.0.1", port));
    stream_.read_message_max(64 << 20);
    stream_.handshake("127.0.0.1:" + port, path);
  }
  void send(const Json& message) { stream_.write(asio::buffer(message.dump())); }
  Json receive() {
    boost::beast::flat_buffer buffer;
    stream_.read(buffer);
    return Json::parse(boost::beast::buffers_to_string(buffer.data()));
  }

 private:
  asio::io_context context_;
  websocket::stream<asio::ip::tcp::socket> stream_;
};

std::string chromium_path() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (access(path, X_OK) == 0) return path;
  return {};
}

Browser::Browser(const std::string& program) : program_(program, flags(profile_.path().string())) {
  const auto [port, path] = debugging_address(program_);
  socket_ = std::make_unique<Socket>(port, path);
  const Json page = call("Target.createTarget", {{"url", "about:blank"}});
  session_ = call("Target.attachToTarget", {{"targetId", page.at("targetId")}, {"flatten", true}}).at("sessionId");
  for (const char* domain : {"Page", "Runtime", "Network", "Log"}) call(std::string(domain) + ".enable");
}

Browser::~Browser() {
  try {
    session_.clear();
    call("Browser.close");
    program_.finish();
  } catch (const std::exception&) {  // it went by itself, or is killed with the program
  }
}

void Browser::take_event(const Json& event) {
  const std::string method = event.value("method", "");
  if (method == "Network.requestWillBeSent") requests_.push_back(event.at("params").at("request").at("url"));
  if (method == "Runtime.exceptionThrown") errors_.push_back(event.at("params").at("exceptionDetails").dump());
  if (method == "Log.entryAdded" && event.at("params").at("entry").at("level") == "error")
    errors_.push_back(event.at("params").at("entry").dump());
}

Json Browser::call(const std::string& method, const Json& parameters) {
  const int id = ++calls_;
  Json message = {{"id", id}, {"method", method}, {"params", parameters}};
  if (!session_.empty()) message["sessionId"] = session_;
  socket_->send(message);
  while (true) {
    const Json answer = socket_->receive();
    if (!answer.contains("id")) take_event(answer);
    if (answer.value("id", 0) != id) continue;
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer.at("error").dump());
    return answer.at("result");
  }
}

void Browser::open(const std::string& address) {
  requests_.clear();
  errors_.clear();
  call("Page.navigate", {{"url", address}});
  comes_true("document.readyState === 'complete' && location.href !== 'about:blank'");
}

void Browser::window(int width, int height, bool dark) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", width < 600}});
  const Json scheme = {{"name", "prefers-color-scheme"}, {"value", dark ? "dark" : "light"}};
  call("Emulation.setEmulatedMedia", {{"features", Json::array({scheme})}});
}

Json Browser::says(const std::string& script) {
  const Json made = call("Runtime.evaluate", {{"expression", script}, {"returnByValue", true}, {"awaitPromise", true}});
  if (made.contains("exceptionDetails")) throw std::runtime_error(script + ": " + made.at("exceptionDetails").dump());
  return made.at("result").value("value", Json());
}

bool Browser::comes_true(const std::string& script) {
  for (int wait = 0; wait < 600; ++wait) {
    if (says(script) == true) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void Browser::type(const std::string& text) { call("Input.insertText", {{"text", text}}); }

void Browser::press_enter() {
  for (const char* type : {"keyDown", "keyUp"})
    call("Input.dispatchKeyEvent",
         {{"type", type}, {"key", "Enter"}, {"code", "Enter"}, {"windowsVirtualKeyCode", 13}, {"text", "\r"}});
}

void Browser::screenshot(const std::string& path) {
  const std::string png = call("Page.captureScreenshot", {{"format", "png"}}).at("data");
  std::ofstream(path, std::ios::binary) << from_base64(png);
}

}  // namespace sluice::test
