// A pass over a body: one function per file in passes/, whose head comment says what it does.
// list.inc is the order, run.h is the one door.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// By slot that points to slices or rows: the least distance in elements between neighbours along
/// axes outside the axis of the steps. Such strides grow with the number of steps.
using StepExtents = std::map<std::int32_t, std::int64_t>;

/// A body while passes change it.
struct BodyParts {
  std::vector<Part> parts;
  BodySource source = {};  ///< without statements, which `parts` holds
  IsBuffer is_buffer = no_buffer;
  std::vector<Use> read_later = {};  ///< of buffers, what is read after the last part
  StepExtents extents = {};
  std::vector<std::int64_t> parameters = {};  ///< values of those that passes have made
};

/// The stages of the passes. Between two stages, the caller measures the size of the code.
enum class Stage : std::uint8_t {
  shrink,  ///< fewer parts, and fewer values in memory
  place,   ///< memory and axes as the code has them
  share,   ///< the same code for other numbers of steps
};

struct NestPass {
  std::string_view name;
  std::string_view doc;
  Stage stage;
  void (*run)(BodyParts& body);
};

#define SCANLOOM_NEST_PASS(name, stage, doc) void name(BodyParts& body);
#include "loopnest/list.inc"
#undef SCANLOOM_NEST_PASS

/// Returns the passes in the order in which they run.
std::span<const NestPass> all_nest_passes();

}  // namespace scanloom::loopnest
