#include "base/unknown_name.h"

#include <scanloom/nearest_name.h>

#include "base/expected.h"

namespace scanloom {

Error unknown_name(std::string_view kind, std::string_view plural, std::string_view name,
                   std::span<const std::string> known) {
  const std::string meant = nearest_name(name, known);
  return fail(Code::invalid_argument, "unknown {} '{}'{}", kind, name,
              meant.empty() ? meant : "; did you mean '" + meant + "'?")
      .note(fmt::format("the {} are: {}", plural, fmt::join(known, ", ")));
}

}  // namespace scanloom
