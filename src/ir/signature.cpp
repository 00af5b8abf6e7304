#include "ir/signature.h"

namespace scanloom::ir {
namespace {

using tensor::AttrKind;
using tensor::DimTable;
using tensor::Type;

const char* accept_text(Accept accept) {
  switch (accept) {
    case Accept::any:
      return "any value";
    case Accept::tensor:
      return "a tensor";
    case Accept::numeric:
      return "a numeric tensor";
    case Accept::real:
      return "a floating-point tensor";
    case Accept::integer:
      return "an integer tensor";
    case Accept::boolean:
      return "a boolean tensor";
    case Accept::boolean_or_integer:
      return "a boolean or integer tensor";
    case Accept::index:
      return "an i64 or i32 tensor";
    case Accept::text:
      return "a string tensor";
    case Accept::sequence:
      return "a sequence";
    case Accept::optional:
      return "an optional";
    case Accept::map:
      return "a map";
  }
  return "";
}

const char* kind_text(AttrKind kind) {
  switch (kind) {
    case AttrKind::none:
      return "nothing";
    case AttrKind::integer:
      return "an integer";
    case AttrKind::real:
      return "a float";
    case AttrKind::text:
      return "a string";
    case AttrKind::integers:
      return "a list of integers";
    case AttrKind::floats:
      return "a list of floats";
    case AttrKind::tensor:
      return "a tensor";
    case AttrKind::dtype:
      return "an element type";
  }
  return "";
}

Expected<void> check_attrs(const OpDef& op, std::span<const tensor::Attr> attrs) {
  if (attrs.size() != op.attrs.size())
    return invalid_model("{} has {} attributes, but {} are given", op.name, op.attrs.size(),
                         attrs.size());
  std::size_t i = 0;
  for (const AttrDef& def : op.attrs) {
    const AttrKind kind = attrs[i++].kind();
    if (kind == AttrKind::none && !def.optional)
      return invalid_model("attribute '{}' of {} is missing", def.name, op.name);
    if (kind != AttrKind::none && kind != def.kind)
      return invalid_model("attribute '{}' of {} must be {}, not {}", def.name, op.name,
                           kind_text(def.kind), kind_text(kind));
  }
  return {};
}

/// The definition of operand i; a variadic last one covers all further operands.
const OperandDef* operand_def(const OpDef& op, std::size_t i) {
  if (op.inputs.size() == 0) return nullptr;
  if (i < op.inputs.size()) return op.inputs.begin() + i;
  const OperandDef* last = op.inputs.end() - 1;
  return last->arity == Arity::variadic ? last : nullptr;
}

Expected<void> check_operand(const OpDef& op, std::size_t i, const OperandDef& def,
                             std::span<const Type* const> types, const DimTable& dims) {
  const Type& type = *types[i];
  if (!accepts(def.accept, type))
    return invalid_model("operand {} '{}' of {} must be {}, not {}", i, def.name, op.name,
                         accept_text(def.accept), to_string(type, dims));
  if (def.same_as < 0 || static_cast<std::size_t>(def.same_as) >= types.size()) return {};
  const auto other = static_cast<std::size_t>(def.same_as);
  if (types[other] != nullptr && types[other]->dtype != type.dtype)
    return invalid_model("operand {} '{}' of {} is {}, but operand {} is {}", i, def.name, op.name,
                         dtype_name(type.dtype), other, dtype_name(types[other]->dtype));
  return {};
}

}  // namespace

bool accepts(Accept accept, const Type& type) {
  if (accept == Accept::any) return true;
  if (!type.is_tensor()) {
    const tensor::Wrap outer = type.wraps.front();
    if (tensor::is_map(outer)) return accept == Accept::map;
    return accept == (outer == tensor::Wrap::sequence ? Accept::sequence : Accept::optional);
  }
  switch (accept) {
    case Accept::any:
    case Accept::tensor:
      return true;
    case Accept::numeric:
      return is_floating_point(type.dtype) || is_integer(type.dtype);
    case Accept::real:
      return is_floating_point(type.dtype);
    case Accept::integer:
      return is_integer(type.dtype);
    case Accept::boolean:
      return type.dtype == DType::boolean;
    case Accept::boolean_or_integer:
      return type.dtype == DType::boolean || is_integer(type.dtype);
    case Accept::index:
      return type.dtype == DType::i64 || type.dtype == DType::i32;
    case Accept::text:
      return type.dtype == DType::string;
    case Accept::sequence:
    case Accept::optional:
    case Accept::map:
      return false;
  }
  return false;
}

Expected<void> check_signature(const OpDef& op, std::span<const Type* const> types,
                               std::span<const tensor::Attr> attrs, const DimTable& dims) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    const OperandDef* def = operand_def(op, i);
    if (def == nullptr)
      return invalid_model("{} takes {} operands, but {} are given", op.name, op.inputs.size(),
                           types.size());
    if (types[i] != nullptr) SCANLOOM_CHECK_OK(check_operand(op, i, *def, types, dims));
  }
  std::size_t i = 0;
  for (const OperandDef& def : op.inputs) {
    if (def.arity == Arity::one && (i >= types.size() || types[i] == nullptr))
      return invalid_model("operand {} '{}' of {} is missing", i, def.name, op.name);
    ++i;
  }
  return check_attrs(op, attrs);
}

}  // namespace scanloom::ir
