// Turns bytes that arrive token by token into well-formed UTF-8 that may be shown at once: never half a character.
//
// A character that is not complete yet is held back. Bytes that can be no part of a character become U+FFFD, one for
// each maximal subpart, as soon as that is certain; so the text does not depend on how the bytes were cut.
#pragma once

#include <string>
#include <string_view>

namespace sluice {

class Utf8Stream {
 public:
  // The text that is certain now.
  std::string push(std::string_view bytes);
  // The end of the bytes: a character that never became complete is one U+FFFD. The stream is fresh afterwards.
  std::string finish();

 private:
  std::string held_;  // the beginning of a character, at most 3 bytes
};

}  // namespace sluice
