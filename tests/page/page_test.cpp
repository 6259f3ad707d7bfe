// The web page in a real browser, as a person uses it: say something, watch the answer come, stop it, say it again,
// edit, come back later; on a wide and on a narrow screen, light and dark.
//
// Screenshots are left in page_screenshots of the build folder, for people to look at.
#include <gtest/gtest.h>

#include "page/browser.h"
#include "support/served.h"

namespace sluice::test {
namespace {

// Answers of the bundled models are short and always the same in their length: long ones are asked for by a context
// that leaves room, and stopped.
class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (chromium_path().empty()) GTEST_SKIP() << "chromium is not installed (Debian's package is called chromium)";
    // Without drafts and with one thread the endless answer takes some seconds: it is to be stopped.
    server_ = std::make_unique<Served>(Arguments{"--context", "4096", "--speculate", "off", "--threads", "1"});
    browser_ = std::make_unique<Browser>(chromium_path());
    std::filesystem::create_directories(shots_);
    browser_->window(1280, 800, false);
    browser_->open(address());
    ASSERT_TRUE(browser_->comes_true("document.title === 'kimi-k3'"));
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(server_->port()) + "/"; }
  bool idle() { return browser_->comes_true("document.getElementById('send').textContent === 'Send'"); }
  void say(const std::string& text) {
    browser_->says("document.getElementById('text').focus()");
    browser_->type(text);
    browser_->press_enter();
  }
  int count(const std::string& selector) {
    return browser_->says("document.querySelectorAll('" + selector + "').length").get<int>();
  }
  std::string text_of(const std::string& selector) {
    return browser_->says("[...document.querySelectorAll('" + selector + "')].pop()?.textContent ?? ''");
  }
  void press(const std::string& name) {
    ASSERT_EQ(browser_->says("(() => { const all = [...document.querySelectorAll('button')].filter(one => "
                             "one.textContent === '" +
                             name + "'); all.pop()?.click(); return true; })()"),
              true);
  }
  void shot(const std::string& name) { browser_->screenshot((shots_ / (name + ".png")).string()); }

  std::filesystem::path shots_ = std::filesystem::path(SLUICE_BINARY_DIR) / "page_screenshots";
  std::unique_ptr<Served> server_;
  std::unique_ptr<Browser> browser_;
};

TEST_F(Page, AConversation) {
  shot("empty");
  say("What is the capital of France?");
  ASSERT_TRUE(browser_->comes_true("document.querySelectorAll('.assistant').length === 1"));
  ASSERT_TRUE(idle());
  EXPECT_EQ(text_of(".user"), "What is the capital of France?");
  const std::string answer = text_of(".assistant");
  EXPECT_FALSE(answer.empty());
  EXPECT_NE(answer, "…");
  shot("answer");

  press("Retry");  // replaces the answer
  ASSERT_TRUE(idle());
  EXPECT_EQ(count(".assistant"), 1);
  EXPECT_EQ(count(".user"), 1);

  press("Edit");  // the message comes back, and what followed it is gone
  EXPECT_EQ(browser_->says("document.getElementById('text').value"), "What is the capital of France?");
  EXPECT_EQ(count(".user") + count(".assistant"), 0);
  browser_->says("document.getElementById('text').value = ''");
  say("And of Italy?");
  ASSERT_TRUE(browser_->comes_true("document.querySelectorAll('.assistant').length === 1"));
  ASSERT_TRUE(idle());
  EXPECT_EQ(text_of(".user"), "And of Italy?");

  browser_->open(address());  // conversations are kept in the browser
  ASSERT_TRUE(browser_->comes_true("document.querySelectorAll('.assistant').length === 1"));
  EXPECT_EQ(text_of(".user"), "And of Italy?");
  press("New conversation");
  EXPECT_EQ(count(".user"), 0);
  EXPECT_EQ(count("#list .row"), 2);
  EXPECT_TRUE(browser_->errors().empty()) << browser_->errors().front();
}

TEST_F(Page, AnAnswerIsStopped) {
  // Endless: no temperature, and what was said becomes likelier each time. The page asks as it always does.
  browser_->says(
      "(() => { const plain = window.fetch; window.fetch = (where, how) => plain(where, how?.body ? {...how, body: "
      "JSON.stringify({...JSON.parse(how.body), temperature: 0, frequency_penalty: -100})} : how); return true; })()");
  say("Hello");
  ASSERT_TRUE(browser_->comes_true("document.getElementById('send').textContent === 'Stop'"));
  ASSERT_TRUE(browser_->comes_true("(document.querySelector('.assistant')?.textContent.length ?? 0) > 30"));
  ASSERT_TRUE(browser_->comes_true("document.querySelectorAll('#live .bar').length >= 3"));  // memory, weights, time
  shot("running");
  browser_->says("document.getElementById('send').click()");
  ASSERT_TRUE(idle());
  EXPECT_NE(text_of(".assistant").find("(stopped)"), std::string::npos);
  EXPECT_TRUE(server_->settles()) << "the server computes on for nobody";
}

TEST_F(Page, MarkdownReasoningAndCallsAreShownAsText) {
  browser_->says(R"js(localStorage.setItem("sluice.conversations", JSON.stringify([{id: 1, messages: [
      {role: "user", content: "<b>show</b>"},
      {role: "assistant", reasoning_content: "let me think", content: "# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nint main() {}\n```\n<img src=x onerror=alert(1)>",
       tool_calls: [{id: "c", type: "function", function: {name: "look", arguments: "{\"place\": \"here\"}"}}]}]}])))js");
  browser_->open(address());
  ASSERT_TRUE(browser_->comes_true("document.querySelectorAll('.assistant').length === 1"));
  EXPECT_EQ(text_of(".user"), "<b>show</b>");
  EXPECT_EQ(count(".assistant details:not([open])"), 1) << "reasoning is folded";
  EXPECT_EQ(count(".assistant h2"), 1);
  EXPECT_EQ(count(".assistant strong"), 1);
  EXPECT_EQ(count(".assistant li"), 2);
  EXPECT_EQ(count(".assistant td"), 2);
  EXPECT_EQ(count(".assistant .code"), 2) << "a block of code, and the call";
  EXPECT_EQ(count(".assistant .code button"), 2);
  EXPECT_EQ(count(".assistant img"), 0) << "what a model writes is never HTML";
  EXPECT_EQ(text_of(".assistant .code code"), "look {\"place\": \"here\"}");
  for (const bool dark : {false, true}) {
    browser_->window(1280, 800, dark);
    shot(dark ? "markdown_dark" : "markdown_light");
    browser_->window(390, 844, dark);
    EXPECT_EQ(browser_->says("document.documentElement.scrollWidth <= 390"), true) << "nothing sticks out";
    shot(dark ? "phone_dark" : "phone_light");
  }
  browser_->says("document.getElementById('menu').click()");
  EXPECT_EQ(browser_->says("getComputedStyle(document.querySelector('aside')).display"), "flex");
  shot("phone_menu");
}

TEST_F(Page, NothingIsAskedOfOthers) {
  say("Hi");
  ASSERT_TRUE(browser_->comes_true("document.querySelectorAll('.assistant').length === 1"));
  ASSERT_TRUE(idle());
  ASSERT_FALSE(browser_->requests().empty());
  for (const std::string& request : browser_->requests()) EXPECT_TRUE(request.starts_with(address())) << request;
}

}  // namespace
}  // namespace sluice::test
