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
using Symbols = GrammarBuilder::Sequence;

Symbols any_text(GrammarBuilder& builder) { return builder.repeat({builder.characters({}, true)}, 0, -1); }

// One call with arguments of one shape.
Result<Symbols> shaped_call(const std::string& tool, const SchemaMembers& members, const ChatFormat& chat,
                            const ChatOptions& options, GrammarBuilder& builder) {
  std::vector<CallArgument> arguments;
  for (const SchemaMember& member : members) arguments.push_back({member.name, member.type});
  TRY_TAKE(const CallForm form, chat.call_form(options, tool, arguments));
  Symbols call = builder.ids(form.begin);
  for (std::size_t argument = 0; argument < members.size(); ++argument) {
    const auto& [before, after] = form.arguments[argument];
    const Symbols written = builder.ids(before) + Symbols{members[argument].value} + builder.ids(after);
    call = call + (members[argument].required ? written : Symbols{builder.optional(written)});
  }
  return call + builder.ids(form.end) + Symbols{builder.any_id(form.ends)};
}

Result<> add_calls(const std::string& tool, const ChatFormat& chat, const ChatOptions& options, JsonRules& json,
                   Symbol said) {
  const Json declared = Json::parse(tool, nullptr, false);
  const Json function = declared.is_object() ? declared.value("function", Json::object()) : Json::object();
  if (!function.is_object() || !function.value("name", Json()).is_string())
    return fail(ErrorKind::bad_input, "a tool has no name");
  const std::string name = function["name"].get<std::string>();
  const Json parameters = function.value("parameters", Json::object());
  auto shapes = json_schema_shapes(parameters.dump(-1, ' ', false, Json::error_handler_t::replace), json);
  if (!shapes)
    return tl::unexpected<Error>(std::move(shapes.error()).within(fmt::format("the parameters of tool '{}'", name)));
  for (const SchemaMembers& members : *shapes) {
    TRY_TAKE(Symbols call, shaped_call(name, members, chat, options, json.grammar()));
    json.grammar().add_alternative(said, std::move(call));
  }
  return {};
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
    builder.add_alternative(said, builder.ids(reply.to_answer) + Symbols{answer, builder.any_id(reply.answer_ends)});
  }
  for (const std::string& tool : rules.tools) TRY(add_calls(tool, chat, options, json, said));
  const Symbols reasoning = reply.thinks ? any_text(builder) : Symbols{};
  return builder.finish(builder.choice({reasoning + Symbols{said}}));
}

}  // namespace sluice
