// See sampling_flags.h.
#include "cli/sampling_flags.h"

#include <CLI/CLI.hpp>

namespace sluice::cli {

void SamplingFlags::add(CLI::App& command, bool checkpoint_decides) {
  const std::string group = "Sampling";
  const auto number = [&](const char* name, auto SamplingParams::*field, const char* help) {
    CLI::Option* const option = command.add_option(name, params_.*field, help)->group(group);
    if (checkpoint_decides) option->default_str("");
    given_.push_back([this, option, field](SamplingParams& params) {
      if (option->count() > 0) params.*field = params_.*field;
    });
  };
  number("--temperature", &SamplingParams::temperature, "0 is greedy");
  number("--top-k", &SamplingParams::top_k, "Keep the K most likely tokens; 0 keeps all");
  number("--top-p", &SamplingParams::top_p, "Keep the fewest likely tokens that hold this share");
  number("--min-p", &SamplingParams::min_p, "Drop tokens below this share of the likeliest");
  number("--repeat-penalty", &SamplingParams::repeat_penalty, "Divides logits of tokens seen before");
  number("--presence-penalty", &SamplingParams::presence_penalty, "Taken from logits of generated tokens, once");
  number("--frequency-penalty", &SamplingParams::frequency_penalty,
         "Taken from logits for each time a token was generated");
  command.add_option("--seed", seed, "Same seed, same text")->capture_default_str()->group(group);
  command.add_option("--stop", stop, "Stop before this text (repeatable)")->type_name("TEXT")->group(group);
}

Result<SamplingParams> SamplingFlags::over(SamplingParams defaults) const {
  for (const auto& take_over : given_) take_over(defaults);
  TRY(defaults.validate());
  return defaults;
}

}  // namespace sluice::cli
