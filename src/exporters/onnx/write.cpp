#include "exporters/onnx/write.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "exporters/onnx/proto_writer.h"
#include "ops/ops.h"

namespace scanloom::onnx {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using tensor::Attr;
using tensor::Tensor;

using Names = std::vector<std::string>;

/// How the operands and attributes of an operator become ONNX's.
enum class Form : std::uint8_t {
  plain,       ///< the same operands, no attributes
  attributes,  ///< the same operands, the same integer and real attributes
  axes,        ///< the attribute `axes` is an operand
  reduce,
  contract,
  cast,
  constant_of_shape,
  dim,
  text,   ///< the same operands; texts among the attributes
  first,  ///< the first operand: a check, which ONNX has none of
  sum_to,
  expm1,
  log1p,
  cumprod,
  mod,
};

struct Row {
  const ir::OpDef* op;
  const char* type;
  Form form = Form::plain;
};

const Row kRows[] = {
    {&ops::abs_op, "Abs"},
    {&ops::acos_op, "Acos"},
    {&ops::acosh_op, "Acosh"},
    {&ops::add_op, "Add"},
    {&ops::argmax_op, "ArgMax", Form::attributes},
    {&ops::argmin_op, "ArgMin", Form::attributes},
    {&ops::asin_op, "Asin"},
    {&ops::asinh_op, "Asinh"},
    {&ops::atan_op, "Atan"},
    {&ops::atanh_op, "Atanh"},
    {&ops::bit_and_op, "BitwiseAnd"},
    {&ops::bit_not_op, "BitwiseNot"},
    {&ops::bit_or_op, "BitwiseOr"},
    {&ops::bit_xor_op, "BitwiseXor"},
    {&ops::cast_op, "Cast", Form::cast},
    {&ops::ceil_op, "Ceil"},
    {&ops::check_equal_op, "Identity", Form::first},
    {&ops::clip_op, "Clip"},
    {&ops::concat_op, "Concat", Form::attributes},
    {&ops::constant_of_shape_op, "ConstantOfShape", Form::constant_of_shape},
    {&ops::contract_op, "Einsum", Form::contract},
    {&ops::conv_op, "Conv", Form::text},
    {&ops::conv_transpose_op, "ConvTranspose", Form::text},
    {&ops::cos_op, "Cos"},
    {&ops::cosh_op, "Cosh"},
    {&ops::cumprod_op, "Scan", Form::cumprod},
    {&ops::cumsum_op, "CumSum", Form::attributes},
    {&ops::dense_op, "Identity"},
    {&ops::dim_op, "Shape", Form::dim},
    {&ops::div_op, "Div"},
    {&ops::elu_op, "Elu", Form::attributes},
    {&ops::equal_op, "Equal"},
    {&ops::erf_op, "Erf"},
    {&ops::exp_op, "Exp"},
    {&ops::expand_op, "Expand"},
    {&ops::expm1_op, "Tanh", Form::expm1},
    {&ops::floor_op, "Floor"},
    {&ops::gather_op, "Gather", Form::attributes},
    {&ops::gather_elements_op, "GatherElements", Form::attributes},
    {&ops::gather_nd_op, "GatherND", Form::attributes},
    {&ops::identity_op, "Identity"},
    {&ops::is_nan_op, "IsNaN"},
    {&ops::leaky_relu_op, "LeakyRelu", Form::attributes},
    {&ops::less_op, "Less"},
    {&ops::less_equal_op, "LessOrEqual"},
    {&ops::log_op, "Log"},
    {&ops::log1p_op, "Log", Form::log1p},
    {&ops::log_softmax_op, "LogSoftmax", Form::attributes},
    {&ops::logical_and_op, "And"},
    {&ops::logical_not_op, "Not"},
    {&ops::logical_or_op, "Or"},
    {&ops::logical_xor_op, "Xor"},
    {&ops::max_op, "Max"},
    {&ops::min_op, "Min"},
    {&ops::mod_op, "Mod", Form::mod},
    {&ops::mul_op, "Mul"},
    {&ops::neg_op, "Neg"},
    {&ops::non_zero_op, "NonZero"},
    {&ops::pad_op, "Pad", Form::text},
    {&ops::pow_op, "Pow"},
    {&ops::range_op, "Range"},
    {&ops::reduce_op, "Reduce", Form::reduce},
    {&ops::relu_op, "Relu"},
    {&ops::reshape_op, "Reshape", Form::attributes},
    {&ops::round_op, "Round"},
    {&ops::scatter_elements_op, "ScatterElements", Form::text},
    {&ops::scatter_nd_op, "ScatterND", Form::text},
    {&ops::shape_op, "Shape", Form::attributes},
    {&ops::sigmoid_op, "Sigmoid"},
    {&ops::sign_op, "Sign"},
    {&ops::sin_op, "Sin"},
    {&ops::sinh_op, "Sinh"},
    {&ops::size_op, "Size"},
    {&ops::slice_op, "Slice"},
    {&ops::softmax_op, "Softmax", Form::attributes},
    {&ops::softplus_op, "Softplus"},
    {&ops::sqrt_op, "Sqrt"},
    {&ops::squeeze_op, "Squeeze", Form::axes},
    {&ops::sub_op, "Sub"},
    {&ops::sum_to_op, "ReduceSum", Form::sum_to},
    {&ops::tanh_op, "Tanh"},
    {&ops::tile_op, "Tile"},
    {&ops::topk_op, "TopK", Form::attributes},
    {&ops::transpose_op, "Transpose", Form::attributes},
    {&ops::unsqueeze_op, "Unsqueeze", Form::axes},
    {&ops::where_op, "Where"},
};

const Row* find_row(const ir::OpDef& op) {
  const auto found = std::ranges::find(kRows, &op, &Row::op);
  return found == std::end(kRows) ? nullptr : &*found;
}

const std::map<std::string, std::string, std::less<>> kReductions = {
    {"sum", "ReduceSum"},        {"mean", "ReduceMean"},
    {"max", "ReduceMax"},        {"min", "ReduceMin"},
    {"prod", "ReduceProd"},      {"sum_square", "ReduceSumSquare"},
    {"l1", "ReduceL1"},          {"l2", "ReduceL2"},
    {"log_sum", "ReduceLogSum"}, {"log_sum_exp", "ReduceLogSumExp"}};

Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// Regions nest as deep as the module's loops.
class ModelWriter {
 public:
  explicit ModelWriter(const Module& module) : module_(module), names_(module.value_count()) {}

