// What stands between this machine, a checkpoint and good speed: findings in plain words, each problem with its fix.
//
// Measures as `plan` does, in about a second; reads no weights beyond that. Fails only where it is cancelled
// (`options.cancel`).
#pragma once

#include <string>
#include <vector>

#include "engine/measure.h"
#include "engine/survey.h"
#include "io/memory_nodes.h"

namespace sluice {

enum class Health { good, slow, broken };  // slow: works, but not as well as it could

struct Finding {
  std::string what;  // "disk"
  Health health = Health::good;
  std::string text;
  std::string fix = {};                   // empty where nothing is to be done
  ErrorKind kind = ErrorKind::bad_input;  // where it is broken
};

// Of the memory nodes that the process may use, those that the system lists, and why they cannot be spread over, if so.
Finding examine_nodes(const MemoryNodes& nodes, int listed, const std::string& refusal);

// Of the machine as it is, without a model.
Result<std::vector<Finding>> examine_machine(const EngineOptions& options);

// Of a checkpoint on it, and of a run on it that the kernel ended, if a note of it lies beside the usage history. The
// first thing that is broken ends the list: what comes after depends on it.
Result<std::vector<Finding>> examine_model(const std::string& directory, const EngineOptions& options);

}  // namespace sluice
