#include "exporters/openvino/write.h"

namespace scanloom::openvino {

Expected<WrittenModel> write_model(const ir::Module& module, const exporters::WriteOptions&) {
  return fail(Code::unsupported, "{} cannot be written yet", module.name);
}

}  // namespace scanloom::openvino
