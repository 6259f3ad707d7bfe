// See messages.h.
#include "text/messages.h"

#include <fmt/format.h>

namespace sluice {

Result<Role> parse_role(std::string_view name) {
  for (const Role role :
       {Role::system, Role::developer, Role::user, Role::assistant, Role::tool, Role::latest_reminder})
    if (name == role_name(role)) return role;
  return fail(ErrorKind::bad_input, fmt::format("'{}' is no role of a message", name),
              "roles are system, developer, user, assistant, tool and latest_reminder");
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::developer:
      return "developer";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      return "tool";
    case Role::latest_reminder:
      return "latest_reminder";
  }
  return "";
}

}  // namespace sluice
