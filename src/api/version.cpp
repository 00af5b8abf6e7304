#include <scanloom/session.h>

namespace scanloom {

// The build file defines it: the version is written in CMakeLists.txt alone.
std::string_view version() noexcept { return SCANLOOM_VERSION; }

}  // namespace scanloom
