// lstm, gru and rnn as iterators over their formulas, for what the layers of an IR do not have:
// peepholes, coupled gates, activations of other kinds or of one direction, the reset gate as a
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

/// Sets every result of the node. Precondition: `activations` are those of its attribute.
void write_cells(NodeWriter& out, Cell cell, const ops::Activations& activations);

}  // namespace scanloom::exporters::openvino