  Expected<std::string> write(const exporters::WriteOptions& options) {
    GraphWriter graph;
    const ir::Region& top = module_.region(module_.top());
    for (std::size_t i = 0; i < top.args.size(); ++i) {
      name(top.args[i]) = options.input_names[i];
      if (options.values[i].defined())
        graph.initialiser(options.input_names[i], options.values[i]);
      else
        graph.input(options.input_names[i], module_.value(top.args[i]).type, module_.dims);
    }
    nodes(module_.top(), graph);
    for (std::size_t i = 0; i < top.yields.size(); ++i) {
      graph.node("Identity", {name(top.yields[i])}, {options.output_names[i]}, {});
      graph.output(options.output_names[i], module_.value(top.yields[i]).type, module_.dims);
    }
    if (missing_.empty()) return graph.model(module_.name.empty() ? "scanloom" : module_.name);
    Error error = fail(Code::unsupported, "{} operators have no ONNX form", missing_.size());
    for (const std::string& each : missing_) error.note(each);
    return error;
  }

 private:
  std::string& name(ValueId value) { return names_[value.index]; }
  std::string fresh() { return "v" + std::to_string(count_++); }
  [[nodiscard]] const tensor::Type& type(ValueId value) const { return module_.value(value).type; }

  std::string constant(GraphWriter& graph, const Tensor& value) {
    const std::string made = fresh();
    graph.node("Constant", {}, {made}, {GraphWriter::attribute("value", value)});
    return made;
  }
  std::string op(GraphWriter& graph, const std::string& type, const Names& inputs,
                 const std::vector<std::string>& attributes = {}) {
    const std::string made = fresh();
    graph.node(type, inputs, {made}, attributes);
    return made;
  }

