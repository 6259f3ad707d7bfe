// The server: endpoints, admission and the engine's thread, put together.
#pragma once

#include <memory>
#include <string>

#include "base/cancel.h"
#include "engine/engine.h"
#include "serve/access.h"

namespace sluice::serve {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8080;
  int queue = 32;      // requests that may wait beside those that run
  int timeout = 3600;  // seconds for one answer; 0: any time
  AccessRules access;  // loopback is found out
};

// Memory the server holds beside the model: what is being read, parsed and sent.
std::uint64_t server_bytes(int context, int slots, int vocab_size);

class Server {
 public:
  // Binds and opens the model's chat format. The engine must outlive the server and belongs to it.
  static Result<std::unique_ptr<Server>> open(Engine& engine, ServeOptions options);
  virtual ~Server() = default;
  virtual int port() const = 0;
  // Serves on the calling thread until `stop` is requested; answers in progress are completed before it returns.
  virtual void run(const CancelFlag& stop) = 0;
};

}  // namespace sluice::serve
