// The three operators that are part of the IR itself. The driver (infer.cpp) infers their types.
#include "ir/op_def.h"

namespace scanloom::ir {

int OpDef::attr_index(std::string_view attr_name) const {
  int index = 0;
  for (const AttrDef& attr : attrs) {
    if (attr.name == attr_name) return index;
    ++index;
  }
  return -1;
}

constinit const OpDef loop_op{
    .name = "loop",
    .doc = "Runs its body step by step; the ports say what passes between the steps and outside.",
    .inputs = {{.name = "operands", .accept = Accept::any, .arity = Arity::variadic}},
    .outputs = {"results..."},
};

constinit const OpDef branch_op{
    .name = "branch",
    .doc = "Runs the first of its two regions if the condition holds, else the second.",
    .inputs = {{.name = "condition", .accept = Accept::boolean},
               {.name = "captured", .accept = Accept::any, .arity = Arity::variadic}},
    .outputs = {"results..."},
};

constinit const OpDef constant_op{
    .name = "constant",
    .doc = "A tensor that is part of the module.",
    .outputs = {"value"},
    .attrs = {{.name = "value", .kind = tensor::AttrKind::tensor}},
};

}  // namespace scanloom::ir
