// Moves zeros that a pad node adds into the pads of the convolution that reads them, as exporters
// of frameworks write whose convolutions pad both ends equally. The sums are the same, products
// with zeros included, except that a convolution leaves out taps that meet nothing but its own
// padding: pads that would add such taps stay.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "opmath/conv_geometry.h"
#include "ops/ops.h"
#include "passes/rewrite/rewriter.h"
#include "tensor/tensor.h"

namespace scanloom::passes {
namespace {

using ir::Node;
using ir::ValueId;
using Integers = std::vector<std::int64_t>;

// Operands of pad.
constexpr std::size_t kPads = 1, kValue = 2, kAxes = 3;

bool has(const Node& node, std::size_t i) {
  return i < node.inputs.size() && node.inputs[i].valid();
}

std::optional<Integers> constant_integers(const ir::Module& module, ValueId value) {
  const tensor::Tensor* const constant = ir::constant_of(module, value);
  return constant != nullptr ? to_integers(*constant) : std::nullopt;
}

/// Whether all bits of the value that is added are 0, so that it is not -0 either.
bool adds_zeros(const ir::Module& module, const Node& pad) {
  if (attr_of(pad, "mode").text() != "constant") return false;
  if (!has(pad, kValue)) return true;
  const tensor::Tensor* const value = ir::constant_of(module, pad.inputs[kValue]);
  return value != nullptr && value->dtype() != DType::string &&
         std::ranges::all_of(
             std::span(static_cast<const std::byte*>(value->data()), value->bytes()),
             [](std::byte each) { return each == std::byte{0}; });
}

/// Elements that the pad adds along the spatial axes: before the first of each, then after the
/// last. nullopt if they are not known, or if it pads other axes or removes elements.
std::optional<Integers> spatial_pads(const ir::Module& module, const Node& pad, int rank) {
  const auto pads = constant_integers(module, pad.inputs[kPads]);
  std::optional<Integers> axes = Integers();
  if (has(pad, kAxes)) {
    axes = constant_integers(module, pad.inputs[kAxes]);
  } else {
    for (int axis = 0; axis < rank; ++axis) axes->push_back(axis);
  }
  if (!pads || !axes || pads->size() != 2 * axes->size()) return std::nullopt;
  const auto spatial = static_cast<std::size_t>(rank - 2);
  Integers found(2 * spatial);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    const std::int64_t before = (*pads)[i], after = (*pads)[axes->size() + i];
    if (before < 0 || after < 0 || before > tensor::kMaxParameter || after > tensor::kMaxParameter)
      return std::nullopt;
    if (before == 0 && after == 0) continue;
    if (axis < 2 || axis >= rank) return std::nullopt;
    found[static_cast<std::size_t>(axis - 2)] += before;
    found[spatial + static_cast<std::size_t>(axis - 2)] += after;
  }
  return found;
}

/// The sizes of a value, with 1 for a batch that is not known; nullopt if others are not known.
std::optional<tensor::Shape> sizes_of(const ir::Type& type) {
  if (!type.ranked || type.rank() > tensor::kMaxRank) return std::nullopt;
  tensor::Shape shape;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const tensor::Dim size = type.dims[static_cast<std::size_t>(axis)];
    if (!size.is_constant() && axis != 0) return std::nullopt;
    shape.push_back(size.is_constant() ? size.value() : 1);
  }
  return shape;
}

/// Whether every tap of the convolution meets an element of x in some window.
bool has_only_live_taps(const tensor::Shape& x, const tensor::Shape& w,
                        std::span<const tensor::Attr> attrs) {
  const auto geometry = tensor::conv_geometry(x, w, attrs);
  return geometry && geometry->out_positions() > 0 &&
         tensor::live_taps(*geometry).count == geometry->kernel;
}

Expected<bool> merge_pad(Rewriter& rewriter, ir::NodeId id) {
  const Node conv = rewriter.module().node(id);  // by value: adding nodes may move it
  if (conv.op != &ops::conv_op) return false;
  const Node* const pad = made_by(rewriter.module(), conv.inputs[0], ops::pad_op);
  if (pad == nullptr || !adds_zeros(rewriter.module(), *pad)) return false;
  const ValueId source = pad->inputs[0];
  const auto x = sizes_of(rewriter.type(source)), w = sizes_of(rewriter.type(conv.inputs[1]));
  if (!x || !w || x->rank() < 3 || x->rank() != w->rank()) return false;
  const auto added = spatial_pads(rewriter.module(), *pad, x->rank());
  const auto given = tensor::read_conv_attrs(conv.attrs, x->rank() - 2);
  using tensor::AutoPad;
  if (!added || !given) return false;
  if (given->auto_pad != AutoPad::explicit_pads && given->auto_pad != AutoPad::valid) return false;
  const auto spatial = static_cast<std::size_t>(x->rank() - 2);
  Integers pads = *added;
  for (std::size_t axis = 0; axis < spatial; ++axis) {
    pads[axis] += given->pad_begin[axis];
    pads[spatial + axis] += given->pad_end[axis];
  }
  std::vector<tensor::Attr> attrs = conv.attrs;
  attrs[static_cast<std::size_t>(tensor::ConvAttr::auto_pad)] = {};
  attrs[static_cast<std::size_t>(tensor::ConvAttr::pads)] = tensor::Attr(pads);
  if (!has_only_live_taps(*x, *w, attrs)) return false;
  std::vector<ir::NamedAttr> named;
  for (const ir::NamedAttr& each : attrs_of(conv))
    if (each.name != "auto_pad" && each.name != "pads") named.push_back(each);
  named.push_back({"pads", std::move(pads)});
  std::vector<ValueId> inputs = conv.inputs;
  inputs[0] = source;
  SCANLOOM_TRY(const ValueId merged, rewriter.build().op(ops::conv_op, inputs, named));
  rewriter.replace(conv.outputs[0], merged);
  return true;
}

}  // namespace

Expected<Change> merge_pads(ir::Module& module) { return Rewriter(module).sweep(merge_pad); }

}  // namespace scanloom::passes
