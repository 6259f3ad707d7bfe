// See generation_ask.h.
#include "serve/generation_ask.h"

#include <charconv>
#include <climits>
#include <cmath>

namespace sluice::serve {

namespace {

constexpr std::size_t kMostStops = 16;
constexpr double kLeastTopP = 1e-9;

std::vector<std::string> read_stops(const Body& body) {
  const Json* const stop = body.find("stop");
  if (stop == nullptr) return {};
  std::vector<std::string> stops;
  const auto add = [&](const Json& one) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty())
      body.wrong("stop", "must be a string that is not empty, or a list of such strings");
    else
      stops.push_back(one.get<std::string>());
  };
  if (stop->is_array()) {
    for (const Json& one : *stop) add(one);
  } else {
    add(*stop);
  }
  if (stops.size() > kMostStops) body.wrong("stop", "must not hold more than 16 strings");
  return stops;
}

// {"token id": bias}
std::vector<std::pair<int, double>> read_biases(const Body& body) {
  std::vector<std::pair<int, double>> biases;
  if (!body.has("logit_bias")) return biases;
  body.object("logit_bias");
  const Json& all = *body.find("logit_bias");
  if (!all.is_object()) return biases;
  for (const auto& [key, bias] : all.items()) {
    int id = -1;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool is_id = read.ec == std::errc() && read.ptr == key.data() + key.size() && id >= 0;
    if (!is_id || !bias.is_number() || std::abs(bias.get<double>()) > 100)
      body.wrong("logit_bias", "must give token ids numbers between -100 and 100");
    else
      biases.emplace_back(id, bias.get<double>());
  }
  return biases;
}

void refuse_unsupported(const Body& body) {
  for (const char* name : {"json_schema", "functions", "function_call"})
    if (body.has(name)) body.wrong(name, "is not supported");
}

}  // namespace

GenerationAsk read_generation(const Body& body, const SamplingParams& defaults) {
  GenerationAsk ask;
  ask.sampling = defaults;
  SamplingParams& sampling = ask.sampling;
  sampling.temperature = body.number_or("temperature", defaults.temperature, 0, 100);
  sampling.top_p = body.number_or("top_p", defaults.top_p, 0, 1);
  if (sampling.top_p == 0) sampling.top_p = kLeastTopP;  // some callers say 0 for "the likeliest alone"
  sampling.top_k = static_cast<int>(body.integer_or("top_k", defaults.top_k, -1, INT_MAX));
  if (sampling.top_k < 0) sampling.top_k = 0;  // some callers say -1 for "all"
  sampling.min_p = body.number_or("min_p", defaults.min_p, 0, 1);
  sampling.presence_penalty = body.number_or("presence_penalty", defaults.presence_penalty, -100, 100);
  sampling.frequency_penalty = body.number_or("frequency_penalty", defaults.frequency_penalty, -100, 100);
  for (const char* name : {"repetition_penalty", "repeat_penalty"}) {
    sampling.repeat_penalty = body.number_or(name, sampling.repeat_penalty, 0, 100);
    if (!(sampling.repeat_penalty > 0)) body.wrong(name, "must be above 0 and at most 100");
  }
  sampling.logit_bias = read_biases(body);
  if (body.has("seed")) ask.seed = static_cast<std::uint64_t>(body.integer_or("seed", 0, INT64_MIN, INT64_MAX));
  ask.stops = read_stops(body);
  ask.n = static_cast<int>(body.integer_or("n", 1, 1, kMostChoices));
  ask.stream = body.flag_or("stream", false);
  ask.include_usage = body.object("stream_options").flag_or("include_usage", false);
  body.text_or("model", {});
  refuse_unsupported(body);
  return ask;
}

ResponseFormat read_form(const Body& body, std::string_view raw, GenerationAsk& ask) {
  ResponseFormat in_prompt;
  if (body.has("grammar")) {
    ask.form = {AnswerForm::Kind::gbnf, body.text("grammar")};
    ask.form_field = "grammar";
  }
  if (!body.has("response_format")) return in_prompt;
  const Body format = body.object("response_format");
  const std::string type = format.text("type");
  if (type != "text" && ask.form.kind != AnswerForm::Kind::free)
    body.wrong("grammar", "does not go with response_format");
  if (type != "text") ask.form_field = "response_format";
  if (type == "json_object") {
    in_prompt.kind = ResponseFormat::Kind::json_object;
    ask.form.kind = AnswerForm::Kind::json_object;
  } else if (type == "json_schema") {
    if (!format.has("json_schema")) format.wrong("json_schema", "is missing");
    format.object("json_schema").flag_or("strict", false);
    in_prompt.kind = ResponseFormat::Kind::json_schema;
    in_prompt.json_schema = raw_member(raw_member(raw, "response_format"), "json_schema");
    ask.form = {AnswerForm::Kind::json_schema, raw_member(in_prompt.json_schema, "schema")};
    if (ask.form.text.empty()) ask.form.kind = AnswerForm::Kind::json_object;
  } else if (type != "text") {
    format.wrong("type", "must be text, json_object or json_schema");
  }
  return in_prompt;
}

}  // namespace sluice::serve
