// Walks the axes of each nest in the order in which vectors cost least.
#include "loopnest/axis_order.h"
#include "loopnest/pass.h"

namespace scanloom::loopnest {

void order_axes(BodyParts& body) {
  for (Part& part : body.parts)
    if (part.is_nest() || part.statement.kind == Statement::Kind::dynamic_slice)
      choose_axis_order(part.statement.nest);
}

}  // namespace scanloom::loopnest
