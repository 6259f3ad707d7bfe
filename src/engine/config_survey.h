// A survey from a config.json alone: what a checkpoint will need, told before it is fetched.
//
// What the config does not say is assumed, and said: formats as released, blocks as after packing, no tokenizer. No
// engine can be opened on it.
#pragma once

#include <string>
#include <vector>

#include "engine/survey.h"

namespace sluice {

struct ConfigSurvey {
  Survey survey;                     // model.directory is the file's path; files is empty
  std::vector<std::string> assumed;  // sentences for people
};

// Fails as survey() does, for what a config can have wrong.
Result<ConfigSurvey> survey_config(const std::string& path, const EngineOptions& options);

}  // namespace sluice
