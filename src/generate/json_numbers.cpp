// Numbers in a range, digit by digit. See json_rules.h.
#include <algorithm>
#include <cmath>

#include "generate/json_rules.h"

namespace sluice {

using Symbol = JsonRules::Symbol;
using Sequence = JsonRules::Sequence;

namespace {

constexpr int kFractionDigits = 6;            // so that no fraction is rounded up to the next integer
constexpr double kLargestWithFraction = 1e9;  // for the same reason

std::string tail(const std::string& digits) { return digits.substr(1); }

}  // namespace

Symbol JsonRules::digit(char first, char last) {
  return grammar_.characters({{static_cast<char32_t>(first), static_cast<char32_t>(last)}});
}

Sequence JsonRules::any_digits(std::size_t count) { return Sequence(count, digit('0', '9')); }

// All below: as many digits as the bounds have.
Symbol JsonRules::digits_from(const std::string& least) {
  const Symbol made = grammar_.rule();
  if (least.empty()) return grammar_.add_alternative(made, {}), made;
  grammar_.add_alternative(made, text(least.substr(0, 1)) + Sequence{digits_from(tail(least))});
  if (least[0] < '9')
    grammar_.add_alternative(made,
                             Sequence{digit(static_cast<char>(least[0] + 1), '9')} + any_digits(least.size() - 1));
  return made;
}

Symbol JsonRules::digits_to(const std::string& most) {
  const Symbol made = grammar_.rule();
  if (most.empty()) return grammar_.add_alternative(made, {}), made;
  grammar_.add_alternative(made, text(most.substr(0, 1)) + Sequence{digits_to(tail(most))});
  if (most[0] > '0')
    grammar_.add_alternative(made, Sequence{digit('0', static_cast<char>(most[0] - 1))} + any_digits(most.size() - 1));
  return made;
}

Symbol JsonRules::digits_between(const std::string& least, const std::string& most) {
  const Symbol made = grammar_.rule();
  if (least.empty()) return grammar_.add_alternative(made, {}), made;
  if (least[0] == most[0]) {
    grammar_.add_alternative(made, text(least.substr(0, 1)) + Sequence{digits_between(tail(least), tail(most))});
    return made;
  }
  grammar_.add_alternative(made, text(least.substr(0, 1)) + Sequence{digits_from(tail(least))});
  grammar_.add_alternative(made, text(most.substr(0, 1)) + Sequence{digits_to(tail(most))});
  if (most[0] - least[0] > 1)
    grammar_.add_alternative(made, Sequence{digit(static_cast<char>(least[0] + 1), static_cast<char>(most[0] - 1))} +
                                       any_digits(least.size() - 1));
  return made;
}

Symbol JsonRules::natural(std::uint64_t least, std::uint64_t most) {
  const Symbol made = grammar_.rule();
  while (least <= most) {
    const std::string low = std::to_string(least);
    const std::uint64_t longest = static_cast<std::uint64_t>(std::stoull(std::string(low.size(), '9')));
    const std::uint64_t high = std::min(most, longest);
    grammar_.add_alternative(made, {digits_between(low, std::to_string(high))});
    least = high + 1;
  }
  return made;
}

Symbol JsonRules::integer(std::int64_t least, std::int64_t most) {
  std::vector<Sequence> alternatives;
  if (most >= 0)
    alternatives.push_back(
        {natural(static_cast<std::uint64_t>(std::max<std::int64_t>(least, 0)), static_cast<std::uint64_t>(most))});
  if (least < 0)
    alternatives.push_back(text("-") + Sequence{natural(static_cast<std::uint64_t>(std::max<std::int64_t>(-most, 1)),
                                                        static_cast<std::uint64_t>(-least))});
  return grammar_.choice(std::move(alternatives));
}

std::optional<Symbol> JsonRules::number_within(const Bounds& bounds, bool integers_only) {
  if (!bounds.least && !bounds.most && !integers_only) return number();
  const auto largest = static_cast<double>(kLargest);
  const double low = std::clamp(bounds.least.value_or(-largest), -largest, largest);
  const double high = std::clamp(bounds.most.value_or(largest), -largest, largest);
  double first = std::ceil(low), last = std::floor(high);
  if (bounds.above_least && first == low) ++first;
  if (bounds.below_most && last == high) --last;
  std::vector<Sequence> alternatives;
  if (first <= last)
    alternatives.push_back({integer(static_cast<std::int64_t>(first), static_cast<std::int64_t>(last))});
  if (!integers_only) {
    const Sequence fraction = text(".") + grammar_.repeat({digit('0', '9')}, 1, kFractionDigits);
    // n.f lies between n and n + 1 for n >= 0, -m.f between -(m + 1) and -m.
    const double from = std::max(first, 0.0), to = std::min(std::floor(high) - 1, kLargestWithFraction);
    if (from <= to)
      alternatives.push_back(Sequence{natural(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to))} +
                             fraction);
    const double near = std::max(-last, 0.0), far = std::min(-std::ceil(low) - 1, kLargestWithFraction);
    if (near <= far)
      alternatives.push_back(
          text("-") + Sequence{natural(static_cast<std::uint64_t>(near), static_cast<std::uint64_t>(far))} + fraction);
  }
  if (alternatives.empty()) return std::nullopt;
  return grammar_.choice(std::move(alternatives));
}

}  // namespace sluice
