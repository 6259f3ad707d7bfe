// See reply_forms.h.
#include "models/common/reply_forms.h"

#include <utility>

namespace sluice {

Result<CallForm> encode_call(const CallParts& parts, std::vector<int> ends, const Tokenizer& tokenizer) {
  CallForm form{.ends = std::move(ends)};
  TRY_TAKE(form.begin, encode_parts(parts.begin, tokenizer));
  TRY_TAKE(form.end, encode_parts(parts.end, tokenizer));
  for (const CallParts::Argument& argument : parts.arguments) {
    CallForm::Argument& made = form.arguments.emplace_back();
    TRY_TAKE(made.before, encode_parts(argument.before, tokenizer));
    TRY_TAKE(made.after, encode_parts(argument.after, tokenizer));
  }
  return form;
}

ReplyForm bare_answer(bool thinks, int end_think, std::vector<int> ends) {
  return {.thinks = thinks,
          .to_answer = thinks ? std::vector<int>{end_think} : std::vector<int>{},
          .answer_ends = std::move(ends)};
}

}  // namespace sluice
