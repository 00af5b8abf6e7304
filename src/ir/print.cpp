#include "ir/print.h"

#include <algorithm>

#include "base/expected.h"
#include "ir/op_def.h"
#include "ir/text.h"

namespace scanloom::ir {
namespace {

/// A node whose regions are being written; at the bottom the module, whose only region is the top.
struct PrintFrame {
  NodeId owner;
  std::size_t next_region = 0;
  RegionId open;  ///< the region being written, if any
  std::size_t next_node = 0;
};

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options)
      : module_(module),
        options_(options),
        numbers_(module.value_count(), kNone),
        opened_(module.region_count(), false) {}

  std::string run();

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  /// Indents to the level of nodes; regions are one level, their owners two levels further out.
  void indent(std::size_t levels_out) { out_.append(4 * frames_.size() - 2 * levels_out, ' '); }

  void states();
  void step();
  void open_region(PrintFrame& frame);
  void arguments(const Region& region);
  void yields(const Region& region);
  void node(NodeId id);
  void results(const Node& node);
  void operation(const Node& node);
  void loop_operation(const Node& node, const LoopPorts& ports);
  void scanned(ValueId value, const ScannedPort& port);
  void stacked(const StackedPort& port);
  void raw_ports(const LoopPorts& ports);
  void attributes(const Node& node);
  void attribute(const Attr& attr);
  void constant(const Tensor& tensor);
  void elements(const Tensor& tensor);
  void result_types(const Node& node);
  void type_of(ValueId id);
  void location(const Node& node);
  void definition(ValueId id, bool with_name);
  void use(ValueId id);
  void uses(std::span<const ValueId> ids);
  void name(std::string_view name);

  const Module& module_;
  const PrintOptions& options_;
  std::vector<std::uint32_t> numbers_;  ///< of values already written
  std::vector<bool> opened_;            ///< by region; a broken module may name one twice
  std::vector<PrintFrame> frames_;
  std::uint32_t value_count_ = 0;
  std::string out_;
};

template <class T, class Write>
void join(std::string& out, std::span<const T> items, Write&& write) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    write(items[i]);
  }
}

bool fits(const Node& node, const LoopPorts& ports) {
  const std::uint64_t inputs = std::uint64_t{ports.captured} + ports.carried +
                               ports.scanned.size() + ports.has_trip_count + ports.has_condition;
  return inputs == node.inputs.size();
}

/// Whether the short form is complete: the types of result and tensor are equal.
bool is_plain_constant(const Module& module, const Node& node) {
  if (node.op != &constant_op || !node.inputs.empty() || node.outputs.size() != 1) return false;
  if (node.attrs.size() != 1 || node.attrs[0].kind() != tensor::AttrKind::tensor) return false;
  if (node.outputs[0].index >= module.value_count() || node.loop) return false;
  const Tensor& tensor = node.attrs[0].tensor();
  return module.value(node.outputs[0]).type == Type::of(tensor.dtype(), tensor.shape());
}

/// Whether the type can be printed.
bool is_sound(const Module& module, const Type& type) {
  return static_cast<int>(type.dtype) < kDTypeCount &&
         std::ranges::all_of(
             type.dims,
             [&](Dim dim) { return dim.is_constant() || dim.expr() < module.dims.size(); });
}

std::string Printer::run() {
  out_ += "module";
  if (!module_.name.empty()) name(module_.name);
  out_ += " {\n";
  states();
  frames_.push_back({});
  while (!frames_.empty()) step();
  return std::move(out_);
}

void Printer::states() {
  for (const State& state : module_.states) {
    out_ += "  state";
    name(state.name);
    add(" input {} output {}", state.input, state.output);
    if (state.is_hidden) out_ += " hidden";
    if (state.is_kept) add(" kept {}", *state.is_kept);
    out_ += " = ";
    if (state.initial.defined())
      constant(state.initial);
    else
      out_ += "zeros";
    out_ += '\n';
  }
}

void Printer::step() {
  PrintFrame& frame = frames_.back();
  if (frame.open.valid()) {
    const Region& region = module_.region(frame.open);
    if (frame.next_node < region.nodes.size()) return node(region.nodes[frame.next_node++]);
    yields(region);
    frame.open = RegionId();
    indent(1);
    out_ += "}\n";
    return;
  }
  const bool top = !frame.owner.valid();
  if (frame.next_region < (top ? 1 : module_.node(frame.owner).regions.size()))
    return open_region(frame);
  indent(2);
  out_ += "}\n";
  frames_.pop_back();
  if (top) out_.replace(out_.size() - 2, 2, "}\n");
}

