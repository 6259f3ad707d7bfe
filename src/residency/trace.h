// Routing traces: which experts a run asked for, in the order in which it asked.
//
// A line is one request to the expert store: phase (0 prefill, 1 decode), token (of its first row), layer, bytes of one
// expert of the layer, then the expert ids of all rows, as many as rows * top_k, repeats included. Lines that begin
// with # are comments; the first one sluice writes names the model's shape, so that a replay makes the same policy as
// the run did. Shapes of other traces are found from their lines. Another kind of comment tells what the layer's router
// would have said earlier, of the one row of the line that follows:
//   # foreseen WHEN layer expert...     WHEN as name_of(AskedBefore); the experts it named, the best first
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "residency/asked_before.h"
#include "residency/policy.h"

namespace sluice {

struct TraceLine {
  bool decode = false;
  std::int64_t token = 0;
  int layer = 0;
  std::vector<ExpertUse> uses;  // distinct, ascending
  // By AskedBefore: whom the layer's router would have named then, the best first. Empty: it was not asked.
  std::array<std::vector<int>, kForesights> foreseen = {};
  bool begins_turn = false;  // the one before it was the last of a request for text
};

struct Trace {
  int layers = 0, experts = 0, top_k = 1;
  int slots = 0;                           // of the run that wrote it; 0: unknown
  std::vector<std::uint64_t> layer_bytes;  // of one expert of each layer; 0: a layer without experts
  std::vector<TraceLine> lines;

  std::uint64_t expert_bytes() const;  // of the largest expert
  // Bytes of one decoded token's experts.
  std::uint64_t token_bytes() const;
};

// From now on a turn ends after so many tokens, wherever texts do: for policies that settle something between turns.
void cut_into_turns(Trace& trace, int tokens);

// Fails with the line's number for what is not a trace. A prompt that follows decoded tokens begins a turn.
Result<Trace> read_trace(const std::string& path);
Result<Trace> parse_trace(std::istream& text, const std::string& name);

void write_trace_shape(std::ostream& file, const Trace& shape);
void write_trace_line(std::ostream& file, bool decode, std::int64_t token, int layer, std::uint64_t expert_bytes,
                      std::span<const int> experts);
// Before the line it speaks of.
void write_foreseen(std::ostream& file, AskedBefore when, int layer, std::span<const int> experts);

}  // namespace sluice
