// Follows a text through a grammar, byte by byte and token by token: which continuations are possible?
//
// A state is the set of all ways in which the text so far can be read. Ways are stacks of places in the grammar; they
// share their lower parts, and equal stacks and sets are kept once. So a state is a number, steps are remembered, and
// the inside of a string is one state however long it gets. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "generate/grammar.h"

namespace sluice {

class GrammarMatcher {
 public:
  // What it may remember at most before it gives up; between tokens it forgets what is beyond an eighth of it.
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;
  using State = std::int32_t;
  static constexpr State kNone = -1;  // no text that begins so is in the language

  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  State start() const { return start_; }
  State after_byte(State state, unsigned char byte);
  State after_token(State state, int id);  // as a token, not as its bytes
  // All ways of both states, of which either may be kNone.
  State either(State one, State other);
  // The text so far is in the language.
  bool complete(State state) const { return state_of(state).complete; }
  // Something may follow it.
  bool goes_on(State state) const { return !state_of(state).ways.empty(); }
  // Ids that may follow as tokens, in rising order.
  std::vector<int> tokens_after(State state) const;

  // Forgets what was remembered about other states, if that is much. True if so; then the state's number has changed.
  bool tidy(State& state);
  // The grammar can be read in too many ways: nothing that was said since is right.
  bool overflowed() const { return overflowed_; }
  std::size_t bytes() const { return bytes_; }  // remembered, about

 private:
  static constexpr std::size_t kTidyBytes = kMostBytes / 8, kMostWays = 4'096;
  static constexpr State kUnknown = -2;

  using Node = std::int32_t;  // a place in the grammar on top of a stack; -1: the empty stack
  struct NodeRecord {
    std::uint32_t place;
    Node below;
  };
  struct StateRecord {
    std::vector<Node> ways;  // sorted; each stands before a terminal
    bool complete = false;
    std::unique_ptr<std::array<State, 256>> next = {};  // by byte
  };
  struct WaysHash {
    std::size_t operator()(const std::vector<Node>& ways) const;
  };

  StateRecord& state_of(State state) { return states_[static_cast<std::size_t>(state)]; }
  const StateRecord& state_of(State state) const { return states_[static_cast<std::size_t>(state)]; }
  const NodeRecord& node(Node number) const { return nodes_[static_cast<std::size_t>(number)]; }
  const Grammar::Element& element(std::uint32_t place) const { return grammar_->elements[place]; }
  Node intern_node(std::uint32_t place, Node below);
  // kNone for no way at all that is not complete either.
  State intern_state(std::vector<Node> ways, bool complete);
  void begin();
  // All ways that lead on from a place to a terminal; notes if one leads to the end.
  void expand(std::uint32_t place, Node below);
  State collected();
  template <class Takes>
  State step(State state, Takes takes);

  std::shared_ptr<const Grammar> grammar_;
  std::vector<NodeRecord> nodes_;
  std::unordered_map<std::uint64_t, Node> known_nodes_;
  std::vector<StateRecord> states_;
  // By ways; the last one is the flag `complete`.
  std::unordered_map<std::vector<Node>, State, WaysHash> known_states_;
  State start_ = kNone;
  std::size_t bytes_ = 0;  // of nodes and states, about
  bool overflowed_ = false;
  // Of the step in hand.
  std::vector<Node> ways_;
  std::unordered_set<std::uint64_t> visited_;
  bool complete_ = false;
};

}  // namespace sluice
