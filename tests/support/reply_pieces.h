// The reply of a model that thinks, answers and calls a tool, in pieces, for tests of what writes replies.
#pragma once

#include <vector>

#include "serve/reply_writer.h"
#include "support/reply_events.h"

namespace sluice::test {

constexpr const char* kCallArguments = R"({"a": 1, "b": {"c": "\""}})";

inline std::vector<serve::Piece> reply_in_pieces() {
  return {{{reasoning("hm")}, {}},
          {{content("Hel")}, {}},
          {{content("lo"), call_begin(0, "f")}, {}},
          {{argument(0, "a", "1")}, {}},
          {{argument(0, "b", R"({"c": "\""})")}, {}},
          {{call_end(0, kCallArguments), turn_end()}, {}}};
}

}  // namespace sluice::test
