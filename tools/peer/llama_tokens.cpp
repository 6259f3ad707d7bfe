// llama.cpp as engines.py runs it: see steps.h. A GGUF file, mapped into memory as its programs do by default, with its
// defaults for everything that is not the size of a batch (a small one, so that memory is left for weights).
#include <cstdio>

#include <llama.h>
#include "peer/steps.h"

int main(int count, char** words) {
  const peer::Wanted wanted(count, words);
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  peer::Steps steps(wanted);
  llama_model_params how = llama_model_default_params();
  how.use_extra_bufts = wanted.repack != "off";
  llama_model* const model = llama_model_load_from_file(wanted.model.c_str(), how);
  if (model == nullptr) peer::give_up(wanted.model + ": llama.cpp cannot load it");
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(wanted.steps() + 1);
  params.n_batch = params.n_ubatch = 8;
  params.n_threads = params.n_threads_batch = wanted.threads;
  if (wanted.kv == "f32") {  // else its default, f16
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  }
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) peer::give_up("llama.cpp makes no context");
  const auto vocabulary = static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
  steps.loaded();
  for (llama_token id = 0; (id = steps.begin()) >= 0;) {
    if (llama_decode(context, llama_batch_get_one(&id, 1)) != 0) peer::give_up("llama.cpp cannot decode");
    steps.end({llama_get_logits_ith(context, -1), vocabulary});
  }
  steps.print();
  llama_free(context);
  llama_model_free(model);
  llama_backend_free();
}
