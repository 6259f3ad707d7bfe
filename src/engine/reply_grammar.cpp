// See reply_grammar.h.
#include "engine/reply_grammar.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "generate/gbnf.h"
#include "generate/json_schema.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;
using Symbol = GrammarBuilder::Symbol;
using Sequence = GrammarBuilder::Sequence;

Sequence any_text(GrammarBuilder& builder) { return builder.repeat({builder.characters({}, true)}, 0, -1); }

// The word of a value's type where a format writes types; of several types any but "string" will do.
std::string written_type(const Json& parameters, const SchemaMember& member) {
  if (member.is_string) return "string";
  const Json schema = parameters.value("properties", Json::object()).value(member.name, Json::object());
  const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
  if (type == "integer" || type == "number") return "number";
  for (const char* name : {"boolean", "array", "null"})
    if (type == name) return name;
  return "object";
}

// A string's text as formats write it, without quotes and escapes: one of its values if the schema lists them.
Symbol bare_string(const Json& parameters, const SchemaMember& member, GrammarBuilder& builder) {
  const Json schema = parameters.value("properties", Json::object()).value(member.name, Json::object());
  const Json values = schema.is_object() ? schema.value("enum", Json::array()) : Json::array();
  std::vector<std::string> texts;
  for (const Json& one : values)
    if (one.is_string()) texts.push_back(one.get<std::string>());
  return texts.empty() ? builder.choice({any_text(builder)}) : builder.one_of(std::move(texts));
}

Result<Sequence> one_call(const std::string& tool, const ChatFormat& chat, const ChatOptions& options,
                          JsonRules& json) {
  GrammarBuilder& builder = json.grammar();
  const Json declared = Json::parse(tool, nullptr, false);
  const Json function = declared.is_object() ? declared.value("function", Json::object()) : Json::object();
  if (!function.is_object() || !function.value("name", Json()).is_string())
    return fail(ErrorKind::bad_input, "a tool has no name");
  const std::string name = function["name"].get<std::string>();
  const Json parameters = function.value("parameters", Json::object());
  auto members = json_schema_members(parameters.dump(-1, ' ', false, Json::error_handler_t::replace), json);
  if (!members)
    return tl::unexpected<Error>(std::move(members.error()).within(fmt::format("the parameters of tool '{}'", name)));
  std::vector<CallArgument> arguments;
  for (const SchemaMember& member : *members) arguments.push_back({member.name, written_type(parameters, member)});
  TRY_TAKE(const CallForm form, chat.call_form(options, name, arguments));
  Sequence call = builder.ids(form.begin);
  for (std::size_t argument = 0; argument < members->size(); ++argument) {
    const SchemaMember& member = (*members)[argument];
    const Symbol value = member.is_string ? bare_string(parameters, member, builder) : member.value;
    const Sequence written =
        builder.ids(form.arguments[argument].before) + Sequence{value} + builder.ids(form.arguments[argument].after);
    call = call + (member.required ? written : Sequence{builder.optional(written)});
  }
  return call + builder.ids(form.end) + Sequence{builder.any_id(form.ends)};
}

}  // namespace

Result<GrammarBuilder::Symbol> add_answer_form(const AnswerForm& form, GrammarBuilder& builder) {
  if (form.kind == AnswerForm::Kind::gbnf) return gbnf_rules(form.text, builder);
  JsonRules json(builder);
  if (form.kind == AnswerForm::Kind::json_schema) return json_schema(form.text, json);
  return json.object();
}

Result<Grammar> text_grammar(const AnswerForm& form) {
  GrammarBuilder builder;
  TRY_TAKE(const Symbol root, add_answer_form(form, builder));
  return builder.finish(root);
}

Result<Grammar> reply_grammar(const ReplyRules& rules, const ChatFormat& chat, const ChatOptions& options) {
  TRY_TAKE(const ReplyForm reply, chat.reply_form(options));
  GrammarBuilder builder;
  JsonRules json(builder);
  const Symbol said = builder.rule();
  if (!rules.must_call) {
    TRY_TAKE(const Symbol answer, add_answer_form(rules.answer, builder));
    builder.add_alternative(said, builder.ids(reply.to_answer) + Sequence{answer, builder.any_id(reply.answer_ends)});
  }
  for (const std::string& tool : rules.tools) {
    TRY_TAKE(Sequence call, one_call(tool, chat, options, json));
    builder.add_alternative(said, std::move(call));
  }
  const Sequence reasoning = reply.thinks ? any_text(builder) : Sequence{};
  return builder.finish(builder.choice({reasoning + Sequence{said}}));
}

}  // namespace sluice
