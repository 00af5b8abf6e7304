#include "expr/apply.h"

#include <algorithm>

#include "base/assert.h"
#include "base/fp_environment.h"
#include "expr/complex_rules.h"
#include "expr/stable.h"
#include "expr/types.h"
#include "ir/infer_node.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

using tensor::Attr;
using tensor::Dim;
using tensor::DimTable;
using tensor::Type;

/// Sizes that are known only at run time are unrelated here; lowering relates them.
Type ir_type(const StaticType& type, DimTable& dims) {
  std::vector<Dim> sizes;
  for (const std::int64_t size : type.sizes) sizes.push_back(size < 0 ? dims.fresh() : Dim(size));
  return Type::of(type.dtype, std::move(sizes));
}

Expected<StaticType> static_type(const ir::OpDef& op, const Type& type) {
  if (!type.is_tensor()) return fail(Code::unsupported, "{} has no tensor result", op.name);
  if (!type.ranked)
    return fail(Code::invalid_argument, "the rank of {}'s result is unknown", op.name);
  StaticType result{type.dtype, {}};
  for (const Dim dim : type.dims) result.sizes.push_back(dim.is_constant() ? dim.value() : -1);
  return result;
}

/// `of_parts`: with one part of each complex operand instead of the operand.
Expected<std::vector<StaticType>> infer(const ir::OpDef& op, std::span<const Expr> inputs,
                                        std::span<const Attr> attrs, std::size_t outputs,
                                        bool of_parts) {
  const FpEnvironment environment;  // constants may be computed with
  DimTable dims;
  std::vector<Type> types(inputs.size());
  std::vector<std::shared_ptr<const ir::Known>> known(inputs.size());
  std::vector<const Type*> type_at(inputs.size(), nullptr);
  std::vector<const ir::Known*> known_at(inputs.size(), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    types[i] = ir_type(type_of(inputs[i]), dims);
    const bool is_part = of_parts && is_complex(types[i].dtype);
    if (is_part) types[i].dtype = part_of(types[i].dtype);
    type_at[i] = &types[i];
    const Node& node = *inputs[i].node();
    if (node.kind == Kind::constant && !is_part) known[i] = ir::known_tensor(node.value);
    known_at[i] = known[i].get();
  }
  SCANLOOM_TRY(const ir::NodeTypes inferred,
               ir::infer_node(op, type_at, known_at, attrs, outputs, dims));
  std::vector<StaticType> results;
  for (const Type& type : inferred.types) {
    SCANLOOM_TRY(StaticType result, static_type(op, type));
    results.push_back(std::move(result));
  }
  return results;
}

/// Infers types of operators on complex numbers (expr/complex_rules.h).
Expected<std::vector<StaticType>> infer_complex(const ir::OpDef& op, std::span<const Expr> inputs,
                                                const std::vector<Attr>& attrs,
                                                std::size_t outputs) {
  SCANLOOM_TRY(const ComplexRow* row, complex_row(op, attrs));
  std::vector<Attr> of_parts = attrs;
  for (Attr& attr : of_parts)
    if (attr.kind() == tensor::AttrKind::dtype) attr = part_of(attr.dtype());
  SCANLOOM_TRY(std::vector<StaticType> types, infer(op, inputs, of_parts, outputs, true));
  for (StaticType& type : types) {
    if (row->result == ComplexResult::complex) type.dtype = complex_of(type.dtype);
    if (row->result == ComplexResult::as_said) type.dtype = attrs[0].dtype();
  }
  return types;
}

/// Names the operator as errors do: a reduction by what it computes.
std::string operator_word(const ir::OpDef& op, const std::vector<Attr>& attrs) {
  if (&op == &ops::contract_op) return "product";
  const bool is_named = &op == &ops::reduce_op && attrs[0].kind() == tensor::AttrKind::text;
  return is_named ? attrs[0].text() : std::string(op.name);
}

std::string operands(std::span<const Expr> inputs) {
  std::string text;
  for (const Expr& x : inputs) {
    if (!x.defined()) continue;
    text += (text.empty() ? "" : " and ") + describe(x);
    if (!x.name().empty()) text += " " + to_string(type_of(x));
  }
  return text;
}

/// Returns the operands whose elements make the result's; others are conditions, indices and sizes.
std::span<const Expr> elements_of(const ir::OpDef& op, std::span<const Expr> inputs) {
  if (&op == &ops::where_op) return inputs.subspan(1);
  static const ir::OpDef* const kOfFirst[] = {&ops::expand_op, &ops::gather_op, &ops::reshape_op,
                                              &ops::slice_op};
  return std::ranges::find(kOfFirst, &op) == std::end(kOfFirst) ? inputs : inputs.first(1);
}

