// See tiktoken_model.h.
#include "support/tiktoken_model.h"

#include <cstdint>
#include <fstream>
#include <set>

namespace sluice::test {

namespace {

struct KnownToken {
  int id;
  const char* bytes;
};

// Tokens of moonshotai/Kimi-K3 (tiktoken.model, 163,584 entries), read off published encodings of the release: texts
// and their ids in the model's specification, sections 5.6 and 6.7.
// clang-format off
constexpr KnownToken kKnown[] = {
    {269, "的"}, {274, "   "}, {276, " the"}, {285, " f"}, {291, " b"}, {292, "。"}, {306, " in"}, {308, " to"},
    {316, " and"}, {318, " of"}, {330, "是"}, {337, "       "}, {347, " ("}, {350, " e"}, {374, " I"}, {378, "，"},
    {381, "**"}, {382, "\n\n"}, {387, " is"}, {414, " \""}, {418, " on"}, {470, "ort"}, {472, " with"}, {517, "end"},
    {554, " are"}, {555, " <"}, {581, " if"}, {635, " -"}, {651, " your"}, {677, "are"}, {691, " can"}, {715, " +"},
    {745, " return"}, {754, " int"}, {758, "(\""}, {777, ":\n"}, {793, " ["}, {795, "10"}, {841, " &"}, {856, "！"},
    {878, "=\""}, {904, "),"}, {970, " go"}, {1008, "The"}, {1019, " me"}, {1040, " K"}, {1048, "'s"}, {1083, ")."},
    {1101, " one"}, {1166, "def"}, {1268, " `"}, {1288, " x"}, {1289, "\":"}, {1312, " over"}, {1332, "low"},
    {1420, " \n"}, {1481, ".\n\n"}, {1530, " name"}, {1632, " how"}, {1677, " >"}, {1798, " type"}, {1833, " help"},
    {2020, ",\""}, {2033, "string"}, {2050, " see"}, {2069, " two"}, {2139, "amp"}, {2243, "世界"}, {2355, " key"},
    {2390, " call"}, {2397, " here"}, {2403, " system"}, {2455, " much"}, {2482, "user"}, {2529, "\tc"},
    {2676, "print"}, {2690, "\")\n"}, {2695, " world"}, {2704, " think"}, {2742, " user"}, {2778, "message"},
    {2878, " available"}, {2897, " next"}, {2949, " ->"}, {2976, "not"}, {2993, " item"}, {3251, "```"},
    {3411, " including"}, {3653, " How"}, {3661, " won"}, {3867, " include"}, {3898, "\n\n\n"}, {3900, "You"},
    {3940, "(x"}, {3996, " message"}, {4002, " index"}, {4110, "OS"}, {4130, "true"}, {4179, " done"},
    {4453, " tool"}, {4454, "open"}, {4503, " response"}, {4536, " don't"}, {4661, " values"}, {4925, "ls"},
    {5072, " quick"}, {5118, "_of"}, {5354, "max"}, {5375, "}}"}, {5376, "What"}, {5512, "42"}, {5534, "json"},
    {5713, "`,"}, {6244, " role"}, {6276, "59"}, {6562, "null"}, {6694, "123"}, {7288, "la"}, {7697, " tools"},
    {7751, " dog"}, {7808, "我是"}, {8264, "{\""}, {8491, " channel"}, {8842, ".txt"}, {9106, "command"},
    {9141, " supported"}, {9545, " thinking"}, {9663, "hi"}, {10006, "number"}, {10048, "Now"}, {10065, "shot"},
    {10257, "call"}, {10484, " capital"}, {11275, "999"}, {11369, "`."}, {11419, " JSON"}, {11438, "Schema"},
    {11512, "```\n"}, {11782, "tag"}, {11880, " described"}, {12092, "response"}, {12214, "Here"}, {12644, "python"},
    {13847, "quot"}, {14062, "system"}, {14222, "_msg"}, {15203, "ping"}, {15383, " France"}, {15662, "模型"},
    {15881, "It's"}, {16331, " brown"}, {16518, "`.\n"}, {17137, " \360\237"}, {18702, "141"}, {19180, "Hello"},
    {19421, "high"}, {19564, " they're"}, {19587, " you've"}, {20020, " I'd"}, {20331, "required"}, {20944, " we'll"},
    {20960, "tool"}, {22572, " AI"}, {22652, " <|"}, {22849, "\":{\""}, {22931, "hello"}, {23396, " Bob"},
    {24410, "],\""}, {24980, " Kim"}, {25385, "tools"}, {26293, " Title"}, {26523, "bash"}, {28560, " guides"},
    {29292, " lazy"}, {30218, " Moon"}, {30223, "imi"}, {30391, " Tools"}, {32166, "\360\237\207"}, {33845, "你好"},
    {33991, "\":["}, {39877, "&quot"}, {39964, "think"}, {42055, "&amp"}, {42070, " invoked"}, {44322, " MUST"},
    {47185, "argument"}, {50004, "medium"}, {54677, ";b"}, {59991, "-eff"}, {60062, " jumps"},
    {66122, "\360\237\222"}, {67496, " \360\237\207"}, {67963, "\342\200\215"}, {69275, " fox"}, {69702, "assistant"},
    {79530, "quoted"}, {79535, "_choice"}, {82190, ";c"}, {82319, "literal"}, {92949, "\360\237\217"},
    {105281, "=max"}, {115443, "moon"}, {120083, "-decl"}, {123074, "_eff"}, {130400, "thinking"},
    {130732, " \360\237\221"}, {135230, "-choice"},
};
// clang-format on

// Of these, the ones that pieces are merged to from single bytes. Each grows from the left, so all its prefixes become
// entries; prefixes that come first in the list merge first.
constexpr const char* kMerged[] = {
    " Bob",          " Kim",          "imi",          " Moon",        "shot",         "moon",     "的",      "模型",
    " \360\237\221", " \360\237\207", "\360\237\217", "\360\237\222", "\342\200\215", "thinking", "_eff",    "ort",
    "low",           "high",          "-eff",         "are",          " JSON",        "Schema",   "required"};

}  // namespace

std::vector<std::string> single_bytes() {
  const auto printable = [](int byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  };
  std::vector<std::string> entries;
  for (const bool wanted : {true, false})
    for (int byte = 0; byte < 256; ++byte)
      if (printable(byte) == wanted) entries.emplace_back(1, static_cast<char>(byte));
  return entries;
}

std::vector<std::string> released_entries() {
  constexpr int kEntries = 163584;
  std::vector<std::string> entries = single_bytes();
  entries.resize(kEntries);
  for (const KnownToken& token : kKnown) entries[static_cast<std::size_t>(token.id)] = token.bytes;
  std::set<std::string> taken(entries.begin(), entries.end());
  entries[256] = "cl";  // merges first, or "la" would break up "-declare"
  std::size_t id = 163000;
  for (const char* step : {"ecl", "decl"}) entries[id++] = step;
  for (const std::string token : kMerged)
    for (std::size_t length = 2; length < token.size(); ++length)
      if (taken.insert(token.substr(0, length)).second) entries[id++] = token.substr(0, length);
  for (std::size_t filler = 0; filler < entries.size(); ++filler)
    if (entries[filler].empty()) entries[filler] = "\377" + std::to_string(filler);
  return entries;
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t next = 0; next < 3; ++next)
      bits = bits << 8 | (at + next < bytes.size() ? static_cast<unsigned char>(bytes[at + next]) : 0u);
    for (std::size_t digit = 0; digit < 4; ++digit)
      text += at + digit <= bytes.size() ? kDigits[bits >> (18 - 6 * digit) & 63u] : '=';
  }
  return text;
}

std::string tiktoken_lines(const std::vector<std::string>& entries) {
  std::string lines;
  for (std::size_t rank = 0; rank < entries.size(); ++rank)
    lines += base64(entries[rank]) + " " + std::to_string(rank) + "\n";
  return lines;
}

void write_tiktoken_model(const std::filesystem::path& directory, const std::vector<std::string>& entries) {
  std::ofstream(directory / "tiktoken.model", std::ios::binary) << tiktoken_lines(entries);
}

}  // namespace sluice::test
