// What Scan-8, which has a batch axis, shares with the later versions, and SequenceMap with both.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

struct ScanCounts {
  std::size_t states = 0, scanned = 0, stacked = 0;

  /// Of a node whose inputs from `first_input` on are states and scan inputs.
  static Expected<ScanCounts> of(NodeCtx& ctx, int first_input);
};

/// A list of directions: all forward (0) where the attribute is absent. `of` says what they belong
/// to. Errors: it has not `count` entries; one is neither 0 nor 1.
Expected<std::vector<std::int64_t>> scan_directions(NodeCtx& ctx, const char* name,
                                                    std::size_t count, const char* of);
/// As scan_directions, of any numbers.
Expected<std::vector<std::int64_t>> scan_list(NodeCtx& ctx, const char* name, std::size_t count,
                                              const char* of);

/// An axis of an operand that is to be as long as others.
struct MeasuredAxis {
  ir::ValueId value;
  int axis = 0;
  std::string words;  ///< "scan input 1 'mask'"
};

/// The size that all of these have, checked when running where it is not known before. Errors: two
/// are known to differ; `unit` says what they count. Precondition: there is one.
Expected<ir::ValueId> common_size(NodeCtx& ctx, const std::vector<MeasuredAxis>& axes,
                                  const std::string& unit);

/// A name for the text of check_equal, in which braces mean numbers.
std::string without_braces(std::string text);

/// The size of an axis as far as the type tells.
std::optional<tensor::Dim> known_size(NodeCtx& ctx, ir::ValueId value, int axis);

/// Scan-8: a loop over the batch around a loop over the steps.
Expected<void> convert_batched_scan(NodeCtx& ctx);

}  // namespace scanloom::onnx
