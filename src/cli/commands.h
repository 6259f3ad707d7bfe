// The commands of the program: one file each, registered in the list of main.cpp.
//
// add_<name> describes the command's flags to CLI11 and, when the user chose it, leaves what to do in `chosen`. The
// work itself runs after parsing, so that every failure is a Result that main turns into a sentence and an exit code.
#pragma once

#include <functional>

#include "base/result.h"

namespace CLI {
class App;
}

namespace sluice::cli {

using Chosen = std::function<Result<>()>;

void add_run(CLI::App& app, Chosen& chosen);
void add_chat(CLI::App& app, Chosen& chosen);
void add_serve(CLI::App& app, Chosen& chosen);
void add_plan(CLI::App& app, Chosen& chosen);
void add_doctor(CLI::App& app, Chosen& chosen);
void add_inspect(CLI::App& app, Chosen& chosen);
void add_verify(CLI::App& app, Chosen& chosen);
void add_tokenize(CLI::App& app, Chosen& chosen);
void add_synth(CLI::App& app, Chosen& chosen);
void add_convert(CLI::App& app, Chosen& chosen);
void add_pack(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen);
void add_trace(CLI::App& app, Chosen& chosen);
void add_trace_replay(CLI::App& trace, Chosen& chosen);
void add_trace_report(CLI::App& trace, Chosen& chosen);
void add_bench(CLI::App& app, Chosen& chosen);
void add_bench_index(CLI::App& bench, Chosen& chosen);
void add_bench_io(CLI::App& bench, Chosen& chosen);
void add_bench_kernels(CLI::App& bench, Chosen& chosen);
void add_bench_threads(CLI::App& bench, Chosen& chosen);
void add_bench_token(CLI::App& bench, Chosen& chosen);
void add_bench_unpack(CLI::App& bench, Chosen& chosen);

}  // namespace sluice::cli
