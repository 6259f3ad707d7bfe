// What a program that decodes ids is asked for and what it tells: the same for every engine that is compared
// (llama_tokens.cpp, sluice_tokens.cpp), so that only what happens between `begin` and `end` differs.
//
//   PROGRAM MODEL --ids 1,2,3 [--new N] [--threads N] [--memory SIZE] [--kv f32] [--repack off]
//           [--numerics fast] [--logits FILE]
//
// Feeds the ids one by one, then N more, each the likeliest after the last. Standard output: one JSON object with
// `load_s`, `peak_rss_bytes` and `steps`; a step is [id fed, likeliest next id, seconds, bytes read from disk]. These
// bytes are the kernel's count for the whole process (read_bytes of /proc/self/io: what was fetched from storage, by
// page faults, read-ahead or direct reads), not an engine's own. --logits: rows of fp32, one a step.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace peer {

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

struct Wanted {
  std::string model, memory, kv, repack, numerics, logits;
  std::vector<int> ids;
  int more = 0, threads = 2;

  Wanted(int count, char** words) {
    if (count < 2 || count % 2 != 0)
      give_up(
          "usage: MODEL --ids 1,2,3 [--new N] [--threads N] [--memory SIZE] [--kv f32] [--repack off] [--numerics "
          "fast] "
          "[--logits FILE]");
    model = words[1];
    for (int i = 2; i < count; i += 2) {
      const std::string flag = words[i], value = words[i + 1];
      if (flag == "--ids") {
        std::istringstream list(value);
        for (std::string id; std::getline(list, id, ',');) ids.push_back(std::atoi(id.c_str()));
      } else if (flag == "--new") {
        more = std::atoi(value.c_str());
      } else if (flag == "--threads") {
        threads = std::atoi(value.c_str());
      } else if (flag == "--memory") {
        memory = value;
      } else if (flag == "--kv") {
        kv = value;
      } else if (flag == "--repack") {
        repack = value;
      } else if (flag == "--numerics") {
        numerics = value;
      } else if (flag == "--logits") {
        logits = value;
      } else {
        give_up("no such flag: " + flag);
      }
    }
    if (ids.empty()) give_up("--ids: none");
  }
  int steps() const { return static_cast<int>(ids.size()) + more; }
};

inline std::uint64_t bytes_read_so_far() {
  std::ifstream file("/proc/self/io");
  for (std::string name; file >> name;) {
    std::uint64_t value = 0;
    file >> value;
    if (name == "read_bytes:") return value;
  }
  give_up("/proc/self/io tells nothing of reads");
}

class Steps {
 public:
  explicit Steps(const Wanted& wanted) : wanted_(wanted), start_(now()) {
    if (!wanted.logits.empty()) logits_.open(wanted.logits, std::ios::binary);
  }
  void loaded() { load_seconds_ = now() - start_; }
  // The id to feed next, or -1: no more.
  int begin() {
    if (done_ == wanted_.steps()) return -1;
    fed_ = done_ < static_cast<int>(wanted_.ids.size()) ? wanted_.ids[static_cast<std::size_t>(done_)] : best_;
    read_ = bytes_read_so_far();
    began_ = now();
    return fed_;
  }
  void end(std::span<const float> logits) {
    best_ = static_cast<int>(std::ranges::max_element(logits) - logits.begin());
    const double seconds = now() - began_;
    steps_ << (done_ > 0 ? ", " : "") << '[' << fed_ << ", " << best_ << ", " << seconds << ", "
           << bytes_read_so_far() - read_ << ']';
    if (logits_.is_open())
      logits_.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size_bytes()));
    ++done_;
  }
  void print() const {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    std::printf("{\"load_s\": %.3f, \"peak_rss_bytes\": %ld, \"steps\": [%s]}\n", load_seconds_, used.ru_maxrss * 1024L,
                steps_.str().c_str());
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  const Wanted& wanted_;
  std::ofstream logits_;
  std::ostringstream steps_;
  double start_, began_ = 0, load_seconds_ = 0;
  std::uint64_t read_ = 0;
  int done_ = 0, fed_ = 0, best_ = 0;
};

}  // namespace peer
