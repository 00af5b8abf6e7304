// Helpers shared by Scan-8, which has a batch axis, the later versions of Scan, and SequenceMap.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

struct ScanCounts {
  std::size_t states = 0, scanned = 0, stacked = 0;

  /// Counts for a node whose inputs from `first_input` on are states and scan inputs.
  static Expected<ScanCounts> of(NodeCtx& ctx, int first_input);
};

/// Returns a list of directions, all forward (0) if the attribute is absent. `of` says in messages
/// what they belong to. Errors: it does not have `count` entries; an entry is neither 0 nor 1.
Expected<std::vector<std::int64_t>> scan_directions(NodeCtx& ctx, const char* name,
                                                    std::size_t count, const char* of);
/// Like scan_directions(), for arbitrary numbers.
Expected<std::vector<std::int64_t>> scan_list(NodeCtx& ctx, const char* name, std::size_t count,
                                              const char* of);

/// An axis of an operand whose size must match that of others.
struct MeasuredAxis {
  ir::ValueId value;
  int axis = 0;
  std::string words;  ///< "scan input 1 'mask'"
};

/// Returns the common size of all these axes, checked at run time if not known before. Errors: two
/// are known to differ; `unit` says in the message what they count. Precondition: at least one
/// axis.
Expected<ir::ValueId> common_size(NodeCtx& ctx, const std::vector<MeasuredAxis>& axes,
                                  const std::string& unit);

/// Makes a name safe for the text of check_equal, where braces are placeholders for numbers.
std::string without_braces(std::string text);

/// Returns the size of an axis if the type gives it.
std::optional<tensor::Dim> known_size(NodeCtx& ctx, ir::ValueId value, int axis);

/// Scan-8: a loop over the batch that contains a loop over the steps.
Expected<void> convert_batched_scan(NodeCtx& ctx);

}  // namespace scanloom::onnx
