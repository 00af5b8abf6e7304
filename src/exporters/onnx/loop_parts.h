// Helpers shared by Scan and Loop: names of the parts of a loop, concatenation of rows after it,
// and bodies that see the names around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exporters/onnx/emitter.h"
#include "exporters/onnx/model_writer.h"
#include "ir/loop_ports.h"

namespace scanloom::exporters::onnx {

/// The loop that a NodeEmitter writes, and its parts.
struct LoopParts {
  explicit LoopParts(NodeEmitter& emitter)
      : out(emitter),
        model(emitter.model()),
        ports(*emitter.node().loop),
        region(model.module().region(emitter.node().regions[0])) {}

  NodeEmitter& out;  ///< of the graph around the loop
  ModelWriter& model;
  const ir::LoopPorts& ports;
  const ir::Region& region;

  [[nodiscard]] const std::string& initial(std::uint32_t i) const {
    return out.in(ports.first_carried_input() + i);
  }
  [[nodiscard]] const std::string& scanned(std::uint32_t i) const {
    return out.in(ports.first_scanned_input() + i);
  }
  [[nodiscard]] const tensor::Type& scanned_type(std::uint32_t i) const {
    return out.in_type(ports.first_scanned_input() + i);
  }
  [[nodiscard]] ir::ValueId carried_arg(std::uint32_t i) const {
    return region.args[ports.captured + i];
  }
  [[nodiscard]] ir::ValueId slice_arg(std::uint32_t i) const {
    return region.args[ports.captured + ports.carried + i];
  }
  [[nodiscard]] ir::ValueId next(std::uint32_t i) const {
    return region.yields[ports.first_carried_yield() + i];
  }
  [[nodiscard]] ir::ValueId row(std::uint32_t i) const {
    return region.yields[ports.first_stacked_yield() + i];
  }
  /// Whether the trip count is certainly absent, or so large that it never ends the loop.
  [[nodiscard]] bool is_endless() const;
  /// Returns the size that the trip count equals, if it is one; looks through checks that sizes
  /// agree.
  [[nodiscard]] std::optional<tensor::Dim> size_counted() const;

  /// Gives captured values their outer names in the body.
  void name_captured() const;
  /// Whether all rows of a stack certainly have the same size along the axis of concatenation.
  /// Inserted rows always do.
  [[nodiscard]] bool rows_are_equal(std::uint32_t i) const;
};

/// Concatenates the rows of one stack, which are in their final order along `axis` of `rows`.
std::string put_end_to_end(Emitter& out, const std::string& rows, std::int64_t axis,
                           const tensor::Type& result);

/// Whether the loop can be written as a Scan.
[[nodiscard]] bool is_scan(const LoopParts& loop);
void write_as_scan(const LoopParts& loop);
void write_as_loop(const LoopParts& loop);

}  // namespace scanloom::exporters::onnx