/// Whether the result is made only of numbers, and the steps of a loop have yet to give one of them
/// a type.
bool is_weak(const ir::OpDef& op, std::span<const Expr> inputs) {
  bool open = false;
  for (const Expr& x : elements_of(op, inputs)) {
    if (!x.defined()) continue;
    if (!x.node()->weak) return false;
    open |= x.node()->kind != Kind::constant;
  }
  return open;
}

/// `any_form`: the node may have a stable form.
std::vector<Expr> made(const ir::OpDef& op, std::vector<Expr> inputs, std::vector<Attr> attrs,
                       std::size_t outputs, bool any_form) {
  if (const Expr* bad = first_failed(inputs)) return std::vector(outputs, *bad);
  for (std::size_t i = 0; i < std::max(inputs.size(), op.inputs.size()); ++i) {
    // The last operand may be variadic.
    const ir::OperandDef& operand = op.inputs[std::min(i, op.inputs.size() - 1)];
    const bool variadic = operand.arity == ir::Arity::variadic;
    const bool needed = operand.arity == ir::Arity::one || (variadic && i < inputs.size());
    if (needed && (i >= inputs.size() || !inputs[i].defined()))
      return std::vector(outputs, failed(fail(Code::invalid_argument, "{}: operand '{}' is missing",
                                              op.name, operand.name)));
  }
  // Only bits of leaves are read as complex numbers; lowering takes these apart.
  const bool is_plain = &op == &ops::bit_cast_op || !is_complex_use(op, inputs, attrs);
  auto types = is_plain ? infer(op, inputs, attrs, outputs, false)
                        : infer_complex(op, inputs, attrs, outputs);
  if (!types) {
    const Error& error = types.error();
    Error told = fail(Code::invalid_argument, "{} of {}: {}", operator_word(op, attrs),
                      operands(inputs), error.text());
    for (const std::string& note : error.notes()) told.note(note);
    return std::vector(outputs, failed(std::move(told)));
  }
  // Made first, so that ids remain a topological order.
  auto stable = any_form && outputs == 1 ? stable_form(op, inputs, attrs, types->front()) : nullptr;
  auto node = std::make_shared<Node>(Kind::op, *std::move(types));
  node->op = &op;
  node->stable = std::move(stable);
  node->weak = is_weak(op, inputs);
  node->inputs = std::move(inputs);
  node->attrs = std::move(attrs);
  std::vector<Expr> results;
  for (std::uint32_t i = 0; i < outputs; ++i) results.emplace_back(node, i);
  return results;
}

}  // namespace

std::vector<Expr> apply_attrs(const ir::OpDef& op, std::vector<Expr> inputs,
                              std::vector<Attr> attrs, std::size_t outputs) {
  return made(op, std::move(inputs), std::move(attrs), outputs, true);
}

Expr apply_as_written(const ir::OpDef& op, std::vector<Expr> inputs) {
  return made(op, std::move(inputs), std::vector<Attr>(op.attrs.size()), 1, false).front();
}

std::vector<Expr> apply_all(const ir::OpDef& op, std::vector<Expr> inputs,
                            std::vector<NamedAttr> attrs, std::size_t outputs) {
  std::vector<Attr> ordered(op.attrs.size());
  for (NamedAttr& attr : attrs) {
    const int at = op.attr_index(attr.name);
    SCANLOOM_ASSERT(at >= 0);
    ordered[static_cast<std::size_t>(at)] = std::move(attr.value);
  }
  return apply_attrs(op, std::move(inputs), std::move(ordered), outputs);
}

Expr apply(const ir::OpDef& op, std::vector<Expr> inputs, std::vector<NamedAttr> attrs) {
  return apply_all(op, std::move(inputs), std::move(attrs), 1).front();
}

Expr told_as(Expr made, const std::string& words) {
  if (made.error() == nullptr && made.node()->kind == Kind::op && made.node()->location.empty())
    made.node()->location = words;
  return made;
}

std::string called(const Expr& x) {
  if (!x.defined() || !x.name().empty()) return describe(x);
  const Node& node = *x.node();
  if (node.kind == Kind::constant) return "a constant";
  if (node.op == nullptr) return "a variable";
  if (node.part != nullptr && !node.part->whole.name().empty())
    return "a part of " + describe(node.part->whole);
  if (node.op->name == "cast" || node.op->name == "identity") return called(node.inputs[0]);
  if (node.loop && !node.location.empty()) return "the result of " + node.location;
  // Only the first of the words, or they would grow from node to node.
  const std::size_t of = node.location.find(" of ");
  const bool short_words = of != std::string::npos && of == node.location.find(' ');
  return "the result of " +
         (short_words ? node.location.substr(0, of) : std::string(node.op->name));
}

Expr integers(const std::vector<std::int64_t>& values) {
  return constant_of(
      tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

Expr integer(std::int64_t value) { return constant_of(tensor::Tensor::scalar(value)); }

}  // namespace scanloom::expr
