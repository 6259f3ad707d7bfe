// The grammar of a whole chat reply that is held to a form: its reasoning is free, the answer or the tool call is not,
// and the control tokens around them are those of the model's chat format.
#pragma once

#include <string>
#include <vector>

#include "generate/grammar.h"
#include "models/chat_format.h"

namespace sluice {

// What an answer is held to.
struct AnswerForm {
  enum class Kind { free, json_object, json_schema, gbnf };
  Kind kind = Kind::free;
  std::string text = {};  // the schema or the grammar
};
// bad_input if the schema or the grammar cannot be held to. Requires: the kind is not free.
Result<GrammarBuilder::Symbol> add_answer_form(const AnswerForm& form, GrammarBuilder& builder);

// A raw text.
Result<Grammar> text_grammar(const AnswerForm& form);

struct ReplyRules {
  AnswerForm answer = {};
  // JSON as in Conversation::tools: the reply may be one call of one of them instead of an answer.
  std::vector<std::string> tools = {};
  bool must_call = false;
};
// bad_input names the tool whose parameters cannot be held to, or says what is wrong with the answer's form.
// unsupported if the chat format has no such replies. Requires: the answer is not free, or must_call.
Result<Grammar> reply_grammar(const ReplyRules& rules, const ChatFormat& chat, const ChatOptions& options);

}  // namespace sluice
