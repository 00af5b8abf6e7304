// Turns in-place writes to a window of a state into nests. The slices must be constants, which fix
// where the window begins and its size; indices shift the window at run time.
#include <cstring>

#include "ops/index/scatter_slice.h"
#include "ops/ops.h"
#include "plan/codegen/nest_source.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::Nest;
using tensor::ScalarOp;
namespace window = ops::scatter_slice;

/// Returns element `i` of a constant list of integers.
std::int64_t constant_integer(const CallView& call, const Spot& spot, std::int64_t i) {
  const Layout& layout = call.layout(spot);
  const std::byte* const at =
      call.constant(spot) +
      bytes_of(spot.dtype, layout.dims.rank() == 0 ? 0 : i * layout.strides[0]);
  if (spot.dtype == DType::i32) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, at, sizeof narrow);
    return narrow;
  }
  std::int64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

struct Window {
  ir::ViewOf part;        ///< without the picked axes
  tensor::Shape updates;  ///< strides of the updates along the part's axes
};

/// Returns nullopt if the write is not in place or the slices are not all constants.
std::optional<Window> window_of(const CallView& call) {
  const Spot &data = call.spot(window::kData), &updates = call.spot(window::kUpdates);
  if (call.is_copy() || !updates_in_place(call.node().op, data, call.output())) return std::nullopt;
  for (const int i : {window::kStarts, window::kEnds, window::kSteps}) {
    const Spot* const list = call.optional_input(static_cast<std::size_t>(i));
    if (list != nullptr && call.constant(*list) == nullptr) return std::nullopt;
  }
  const tensor::Attr* const attrs = call.node().attrs.data();
  const Layout &to = call.layout(data), &from = call.layout(updates);
  const bool has_steps = call.optional_input(window::kSteps) != nullptr;
  Window found{.part = window::sliced_part(
                   to.dims, to.strides, attrs, has_steps,
                   [&](int input, std::int64_t i) {
                     return constant_integer(call, call.spot(static_cast<std::size_t>(input)), i);
                   }),
               .updates = {}};
  window::drop_picked(found.part, attrs);
  const tensor::Shape& dims = found.part.dims;
  if (dims.elements() == 0) return std::nullopt;
  found.updates = tensor::Shape::filled(dims.rank(), 0);
  const int missing = dims.rank() - from.dims.rank();
  for (int i = 0; i < from.dims.rank(); ++i) {
    if (from.dims[i] == 1) continue;
    if (from.dims[i] != dims[missing + i])
      return std::nullopt;  // an error, which the kernel reports
    found.updates[missing + i] = from.strides[i];
  }
  return found;
}

ScalarOp combining(const std::string& kind) {
  if (kind == "add") return ScalarOp::add;
  if (kind == "mul") return ScalarOp::mul;
  return kind == "max" ? ScalarOp::max : ScalarOp::min;
}

/// Returns a nest that copies the updates to the window, or reduces them with the present elements;
/// nullopt if only kernels know its elements.
std::optional<Nest> written(const CallView& call, const Window& found) {
  const Spot& data = call.spot(window::kData);
  Access from = first_element(call.spot(window::kUpdates)), to = first_element(data);
  to.offset += bytes_of(data.dtype, found.part.offset);
  std::vector<std::int64_t> sizes;
  for (int axis = 0; axis < found.part.dims.rank(); ++axis) {
    if (found.part.dims[axis] == 1) continue;
    sizes.push_back(found.part.dims[axis]);
    from.strides.push_back(found.updates[axis]);
    to.strides.push_back(found.part.strides[axis]);
  }
  Nest nest = copying(std::move(sizes), std::move(from), std::move(to));
  const std::string& kind = call.node().attrs[window::kReduction].text();
  if (kind == "none") return nest;
  const DType dtype = data.dtype;
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i32 && dtype != DType::i64)
    return std::nullopt;
  nest.reads.push_back(nest.writes[0]);
  nest.program = {.inputs = {dtype, dtype}, .instrs = {}, .results = {}};
  nest.program.results = {
      nest.program.append({.op = combining(kind), .dtype = dtype, .args = {1, 0, -1}})};
  return nest;
}

const std::vector<std::int64_t>& picked_axes(const CallView& call) {
  return call.node().attrs[window::kPicked].integers();
}

}  // namespace

std::vector<Nest> window_nests(const CallView& call) {
  if (!picked_axes(call).empty()) return {};
  const auto found = window_of(call);
  if (!found) return {};
  std::vector<Nest> nests;
  if (auto nest = written(call, *found)) nests.push_back(*std::move(nest));
  return nests;
}

std::optional<SlicedNest> dynamic_window_nest(const CallView& call) {
  if (picked_axes(call).size() != 1) return std::nullopt;
  const auto found = window_of(call);
  if (!found) return std::nullopt;
  auto nest = written(call, *found);
  if (!nest) return std::nullopt;
  const Spot& data = call.spot(window::kData);
  const Layout& layout = call.layout(data);
  const int axis = window::non_negative_axis(picked_axes(call)[0], layout.dims.rank());
  return SlicedNest{{.index = first_element(call.spot(window::kIndices)),
                     .size = layout.dims[axis],
                     .bytes = bytes_of(data.dtype, layout.strides[axis]),
                     .into = true},
                    *std::move(nest)};
}

std::vector<Nest> indexed_window(const CallView& call, std::int32_t index) {
  if (picked_axes(call).empty()) return {};
  const auto found = window_of(call);
  if (!found) return {};
  auto nest = written(call, *found);
  if (!nest) return {};
  const Spot &data = call.spot(window::kData), &indices = call.spot(window::kIndices);
  const Layout &layout = call.layout(data), &list = call.layout(indices);
  const std::string& kind = call.node().attrs[window::kReduction].text();
  if (kind != "none") {  // nests that write by index take the updated element from `update`
    nest->reads.pop_back();
    nest->update = {.inputs = {data.dtype, data.dtype}, .instrs = {}, .results = {}};
    nest->update.results = {
        nest->update.append({.op = combining(kind), .dtype = data.dtype, .args = {0, 1, -1}})};
    nest->program = {.inputs = {data.dtype}, .instrs = {}, .results = {0}};
  }
  const std::vector<std::int64_t>& picked = picked_axes(call);
  for (std::size_t k = 0; k < picked.size(); ++k) {
    const int axis = window::non_negative_axis(picked[k], layout.dims.rank());
    const std::int64_t at =
        list.dims.rank() == 0 ? 0 : static_cast<std::int64_t>(k) * list.strides[0];
    nest->writes[0].indices.push_back({.slot = indices.slot,
                                       .dtype = indices.dtype,
                                       .offset = indices.offset + bytes_of(indices.dtype, at),
                                       .strides = std::vector<std::int64_t>(nest->sizes.size(), 0),
                                       .size = layout.dims[axis],
                                       .bytes = bytes_of(data.dtype, layout.strides[axis])});
  }
  nest->calls = {index};
  return {*std::move(nest)};
}

}  // namespace scanloom::plan
