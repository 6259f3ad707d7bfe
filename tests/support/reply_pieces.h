// The reply of a model that thinks, answers and calls a tool, in pieces, for tests of what writes replies.
#pragma once

#include <vector>

#include "serve/reply_writer.h"
#include "support/reply_events.h"

namespace sluice::test {

inline std::vector<serve::Piece> reply_in_pieces() {
  return {{{reasoning("hm")}, {}},
          {{content("Hel")}, {}},
          {{content("lo"), call_begin(0, "f")}, {}},
          {{call_end(0, R"({"a":1})"), turn_end()}, {}}};
}

}  // namespace sluice::test
