// See grammar_matcher.h.
#include "generate/grammar_matcher.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace sluice {

using Kind = Grammar::Kind;

namespace {

constexpr std::size_t kHashed = 48;  // of an entry of a table, beside what it holds

std::uint64_t key_of(std::uint32_t place, std::int32_t below) {
  return std::uint64_t{place} << 32 | static_cast<std::uint32_t>(below);
}

}  // namespace

std::size_t GrammarMatcher::WaysHash::operator()(const std::vector<Node>& ways) const {
  std::uint64_t hash = 0x9E3779B97F4A7C15u;
  for (const Node way : ways) hash = (hash ^ static_cast<std::uint32_t>(way)) * 0x100000001B3u + (hash >> 29);
  return static_cast<std::size_t>(hash);
}

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)) {
  begin();
  for (const std::uint32_t place : grammar_->rules[grammar_->root]) expand(place, -1);
  start_ = collected();
}

GrammarMatcher::Node GrammarMatcher::intern_node(std::uint32_t place, Node below) {
  const auto [known, is_new] = known_nodes_.try_emplace(key_of(place, below), static_cast<Node>(nodes_.size()));
  if (is_new) {
    nodes_.push_back({place, below});
    bytes_ += sizeof(NodeRecord) + kHashed;
  }
  return known->second;
}

GrammarMatcher::State GrammarMatcher::intern_state(std::vector<Node> ways, bool complete) {
  if (ways.empty() && !complete) return kNone;
  ways.push_back(complete ? 1 : 0);
  const auto [known, is_new] = known_states_.try_emplace(ways, static_cast<State>(states_.size()));
  if (!is_new) return known->second;
  ways.pop_back();
  bytes_ += 2 * ways.size() * sizeof(Node) + sizeof(StateRecord) + kHashed;
  states_.push_back({std::move(ways), complete});
  return known->second;
}

void GrammarMatcher::begin() {
  ways_.clear();
  visited_.clear();
  complete_ = false;
}

void GrammarMatcher::expand(std::uint32_t first_place, Node first_below) {
  std::vector<NodeRecord> open = {{first_place, first_below}};
  while (!open.empty()) {
    auto [place, below] = open.back();
    open.pop_back();
    while (element(place).kind == Kind::end && below >= 0) {
      place = node(below).place;
      below = node(below).below;
    }
    if (element(place).kind == Kind::end) {
      complete_ = true;
      continue;
    }
    if (!visited_.insert(key_of(place, below)).second) continue;
    if (element(place).kind != Kind::rule) {
      ways_.push_back(intern_node(place, below));
      continue;
    }
    // A rule at the end of an alternative leaves nothing to come back to, so lists do not pile up.
    const bool is_last = element(place + 1).kind == Kind::end;
    const Node back = is_last ? below : intern_node(place + 1, below);
    for (const std::uint32_t begin : grammar_->rules[element(place).index]) open.push_back({begin, back});
    if (visited_.size() > 4 * kMostWays) {
      overflowed_ = true;
      return;
    }
  }
}

GrammarMatcher::State GrammarMatcher::collected() {
  if (ways_.size() > kMostWays || bytes_ > kMostBytes) overflowed_ = true;
  if (overflowed_) return kNone;
  std::ranges::sort(ways_);
  return intern_state(std::move(ways_), complete_);
}

template <class Takes>
GrammarMatcher::State GrammarMatcher::step(State state, Takes takes) {
  begin();
  for (std::size_t way = 0; way < state_of(state).ways.size(); ++way) {
    const NodeRecord top = node(state_of(state).ways[way]);
    if (takes(element(top.place))) expand(top.place + 1, top.below);
  }
  return collected();
}

GrammarMatcher::State GrammarMatcher::after_byte(State state, unsigned char byte) {
  auto& next = state_of(state).next;
  if (next == nullptr) {
    next = std::make_unique<std::array<State, 256>>();
    next->fill(kUnknown);
    bytes_ += sizeof *next;
  }
  if ((*next)[byte] != kUnknown) return (*next)[byte];
  const State found = step(state, [&](const Grammar::Element& one) {
    return one.kind == Kind::bytes && grammar_->byte_sets[one.index].test(byte);
  });
  (*state_of(state).next)[byte] = found;
  return found;
}

GrammarMatcher::State GrammarMatcher::after_token(State state, int id) {
  return step(state, [&](const Grammar::Element& one) {
    return one.kind == Kind::tokens && std::ranges::binary_search(grammar_->token_sets[one.index], id);
  });
}

GrammarMatcher::State GrammarMatcher::either(State one, State other) {
  if (one == other || other == kNone) return one;
  if (one == kNone) return other;
  begin();
  std::ranges::set_union(state_of(one).ways, state_of(other).ways, std::back_inserter(ways_));
  complete_ = state_of(one).complete || state_of(other).complete;
  return collected();
}

std::vector<int> GrammarMatcher::tokens_after(State state) const {
  std::set<int> ids;
  for (const Node way : state_of(state).ways) {
    const Grammar::Element one = element(node(way).place);
    if (one.kind == Kind::tokens)
      ids.insert(grammar_->token_sets[one.index].begin(), grammar_->token_sets[one.index].end());
  }
  return {ids.begin(), ids.end()};
}

bool GrammarMatcher::tidy(State& state) {
  if (bytes_ <= kTidyBytes) return false;
  const std::vector<NodeRecord> old_nodes = std::exchange(nodes_, {});
  const StateRecord old = std::move(state_of(state));
  known_nodes_.clear();
  known_states_.clear();
  states_.clear();
  bytes_ = 0;
  std::vector<Node> ways;
  for (const Node way : old.ways) {
    std::vector<std::uint32_t> places;  // from the top down
    for (Node at = way; at >= 0; at = old_nodes[static_cast<std::size_t>(at)].below)
      places.push_back(old_nodes[static_cast<std::size_t>(at)].place);
    Node below = -1;
    for (auto place = places.rbegin(); place != places.rend(); ++place) below = intern_node(*place, below);
    ways.push_back(below);
  }
  std::ranges::sort(ways);
  start_ = kNone;
  state = intern_state(std::move(ways), old.complete);
  return true;
}

}  // namespace sluice
