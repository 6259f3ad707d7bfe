// Spellings of DeepSeek-V4's control tokens (spec section 5). The bar is U+FF5C, the low block U+2581.
#pragma once

#include <array>
#include <string_view>

namespace sluice::deepseek_v4 {

inline constexpr std::string_view kBegin = "<｜begin▁of▁sentence｜>";
inline constexpr std::string_view kEnd = "<｜end▁of▁sentence｜>";
inline constexpr std::string_view kUser = "<｜User｜>";
inline constexpr std::string_view kAssistant = "<｜Assistant｜>";
inline constexpr std::string_view kThink = "<think>";
inline constexpr std::string_view kEndThink = "</think>";
inline constexpr std::string_view kDsml = "｜DSML｜";
inline constexpr std::string_view kReminder = "<｜latest_reminder｜>";

// Auxiliary jobs: the word in a message and the token that asks for it.
struct Task {
  std::string_view name, token;
};
inline constexpr std::string_view kAction = "action";
inline constexpr std::array<Task, 6> kTasks = {{{kAction, "<｜action｜>"},
                                                {"query", "<｜query｜>"},
                                                {"authority", "<｜authority｜>"},
                                                {"domain", "<｜domain｜>"},
                                                {"title", "<｜title｜>"},
                                                {"read_url", "<｜read_url｜>"}}};

}  // namespace sluice::deepseek_v4