  void nodes(RegionId region, GraphWriter& graph) {
    for (const NodeId id : module_.region(region).nodes) {
      const Node& node = module_.node(id);
      for (const ValueId output : node.outputs) name(output) = fresh();
      if (node.loop)
        loop(node, id, graph);
      else if (node.op == &ir::branch_op)
        branch(node, graph);
      else if (node.op == &ir::constant_op)
        graph.node("Constant", {}, {name(node.outputs[0])},
                   {GraphWriter::attribute("value", node.attrs[0].tensor())});
      else if (const Row* row = find_row(*node.op))
        plain(node, *row, graph);
      else
        missing_.insert(std::string(node.op->name));
    }
  }

  // --- operators

  void plain(const Node& node, const Row& row, GraphWriter& graph) {
    Names inputs, outputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? name(input) : "");
    while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
    for (const ValueId output : node.outputs) outputs.push_back(name(output));
    std::string kind = row.type;
    std::vector<std::string> attributes;
    switch (row.form) {
      case Form::plain:
        break;
      case Form::attributes:
      case Form::text:
        attributes = attributes_of(node);
        break;
      case Form::axes:
        if (inputs.size() == 1 && node.attrs[0].present())
          inputs.push_back(constant(graph, integers(node.attrs[0].integers())));
        break;
      case Form::reduce:
        kind = kReductions.at(attr(node, "kind").text());
        attributes.push_back(GraphWriter::attribute("keepdims", attr(node, "keepdims").integer()));
        if (inputs.size() == 1 && attr(node, "axes").present()) {
          attributes.push_back(GraphWriter::attribute("noop_with_empty_axes", std::int64_t{1}));
          inputs.push_back(constant(graph, integers(attr(node, "axes").integers())));
        }
        break;
      case Form::contract:
        if (attr(node, "spec").text().empty())
          kind = "MatMul";
        else
          attributes.push_back(GraphWriter::attribute("equation", attr(node, "spec").text()));
        break;
      case Form::cast:
        attributes.push_back(GraphWriter::attribute(
            "to", static_cast<std::int64_t>(dtype_onnx_number(node.attrs[0].dtype()))));
        break;
      case Form::constant_of_shape:
        attributes.push_back(GraphWriter::attribute("value", node.attrs[0].tensor()));
        break;
      case Form::dim:
        return size_of_axis(node, inputs[0], outputs[0], graph);
      case Form::first:
        inputs.resize(1);
        break;
      case Form::sum_to:
        return sum_to(node, inputs, outputs[0], graph);
      case Form::expm1:
        return expm1(inputs[0], outputs[0], type(node.inputs[0]).dtype, graph);
      case Form::log1p:
        return log1p(inputs[0], outputs[0], type(node.inputs[0]).dtype, graph);
      case Form::cumprod:
        return cumprod(node, inputs, outputs[0], graph);
      case Form::mod: {
        const DType dtype = type(node.inputs[0]).dtype;
        attributes = attributes_of(node);
        if (is_real(dtype) && attr(node, "fmod").integer() == 0)
          return modulo(inputs, outputs[0], dtype, graph);
        break;
      }
    }
    graph.node(kind, inputs, outputs, attributes);
  }

  void size_of_axis(const Node& node, const std::string& x, const std::string& to,
                    GraphWriter& graph) {
    const std::int64_t axis = node.attrs[0].integer();
    const std::string sizes = op(graph, "Shape", {x});
    graph.node("Gather", {sizes, constant(graph, Tensor::scalar(axis))}, {to}, {});
  }

