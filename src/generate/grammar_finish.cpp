// The rules of a builder as a grammar that a matcher can walk: what derives nothing is left out, and recursion that
// would never read a byte is refused.
#include <algorithm>
#include <functional>

#include "generate/grammar.h"

namespace sluice {

namespace {

using Sequence = GrammarBuilder::Sequence;
using Rules = std::vector<std::vector<Sequence>>;
using Kind = Grammar::Kind;

// Which rules have a property that some alternative has if all its symbols have it. `terminal` says it of the others.
std::vector<char> rules_where(const Rules& rules, const std::function<bool(const GrammarBuilder::Symbol&)>& terminal) {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> users(rules.size());  // alternatives, by rule used
  std::vector<std::vector<std::size_t>> missing(rules.size());  // symbols that are not known to have it
  std::vector<char> has(rules.size(), 0);
  std::vector<std::uint32_t> ready;
  const auto settle = [&](std::uint32_t rule) {
    if (has[rule] == 0) ready.push_back(rule);
    has[rule] = 1;
  };
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule)
    for (std::uint32_t number = 0; number < rules[rule].size(); ++number) {
      std::size_t open = 0;
      for (const auto& symbol : rules[rule][number]) {
        if (symbol.kind == Kind::rule) users[symbol.index].emplace_back(rule, number);
        if (symbol.kind == Kind::rule || !terminal(symbol)) ++open;
      }
      missing[rule].push_back(open);
      if (open == 0) settle(rule);
    }
  while (!ready.empty()) {
    const std::uint32_t known = ready.back();
    ready.pop_back();
    for (const auto& [rule, number] : users[known])
      if (--missing[rule][number] == 0) settle(rule);
  }
  return has;
}

struct LeftEdge {
  std::uint32_t to = 0;
  bool last = false;  // nothing follows in the alternative: expanding it needs no memory
};

std::vector<std::vector<LeftEdge>> left_edges(const Rules& rules, const std::vector<char>& nullable) {
  std::vector<std::vector<LeftEdge>> edges(rules.size());
  for (std::size_t rule = 0; rule < rules.size(); ++rule)
    for (const Sequence& sequence : rules[rule])
      for (std::size_t place = 0; place < sequence.size(); ++place) {
        if (sequence[place].kind != Kind::rule) break;
        edges[rule].push_back({sequence[place].index, place + 1 == sequence.size()});
        if (nullable[sequence[place].index] == 0) break;
      }
  return edges;
}

// Strongly connected components (Tarjan's, with a stack of its own): the component of each rule.
std::vector<int> components(const std::vector<std::vector<LeftEdge>>& edges) {
  constexpr int kUnseen = -1;
  std::vector<int> order(edges.size(), kUnseen), lowest(edges.size(), 0), component(edges.size(), kUnseen);
  std::vector<std::uint32_t> path;
  std::vector<std::pair<std::uint32_t, std::size_t>> visits;
  int seen = 0, found = 0;
  for (std::uint32_t start = 0; start < edges.size(); ++start) {
    if (order[start] != kUnseen) continue;
    visits.emplace_back(start, 0);
    while (!visits.empty()) {
      const std::uint32_t rule = visits.back().first;
      if (visits.back().second == 0) {
        order[rule] = lowest[rule] = seen++;
        path.push_back(rule);
      }
      bool deeper = false;
      while (visits.back().second < edges[rule].size()) {
        const std::uint32_t next = edges[rule][visits.back().second++].to;
        if (order[next] == kUnseen) {
          visits.emplace_back(next, 0);
          deeper = true;
          break;
        }
        if (component[next] == kUnseen) lowest[rule] = std::min(lowest[rule], order[next]);
      }
      if (deeper) continue;
      visits.pop_back();
      if (!visits.empty()) lowest[visits.back().first] = std::min(lowest[visits.back().first], lowest[rule]);
      if (lowest[rule] != order[rule]) continue;
      for (std::uint32_t member = rule + 1; member != rule;) {
        member = path.back();
        path.pop_back();
        component[member] = found;
      }
      ++found;
    }
  }
  return component;
}

bool recurs_to_the_left(const Rules& rules) {
  const std::vector<char> nullable = rules_where(rules, [](const auto&) { return false; });
  const auto edges = left_edges(rules, nullable);
  const std::vector<int> component = components(edges);
  for (std::size_t rule = 0; rule < rules.size(); ++rule)
    for (const LeftEdge& edge : edges[rule])
      if (!edge.last && component[edge.to] == component[rule]) return true;
  return false;
}

}  // namespace

Result<Grammar> GrammarBuilder::finish(Symbol root) {
  if (too_large()) return fail(ErrorKind::bad_input, "the grammar is too large", "allow fewer or shorter repetitions");
  const std::vector<char> productive = rules_where(rules_, [&](const Symbol& symbol) {
    return symbol.kind == Kind::bytes ? byte_sets_[symbol.index].any() : !token_sets_[symbol.index].empty();
  });
  if (productive[root.index] == 0)
    return fail(ErrorKind::bad_input, "the grammar allows no text: its rules never come to an end");
  for (std::vector<Sequence>& alternatives : rules_)
    std::erase_if(alternatives, [&](const Sequence& sequence) {
      return std::ranges::any_of(sequence, [&](const Symbol& symbol) {
        if (symbol.kind == Kind::rule) return productive[symbol.index] == 0;
        return symbol.kind == Kind::bytes ? byte_sets_[symbol.index].none() : token_sets_[symbol.index].empty();
      });
    });
  if (recurs_to_the_left(rules_))
    return fail(ErrorKind::bad_input, "a rule of the grammar begins with itself",
                "write lists as item (\",\" item)*, or with the rule at the end");
  Grammar grammar;
  grammar.root = root.index;
  grammar.byte_sets = byte_sets_;
  grammar.token_sets = token_sets_;
  for (const std::vector<Sequence>& alternatives : rules_) {
    std::vector<std::uint32_t> begins;
    for (const Sequence& sequence : alternatives) {
      begins.push_back(static_cast<std::uint32_t>(grammar.elements.size()));
      for (const Symbol& symbol : sequence) grammar.elements.push_back({symbol.kind, symbol.index});
      grammar.elements.push_back({});
    }
    grammar.rules.push_back(std::move(begins));
  }
  return grammar;
}

}  // namespace sluice
