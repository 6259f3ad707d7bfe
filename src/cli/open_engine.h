// From a known model to an engine, and what the user hears of the memory plan on the way.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/survey.h"

namespace sluice::cli {

enum class PlanTelling { line, nothing };

// Surveys, plans and opens. Says where the bytes will live before they are read, if `telling` is a line; and in any
// case that a plan takes more than is available now.
Result<std::unique_ptr<Engine>> open_engine(KnownModel model, const EngineOptions& options, PlanTelling telling);

}  // namespace sluice::cli
