// Runs a program as a user would: arguments in, exit code and both outputs back. Throws if it cannot be started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace sluice::test {

struct Outcome {
  int exit_code = -1;  // 128 + number if a signal ended it
  std::string out, err;
  std::uint64_t peak_rss_bytes = 0;  // as the kernel counted it; never less than what this test process itself holds
};

// A program while it runs. Its outputs go to files, so that it never waits for the test.
class RunningProgram {
 public:
  RunningProgram(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                 const std::string& input = {});
  ~RunningProgram();  // kills it if it still runs
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  std::string out_so_far() const;
  std::string err_so_far() const;
  void send(int signal);
  bool done();       // does not wait
  Outcome finish();  // waits
 private:
  void reap(int flags);

  TempDir files_;
  ::pid_t pid_ = -1;
  bool reaped_ = false;
  int status_ = 0;
  std::uint64_t peak_rss_bytes_ = 0;
};

Outcome run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                    const std::string& input = {});

}  // namespace sluice::test
