// Drafts from the text itself: what followed the last time that the text went as it goes now.
//
// Costs no model, and is right where a text repeats itself: code, quotations, tables. A pure function; whoever uses it
// lets the model decide.
#pragma once

#include <span>
#include <vector>

namespace sluice {

// At most `most` tokens that may follow `text`: those after the earlier place at which the longest end of the text, of
// at least `shortest` tokens, stands too; the latest such place. Where that place is near the end, the drafts repeat
// themselves. Nothing if there is no such place. Takes time proportional to the text.
std::vector<int> look_up(std::span<const int> text, int shortest, int most);

}  // namespace sluice
