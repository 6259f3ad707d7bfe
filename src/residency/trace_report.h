// What a routing trace is like: how much one token shares with those before it, and how unequal experts are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "residency/trace.h"

namespace sluice {

struct HotExpert {
  ExpertKey key;
  std::uint64_t uses = 0;  // lines that asked for it
};

struct TraceReport {
  std::uint64_t decode_tokens = 0;  // lines of the layer with most of them
  std::uint64_t requests = 0, decode_requests = 0;
  std::uint64_t distinct = 0;  // (layer, expert) pairs that were used at all
  // Of decode requests, how many experts were used by one of the n lines of their layer before: n = 1, 2, 4, 8, 16, 32.
  struct Reuse {
    int lines = 0;
    std::uint64_t requests = 0;
  };
  std::vector<Reuse> reuse;
  std::uint64_t seen_before = 0;  // decode requests of experts used at all before: the hits of a boundless cache
  // [layers]: decode requests and those of experts that the line before used.
  struct LayerOverlap {
    std::uint64_t requests = 0, repeated = 0;
  };
  std::vector<LayerOverlap> layers;
  // Of decode requests whose layer's router was asked earlier: those of experts that were among the first names, as
  // many as were used, and among twice as many. Of those of them behind another decoded token: of experts that this one
  // used.
  struct Recall {
    std::uint64_t requests = 0, named = 0, named_by_twice = 0;
    std::uint64_t behind_another = 0, repeated = 0;
  };
  struct Foreseen {
    Recall all;
    std::vector<Recall> layers;
  };
  std::array<Foreseen, kForesights> foreseen;  // by AskedBefore; no requests: it was not asked then
  // All used experts, most uses first, then by layer and expert.
  std::vector<HotExpert> by_use;
  // Of all requests, the share that the hottest `share` of the used experts take.
  double share_of_hottest(double share) const;
};

TraceReport report_on(const Trace& trace);

}  // namespace sluice
