// A fingerprint of every number that decided a text: two runs with equal hashes saw equal logits, bit for bit.
#pragma once

#include <memory>
#include <span>
#include <string>

namespace sluice {

class LogitsHash {
 public:
  LogitsHash();
  ~LogitsHash();
  void add(std::span<const float> logits);  // one row; -0 counts as 0
  std::string hex() const;                  // 16 digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
