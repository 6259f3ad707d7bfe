// The memory nodes of a machine (NUMA): which of them this process may use, and memory spread over all of them.
//
// Every thread reads all weights in turn. Left alone, a page lies on the node whose thread touched it first, which for
// weights is whoever read them from disk: some nodes then serve everybody while others rest. Spread out page by page,
// all of them serve. Whoever started the program with a policy of their own (numactl) has decided already.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"

namespace sluice {

struct MemoryNodes {
  std::vector<int> ids;  // that this process may take memory from, ascending; empty: not known
  std::string unknown;   // why not: "this program was built without libnuma"
  std::string decided;   // the policy that the process was started with ("bind"); empty: none

  bool to_spread_over() const { return ids.size() > 1 && decided.empty(); }
};

MemoryNodes memory_nodes();

// The pages of `memory`, none of which was touched, will come from these nodes in turn, whoever touches them first.
// Empty, or why the system does not do so: some containers forbid it. Requires: whole pages, and nodes of
// memory_nodes().
std::string interleave(std::span<std::byte> memory, std::span<const int> nodes);

// The same where there is something to spread over, by `bind`; else nothing. What is refused stays where it falls.
using Interleave = FunctionRef<std::string(std::span<std::byte> memory, std::span<const int> nodes)>;
void spread(std::span<std::byte> memory, const MemoryNodes& nodes, Interleave bind);

}  // namespace sluice