void Printer::open_region(PrintFrame& frame) {
  indent(1);
  const std::size_t index = frame.next_region++;
  RegionId id = module_.top();
  if (!frame.owner.valid()) {
    out_ += "graph";
  } else {
    const Node& owner = module_.node(frame.owner);
    id = owner.regions[index];
    out_ += text::region_label(owner.op, index);
  }
  if (id.index >= module_.region_count() || opened_[id.index]) {
    out_ += " ?\n";
    return;
  }
  opened_[id.index] = true;
  frame.open = id;
  frame.next_node = 0;
  const Region& region = module_.region(id);
  if (options_.locations && !region.name.empty()) name(region.name);
  arguments(region);
  out_ += " {\n";
}

void Printer::arguments(const Region& region) {
  const bool names = options_.locations || frames_.size() == 1;
  out_ += '(';
  join<ValueId>(out_, region.args, [&](ValueId id) {
    definition(id, names);
    out_ += ": ";
    type_of(id);
  });
  out_ += ')';
}

void Printer::yields(const Region& region) {
  indent(0);
  out_ += "yield";
  for (std::size_t i = 0; i < region.yields.size(); ++i) {
    out_ += i == 0 ? " " : ", ";
    use(region.yields[i]);
    if (frames_.size() == 1 && i < module_.output_names.size()) name(module_.output_names[i]);
  }
  out_ += '\n';
}

void Printer::node(NodeId id) {
  indent(0);
  if (id.index >= module_.node_count()) {
    out_ += "?\n";
    return;
  }
  const Node& node = module_.node(id);
  results(node);
  if (is_plain_constant(module_, node)) {
    out_ += "constant ";
    constant(node.attrs[0].tensor());
  } else {
    operation(node);
    attributes(node);
    result_types(node);
  }
  if (options_.locations) location(node);
  out_ += node.regions.empty() ? "\n" : " {\n";
  if (!node.regions.empty()) frames_.push_back(PrintFrame{id, 0, {}, 0});
}

void Printer::results(const Node& node) {
  join<ValueId>(out_, node.outputs, [&](ValueId id) { definition(id, options_.locations); });
  if (!node.outputs.empty()) out_ += " = ";
}

void Printer::operation(const Node& node) {
  if (node.loop && node.op == &loop_op && fits(node, *node.loop))
    return loop_operation(node, *node.loop);
  out_ += node.op != nullptr ? node.op->name : "?";
  out_ += '(';
  uses(node.inputs);
  out_ += ')';
  if (node.loop) raw_ports(*node.loop);
}

void Printer::loop_operation(const Node& node, const LoopPorts& ports) {
  const auto inputs = std::span<const ValueId>(node.inputs);
  const auto group = [&](std::string_view label, std::uint32_t first, std::uint32_t count) {
    if (count == 0) return;
    add(" {}(", label);
    uses(inputs.subspan(first, count));
    out_ += ')';
  };
  out_ += "loop";
  group("trip", 0, ports.has_trip_count);
  group("condition", ports.has_trip_count, ports.has_condition);
  group("captured", ports.first_captured_input(), ports.captured);
  group("carried", ports.first_carried_input(), ports.carried);
  for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
    out_ += i == 0 ? " scanned(" : ", ";
    scanned(inputs[ports.first_scanned_input() + i], ports.scanned[i]);
  }
  if (!ports.scanned.empty()) out_ += ')';
  if (!ports.stacked.empty()) {
    out_ += " stacked(";
    join<StackedPort>(out_, ports.stacked, [&](const StackedPort& port) { stacked(port); });
    out_ += ')';
  }
  if (ports.fixed_sizes) out_ += " fixed";
  if (ports.over_items) out_ += " items";
  if (ports.reassociates) out_ += " reassociates";
  if (ports.has_keep_going) out_ += " keep_going";
}

void Printer::scanned(ValueId value, const ScannedPort& port) {
  use(value);
  add(" axis {}", port.axis);
  if (port.start != 0) add(" start {}", port.start);
  if (port.stride != 1) add(" stride {}", port.stride);
  if (port.part != 1) add(" part {}", port.part);
  if (!port.squeeze) out_ += " keep";
}

void Printer::stacked(const StackedPort& port) {
  add("axis {}", port.axis);
  if (!port.insert) out_ += " concat";
  if (port.reverse) out_ += " reverse";
}

/// Prints the ports of a node that is not a loop or whose operands do not fit them, for people;
/// parse refuses it.
void Printer::raw_ports(const LoopPorts& ports) {
  add(" ?ports(trip {} condition {} keep_going {} captured {} carried {} scanned {} stacked {})",
      int{ports.has_trip_count}, int{ports.has_condition}, int{ports.has_keep_going},
      ports.captured, ports.carried, ports.scanned.size(), ports.stacked.size());
}

