// See messages.h.
#include "text/messages.h"

#include <fmt/format.h>

namespace sluice {

Result<Role> parse_role(std::string_view name) {
  if (name == "developer") return Role::system;
  for (const Role role : {Role::system, Role::user, Role::assistant, Role::tool})
    if (name == role_name(role)) return role;
  return fail(ErrorKind::bad_input, fmt::format("'{}' is no role of a message", name),
              "roles are system, user, assistant and tool");
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      return "tool";
  }
  return "";
}

}  // namespace sluice
