// See sampling_flags.h.
#include "cli/sampling_flags.h"

#include <CLI/CLI.hpp>

namespace sluice::cli {

void SamplingFlags::add(CLI::App& command) {
  const std::string group = "Sampling";
  command.add_option("--temperature", params.temperature, "0 is greedy")->capture_default_str()->group(group);
  command.add_option("--top-k", params.top_k, "Keep the K most likely tokens; 0 keeps all")
      ->capture_default_str()
      ->group(group);
  command.add_option("--top-p", params.top_p, "Keep the fewest likely tokens that hold this share")
      ->capture_default_str()
      ->group(group);
  command.add_option("--min-p", params.min_p, "Drop tokens below this share of the likeliest")
      ->capture_default_str()
      ->group(group);
  command.add_option("--repeat-penalty", params.repeat_penalty, "Divides logits of tokens seen before")
      ->capture_default_str()
      ->group(group);
  command.add_option("--presence-penalty", params.presence_penalty, "Taken from logits of generated tokens, once")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--frequency-penalty", params.frequency_penalty,
                  "Taken from logits for each time a token was generated")
      ->capture_default_str()
      ->group(group);
  command.add_option("--seed", seed, "Same seed, same text")->capture_default_str()->group(group);
  command.add_option("--stop", stop, "Stop before this text (repeatable)")->type_name("TEXT")->group(group);
}

}  // namespace sluice::cli
