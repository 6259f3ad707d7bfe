// See regex_notation.h.
#include "text/regex_notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace sluice {

namespace {

// General categories, which both engines take from Unicode's tables.
constexpr std::string_view kCategories[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd",
                                            "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm",
                                            "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Co", "Cn"};

class RegexReader {
 public:
  explicit RegexReader(std::string_view regex) : regex_(regex) {}

  Result<std::string> read() {
    while (at_ < regex_.size()) TRY(construct());
    if (depth_ != 0) return refuse(regex_.size(), "a group that does not end");
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kSpecial = "\\[](){}?*+|.^$";

  bool next(std::string_view text) const { return regex_.substr(at_).starts_with(text); }
  void pass(std::size_t bytes) {
    out_ += regex_.substr(at_, bytes);
    at_ += bytes;
  }
  tl::unexpected<Error> refuse(std::size_t at, std::string_view what) const {
    return fail(ErrorKind::unsupported, fmt::format("regular expression, offset {}: {} is not read", at, what),
                "sluice knows the expressions of the families it runs");
  }

  Result<> construct() {
    const char letter = regex_[at_];
    if (letter == '\\') return escape();
    if (letter == '[') return character_class();
    if (letter == '(') return group();
    if (letter == '|' || letter == ')') {
      if (letter == ')' && depth_-- == 0) return refuse(at_, "a closing bracket too many");
      pass(1);
      if (letter == ')') return quantifier();
      return {};
    }
    if (kSpecial.find(letter) != std::string_view::npos) return refuse(at_, fmt::format("'{}'", letter));
    pass(utf8_step(regex_.substr(at_)).bytes);
    return quantifier();
  }

  Result<> group() {
    for (const std::string_view begin : {"(?:", "(?i:", "(?!", "(?="})
      if (next(begin)) {
        ++depth_;
        pass(begin.size());
        return {};
      }
    if (next("(?") || next("(*")) return refuse(at_, fmt::format("group '{}'", regex_.substr(at_, 3)));
    ++depth_;
    pass(1);
    return {};
  }

  Result<> escape() {
    TRY(escaped_character());
    return quantifier();
  }

  // An escape, in a class or outside.
  Result<> escaped_character() {
    const std::size_t begin = at_;
    const char letter = at_ + 1 < regex_.size() ? regex_[at_ + 1] : '\0';
    if (letter == 's' || letter == 'S') {
      out_ += letter == 's' ? R"(\p{White_Space})" : R"(\P{White_Space})";
      at_ += 2;
      return {};
    }
    if (letter == 'p' || letter == 'P') {
      const std::size_t end = regex_.find('}', at_);
      const std::string_view name =
          next("\\p{") || next("\\P{") ? regex_.substr(at_ + 3, std::min(end, regex_.size()) - at_ - 3) : "";
      if (end == std::string_view::npos || std::ranges::find(kCategories, name) == std::end(kCategories))
        return refuse(begin, fmt::format("property '{}'", regex_.substr(at_, 12)));
      pass(end + 1 - at_);
      return {};
    }
    constexpr std::string_view kPlain = "rnt\\\"'!#$%&()*+,-./:;<=>?@[]^_`{|}~ ";
    if (letter == '\0' || kPlain.find(letter) == std::string_view::npos)
      return refuse(begin, fmt::format("escape '{}'", regex_.substr(at_, 2)));
    pass(2);
    return {};
  }

  Result<> character_class() {
    const std::size_t begin = at_;
    pass(1);
    if (next("^")) pass(1);
    if (next("]")) return refuse(begin, "a class that begins with ]");
    while (!next("]")) {
      if (at_ >= regex_.size()) return refuse(begin, "a class that does not end");
      if (next("&&")) return refuse(at_, "an intersection of classes");
      if (next("[")) return refuse(at_, "a class in a class");
      if (next("\\"))
        TRY(escaped_character());
      else
        pass(utf8_step(regex_.substr(at_)).bytes);
    }
    pass(1);
    return quantifier();
  }

  Result<> quantifier() {
    const std::size_t begin = at_;
    if (next("?") || next("*") || next("+")) {
      pass(1);
    } else if (next("{")) {
      const std::size_t end = std::min(regex_.find('}', at_), regex_.size());
      const std::string_view counts = regex_.substr(at_ + 1, end - at_ - 1);
      const bool well_formed = end < regex_.size() && !counts.empty() && counts.front() != ',' &&
                               counts.find_first_not_of("0123456789,") == std::string_view::npos &&
                               std::ranges::count(counts, ',') <= 1;
      if (!well_formed) return refuse(begin, "'{' that begins no count");
      pass(end + 1 - at_);
    } else {
      return {};
    }
    if (next("?") || next("+") || next("*") || next("{")) return refuse(begin, "a quantifier that is not greedy");
    return {};
  }

  std::string_view regex_;
  std::size_t at_ = 0;
  int depth_ = 0;  // of open groups
  std::string out_;
};

}  // namespace

Result<std::string> to_pcre2(std::string_view regex) { return RegexReader(regex).read(); }

}  // namespace sluice
