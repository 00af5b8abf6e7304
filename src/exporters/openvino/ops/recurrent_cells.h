// Writes lstm, gru and rnn as iterators over their formulas, for features the IR's layers lack:
// peepholes, coupled gates, other activations or different ones per direction, the reset gate as a
// result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "exporters/openvino/node_writer.h"
#include "ops/recurrent/recurrent_activations.h"

namespace scanloom::exporters::openvino {

/// The inputs of lstm, gru and rnn.
enum CellInput : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

enum class Cell : std::uint8_t { rnn, gru, lstm };

/// Sets every result of the node. Precondition: `activations` are those of the node's attribute.
void write_cells(NodeWriter& out, Cell cell, const ops::Activations& activations);

}  // namespace scanloom::exporters::openvino
