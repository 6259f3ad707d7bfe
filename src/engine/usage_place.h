// Where the history of a checkpoint's use lies, and the notes beside it: by the checkpoint's own key.
#pragma once

#include <optional>
#include <string>

#include "engine/survey.h"
#include "residency/usage.h"

namespace sluice {

struct UsagePlace {
  std::string path;
  UsageOwner owner;
};

// Nothing if none is to be kept. A checkpoint whose pages cannot be read has other problems, which will be told. Reads
// a few pages of it.
std::optional<UsagePlace> usage_place(const Survey& survey);

}  // namespace sluice