  /// Over the axes whose sizes differ from those wanted, which begin at the last axis.
  void sum_to(const Node& node, const Names& inputs, const std::string& to, GraphWriter& graph) {
    const int extra = type(node.inputs[0]).rank() - type(node.outputs[0]).rank();
    const std::string wanted =
        op(graph, "Cast", {inputs[1]}, {GraphWriter::attribute("to", std::int64_t{7})});
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(extra), 1);
    const std::string sizes = op(graph, "Concat", {constant(graph, integers(ones)), wanted},
                                 {GraphWriter::attribute("axis", std::int64_t{0})});
    const std::string same = op(graph, "Equal", {op(graph, "Shape", {inputs[0]}), sizes});
    const std::string axes =
        op(graph, "Squeeze",
           {op(graph, "NonZero", {op(graph, "Not", {same})}), constant(graph, integers({0}))});
    const std::string sum = op(graph, "ReduceSum", {inputs[0], axes},
                               {GraphWriter::attribute("noop_with_empty_axes", std::int64_t{1})});
    graph.node("Reshape", {sum, wanted}, {to}, {});
  }

  std::string number(GraphWriter& graph, double value, DType dtype) {
    const std::string wide = constant(graph, Tensor::scalar(value));
    if (dtype == DType::f64) return wide;
    return op(graph, "Cast", {wide},
              {GraphWriter::attribute("to", static_cast<std::int64_t>(dtype_onnx_number(dtype)))});
  }

  /// tanh(x / 2) (exp(x) + 1), which loses nothing near 0.
  void expm1(const std::string& x, const std::string& to, DType dtype, GraphWriter& graph) {
    const std::string half = op(graph, "Mul", {x, number(graph, 0.5, dtype)});
    const std::string above = op(graph, "Add", {op(graph, "Exp", {x}), number(graph, 1, dtype)});
    graph.node("Mul", {op(graph, "Tanh", {half}), above}, {to}, {});
  }

  /// A Scan along the axis; opset 26 is the first with an operator.
  void cumprod(const Node& node, const Names& inputs, const std::string& to, GraphWriter& graph) {
    const tensor::Type& whole = type(node.inputs[0]);
    const NodeId producer = module_.value(node.inputs[1]).producer;
    const bool known = producer.valid() && module_.node(producer).op == &ir::constant_op;
    const auto axis =
        known ? tensor::to_integers(module_.node(producer).attrs[0].tensor()) : std::nullopt;
    if (!axis || axis->empty()) {
      missing_.insert(std::string(node.op->name) + " along an axis that is computed");
      return;
    }
    const std::int64_t at = axis->front() < 0 ? axis->front() + whole.rank() : axis->front();
    tensor::Type row = whole;
    row.dims.erase(row.dims.begin() + at);
    GraphWriter body;
    const std::string before = fresh(), next = fresh(), product = fresh(), result = fresh();
    body.input(before, row, module_.dims);
    body.input(next, row, module_.dims);
    body.node("Mul", {before, next}, {product}, {});
    body.node("Identity", {attr(node, "exclusive").integer() != 0 ? before : product}, {result},
              {});
    body.output(product, row, module_.dims);
    body.output(result, row, module_.dims);
    std::vector<std::int64_t> others;
    for (std::int64_t i = 0; i < whole.rank(); ++i)
      if (i != at) others.push_back(i);
    const std::string sizes =
        op(graph, "Gather", {op(graph, "Shape", {inputs[0]}), constant(graph, integers(others))});
    const std::string ones = op(graph, "Expand", {number(graph, 1, whole.dtype), sizes});
    const std::vector<std::int64_t> axes{at}, directions{attr(node, "reverse").integer() != 0};
    graph.node("Scan", {ones, inputs[0]}, {fresh(), to},
               {GraphWriter::attribute("body", body),
                GraphWriter::attribute("num_scan_inputs", std::int64_t{1}),
                GraphWriter::attribute("scan_input_axes", axes),
                GraphWriter::attribute("scan_output_axes", axes),
                GraphWriter::attribute("scan_input_directions", directions),
                GraphWriter::attribute("scan_output_directions", directions)});
  }

  /// ONNX's Mod of reals has the sign of the dividend alone: b is added where the signs differ. A
  /// zero has the sign of b.
  void modulo(const Names& inputs, const std::string& to, DType dtype, GraphWriter& graph) {
    const std::string &a = inputs[0], &b = inputs[1], zero = number(graph, 0, dtype);
    const std::string rest =
        op(graph, "Mod", {a, b}, {GraphWriter::attribute("fmod", std::int64_t{1})});
    const std::string differs =
        op(graph, "Xor", {op(graph, "Less", {rest, zero}), op(graph, "Less", {b, zero})});
    const std::string mended = op(graph, "Where", {differs, op(graph, "Add", {rest, b}), rest});
    const std::string signed_zero = op(graph, "Mul", {op(graph, "Sign", {b}), zero});
    graph.node("Where", {op(graph, "Equal", {rest, zero}), signed_zero, mended}, {to}, {});
  }

  /// log(u) x / (u - 1) with u = 1 + x, whose roundings cancel; x where that is 1, and log(u) where
  /// both may be infinite.
  void log1p(const std::string& x, const std::string& to, DType dtype, GraphWriter& graph) {
    const std::string one = number(graph, 1, dtype), above = op(graph, "Add", {x, one});
    const std::string far = op(graph, "Log", {above});
    const std::string ratio = op(graph, "Div", {x, op(graph, "Sub", {above, one})});
    const std::string near =
        op(graph, "Where", {op(graph, "Equal", {above, one}), x, op(graph, "Mul", {far, ratio})});
    graph.node("Where", {op(graph, "Less", {x, one}), near, far}, {to}, {});
  }

  static const Attr& attr(const Node& node, std::string_view name) {
    return node.attrs[static_cast<std::size_t>(node.op->attr_index(name))];
  }

  static std::vector<std::string> attributes_of(const Node& node) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < node.attrs.size(); ++i) {
      const std::string name(node.op->attrs[i].name);
      const Attr& value = node.attrs[i];
      switch (value.kind()) {
        case tensor::AttrKind::integer:
          all.push_back(GraphWriter::attribute(name, value.integer()));
          break;
        case tensor::AttrKind::real:
          all.push_back(GraphWriter::attribute(name, value.real()));
          break;
        case tensor::AttrKind::text:
          all.push_back(text_attribute(name, value.text()));
          break;
        case tensor::AttrKind::integers:
          all.push_back(GraphWriter::attribute(name, value.integers()));
          break;
        case tensor::AttrKind::none:
        case tensor::AttrKind::reals:
        case tensor::AttrKind::tensor:
        case tensor::AttrKind::dtype:
          break;
      }
    }
    return all;
  }

  static std::string text_attribute(const std::string& name, const std::string& text) {
    static const std::map<std::string, std::string> kAutoPads = {{"explicit", "NOTSET"},
                                                                 {"same_upper", "SAME_UPPER"},
                                                                 {"same_lower", "SAME_LOWER"},
                                                                 {"valid", "VALID"}};
    if (name != "auto_pad") return GraphWriter::attribute(name, text);
    return GraphWriter::attribute(name, kAutoPads.at(text));
  }

  // --- loops and branches

  /// What a body reads of the outside has its outer name there: bodies see the names around them.
  void loop(const Node& node, NodeId id, GraphWriter& graph) {
    const ir::LoopPorts& ports = *node.loop;
    for (const ir::ScannedPort& port : ports.scanned)
      if (port.part != 1) missing_.insert(module_.describe(id) + " scans parts of a sequence");
    for (const ir::StackedPort& port : ports.stacked)
      if (!port.insert) missing_.insert(module_.describe(id) + " concatenates rows");
    if (!ports.has_trip_count && !ports.scanned.empty()) {
      missing_.insert(module_.describe(id) + " has no trip count");
      return;
    }
    const GraphWriter body = loop_body(node);
    Names inputs{ports.has_trip_count ? name(node.inputs[0]) : "",
                 ports.has_condition ? name(node.inputs[ports.has_trip_count ? 1 : 0])
                                     : constant(graph, Tensor::scalar(true))};
    if (ports.has_trip_count && type(node.inputs[0]).rank() != 0)
      inputs[0] = op(graph, "Squeeze", {inputs[0]});
    for (std::uint32_t i = 0; i < ports.carried; ++i)
      inputs.push_back(name(node.inputs[ports.first_carried_input() + i]));
    Names outputs;
    for (std::uint32_t i = 0; i < ports.carried; ++i) outputs.push_back(name(node.outputs[i]));
    Names stacked;
    for (std::uint32_t i = 0; i < ports.stacked.size(); ++i) {
      stacked.push_back(fresh());
      outputs.push_back(stacked.back());
    }
    if (outputs.empty()) outputs.push_back(fresh());
    graph.node("Loop", inputs, outputs, {GraphWriter::attribute("body", body)});
    for (std::uint32_t i = 0; i < ports.stacked.size(); ++i)
      arrange(ports.stacked[i], node.outputs[ports.carried + i], stacked[i], graph);
  }

  GraphWriter loop_body(const Node& node) {
    const ir::LoopPorts& ports = *node.loop;
    const ir::Region& region = module_.region(node.regions[0]);
    GraphWriter body;
    const std::string step = fresh(), before = fresh();
    body.input(step, tensor::Type::scalar(DType::i64), module_.dims);
    body.input(before, tensor::Type::scalar(DType::boolean), module_.dims);
    for (std::uint32_t i = 0; i < ports.captured; ++i)
      name(region.args[i]) = name(node.inputs[ports.first_captured_input() + i]);
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      const ValueId arg = region.args[ports.captured + i];
      name(arg) = fresh();
      body.input(name(arg), type(arg), module_.dims);
    }
    for (std::uint32_t i = 0; i < ports.scanned.size(); ++i)
      name(region.args[ports.captured + ports.carried + i]) =
          slice(ports.scanned[i], name(node.inputs[ports.first_scanned_input() + i]), step, body);
    nodes(node.regions[0], body);
    const std::string going = fresh();
    body.node(
        "Identity",
        {ports.has_keep_going ? name(region.yields[0]) : constant(body, Tensor::scalar(true))},
        {going}, {});
    body.output(going, tensor::Type::scalar(DType::boolean), module_.dims);
    for (std::size_t i = ports.first_carried_yield(); i < region.yields.size(); ++i) {
      const std::string made = op(body, "Identity", {name(region.yields[i])});
      body.output(made, type(region.yields[i]), module_.dims);
    }
    return body;
  }

  std::string slice(const ir::ScannedPort& port, const std::string& rows, const std::string& step,
                    GraphWriter& body) {
    std::string index = step;
    if (port.stride != 1)
      index = op(body, "Mul", {index, constant(body, Tensor::scalar(port.stride))});
    if (port.start != 0)
      index = op(body, "Add", {index, constant(body, Tensor::scalar(port.start))});
    if (!port.squeeze) index = op(body, "Unsqueeze", {index, constant(body, integers({0}))});
    return op(body, "Gather", {rows, index}, {GraphWriter::attribute("axis", port.axis)});
  }

  /// Rows that Loop stacks along the first axis, in the order of the steps.
  void arrange(const ir::StackedPort& port, ValueId to, const std::string& rows,
               GraphWriter& graph) {
    std::string now = rows;
    if (port.reverse) {
      constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::min() + 1;
      now = op(graph, "Slice",
               {now, constant(graph, integers({-1})), constant(graph, integers({kFar})),
                constant(graph, integers({0})), constant(graph, integers({-1}))});
    }
    std::vector<std::int64_t> order;
    for (std::int64_t axis = 1; axis < type(to).rank(); ++axis) order.push_back(axis);
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(port.axis), 0);
    if (port.axis != 0)
      now = op(graph, "Transpose", {now}, {GraphWriter::attribute("perm", order)});
    graph.node("Identity", {now}, {name(to)}, {});
  }

  void branch(const Node& node, GraphWriter& graph) {
    std::vector<std::string> sides;
    const char* const words[] = {"then_branch", "else_branch"};
    for (std::size_t side = 0; side < 2; ++side) {
      const ir::Region& region = module_.region(node.regions[side]);
      GraphWriter body;
      for (std::size_t i = 0; i < region.args.size(); ++i)
        name(region.args[i]) = name(node.inputs[i + 1]);
      nodes(node.regions[side], body);
      for (const ValueId yield : region.yields) {
        const std::string made = op(body, "Identity", {name(yield)});
        body.output(made, type(yield), module_.dims);
      }
      sides.push_back(GraphWriter::attribute(words[side], body));
    }
    Names outputs;
    for (const ValueId output : node.outputs) outputs.push_back(name(output));
    graph.node("If", {name(node.inputs[0])}, outputs, sides);
  }

  const Module& module_;
  std::vector<std::string> names_;
  std::size_t count_ = 0;
  std::set<std::string> missing_;
};

}  // namespace

Expected<WrittenModel> write_model(const ir::Module& module, const exporters::WriteOptions& options,
                                   const DataFile&) {
  SCANLOOM_TRY(std::string bytes, ModelWriter(module).write(options));
  return WrittenModel{std::move(bytes), {}};
}

}  // namespace scanloom::onnx
