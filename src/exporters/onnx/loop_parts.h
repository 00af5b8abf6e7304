// What Scan and Loop have in common: names of the parts of a loop, rows that are put together after
// it, bodies that see the names around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "exporters/onnx/emitter.h"
#include "exporters/onnx/model_writer.h"
#include "ir/loop_ports.h"

namespace scanloom::exporters::onnx {

/// The loop that a NodeEmitter writes.
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
  /// Whether there certainly is no trip count, or one that counts as none.
  [[nodiscard]] bool is_endless() const;
  /// The size that the trip count is, where it is one; looks through checks that sizes agree.
  [[nodiscard]] std::optional<tensor::Dim> size_counted() const;

  /// What a body reads of the outside has its outer name there.
  void name_captured() const;
  /// Whether all rows of a stack are certainly as long as one another along the axis on which they
  /// are put end to end; inserted ones always are.
  [[nodiscard]] bool rows_are_equal(std::uint32_t i) const;
};

/// Puts the rows of one stack, which lie along `axis` of `rows` in their final order, end to end.
std::string put_end_to_end(Emitter& out, const std::string& rows, std::int64_t axis,
                           const tensor::Type& result);

/// Whether a Scan can do it, and writes it as one.
[[nodiscard]] bool is_scan(const LoopParts& loop);
void write_as_scan(const LoopParts& loop);
void write_as_loop(const LoopParts& loop);

}  // namespace scanloom::exporters::onnx