void Printer::attributes(const Node& node) {
  const AttrDef* defs = node.op != nullptr ? node.op->attrs.begin() : nullptr;
  const std::size_t named = node.op != nullptr ? node.op->attrs.size() : 0;
  std::string_view separator = " {";
  for (std::size_t i = 0; i < node.attrs.size(); ++i) {
    if (!node.attrs[i].present()) continue;
    out_ += separator;
    separator = ", ";
    out_ += i < named ? defs[i].name : "?";
    out_ += " = ";
    attribute(node.attrs[i]);
  }
  if (separator == ", ") out_ += '}';
}

void Printer::attribute(const Attr& attr) {
  const auto real = [&](double value) {
    text::append_element(out_, DType::f64, reinterpret_cast<const std::byte*>(&value));
  };
  switch (attr.kind()) {
    case tensor::AttrKind::none:
      return;
    case tensor::AttrKind::integer:
      return add("{}", attr.integer());
    case tensor::AttrKind::real:
      return real(attr.real());
    case tensor::AttrKind::text:
      return text::append_quoted(out_, attr.text());
    case tensor::AttrKind::integers:
      out_ += '[';
      join<std::int64_t>(out_, attr.integers(), [&](std::int64_t value) { add("{}", value); });
      out_ += ']';
      return;
    case tensor::AttrKind::floats:
      out_ += '[';
      join<double>(out_, attr.floats(), real);
      out_ += ']';
      return;
    case tensor::AttrKind::tensor:
      return constant(attr.tensor());
    case tensor::AttrKind::dtype:
      out_ += static_cast<int>(attr.dtype()) < kDTypeCount ? dtype_name(attr.dtype()) : "?";
      return;
  }
}

void Printer::constant(const Tensor& tensor) {
  if (!tensor.defined() || static_cast<int>(tensor.dtype()) >= kDTypeCount) {
    out_ += "?";
    return;
  }
  add("{}[{}] ", dtype_name(tensor.dtype()), fmt::join(tensor.shape().dims(), ","));
  const bool all = options_.max_elements < 0 || tensor.elements() <= options_.max_elements;
  if (!all) return add("<{} elements>", tensor.elements());
  out_ += '[';
  elements(tensor);
  out_ += ']';
}

void Printer::elements(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data());
  const std::size_t width = dtype_bytes(tensor.dtype());
  for (std::int64_t i = 0; i < tensor.elements(); ++i, bytes += width) {
    if (i > 0) out_ += ", ";
    if (tensor.dtype() == DType::string) {
      text::append_quoted(out_, reinterpret_cast<const tensor::StringRef*>(bytes)->view());
    } else {
      text::append_element(out_, tensor.dtype(), bytes);
    }
  }
}

void Printer::result_types(const Node& node) {
  if (node.outputs.empty()) return;
  out_ += " : ";
  join<ValueId>(out_, node.outputs, [&](ValueId id) { type_of(id); });
}

void Printer::type_of(ValueId id) {
  const bool sound = id.index < module_.value_count() && is_sound(module_, module_.value(id).type);
  out_ += sound ? to_string(module_.value(id).type, module_.dims) : "?";
}

void Printer::location(const Node& node) {
  if (!node.location.valid() || node.location.index >= module_.location_count()) return;
  out_ += " loc(";
  join<std::string>(out_, module_.location(node.location).nodes,
                    [&](const std::string& location) { text::append_quoted(out_, location); });
  out_ += ')';
}

void Printer::definition(ValueId id, bool with_name) {
  if (id.index < module_.value_count() && numbers_[id.index] == kNone)
    numbers_[id.index] = options_.by_id ? id.index : value_count_++;
  use(id);
  if (with_name && id.index < module_.value_count() && !module_.value(id).name.empty())
    name(module_.value(id).name);
}

void Printer::use(ValueId id) {
  if (!id.valid()) {
    out_ += '_';
  } else if (id.index >= module_.value_count() || numbers_[id.index] == kNone) {
    out_ += "%?";
  } else {
    add("%{}", numbers_[id.index]);
  }
}

void Printer::uses(std::span<const ValueId> ids) {
  join(out_, ids, [&](ValueId id) { use(id); });
}

void Printer::name(std::string_view name) {
  out_ += ' ';
  text::append_quoted(out_, name);
}

}  // namespace

std::string print(const Module& module, const PrintOptions& options) {
  return Printer(module, options).run();
}

}  // namespace scanloom::ir
