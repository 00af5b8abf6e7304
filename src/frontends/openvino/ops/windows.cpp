#include "frontends/openvino/ops/windows.h"

#include "opmath/conv_geometry.h"

namespace scanloom::openvino {

std::vector<ir::NamedAttr> Windows::attributes() const {
  std::vector<ir::NamedAttr> attrs = {{"auto_pad", padding}};
  if (!dilations.empty()) attrs.push_back({"dilations", dilations});
  if (!strides.empty()) attrs.push_back({"strides", strides});
  if (padding != "explicit" || begin.empty()) return attrs;
  std::vector<std::int64_t> pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  attrs.push_back({"pads", std::move(pads)});
  return attrs;
}

Expected<Windows> windows_of(LayerCtx& ctx) {
  Windows windows;
  SCANLOOM_TRY(windows.padding,
               ctx.attributes.choice("auto_pad", "explicit",
                                     {"explicit", "notset", "same_upper", "same_lower", "valid"}));
  SCANLOOM_TRY(windows.strides, ctx.attributes.integers("strides"));
  SCANLOOM_TRY(windows.dilations, ctx.attributes.integers("dilations"));
  if (windows.padding == "valid" || windows.padding == "notset") {
    const bool has_pads = windows.padding == "notset";
    windows.padding = "explicit";
    if (!has_pads) return windows;
  }
  SCANLOOM_TRY(windows.begin, ctx.attributes.integers("pads_begin"));
  SCANLOOM_TRY(windows.end, ctx.attributes.integers("pads_end"));
  if (windows.begin.size() != windows.end.size())
    return invalid_model("attribute 'pads_begin' has {} numbers, 'pads_end' has {}",
                         windows.begin.size(), windows.end.size());
  return windows;
}

Expected<void> complete(Windows& windows, std::size_t axes) {
  struct List {
    const char* name;
    std::vector<std::int64_t>* values;
    std::int64_t usual;
  };
  for (const List& list :
       {List{"strides", &windows.strides, 1}, List{"dilations", &windows.dilations, 1},
        List{"pads_begin", &windows.begin, 0}, List{"pads_end", &windows.end, 0}}) {
    if (list.values->empty()) list.values->assign(axes, list.usual);
    if (list.values->size() != axes)
      return invalid_model("attribute '{}' has {} numbers for {} axes", list.name,
                           list.values->size(), axes);
    for (const std::int64_t value : *list.values)
      if (value < list.usual || value >= tensor::kMaxParameter)
        return invalid_model("attribute '{}' has {}, outside [{}, {})", list.name, value,
                             list.usual, tensor::kMaxParameter);
  }
  return {};
}

}  // namespace scanloom::openvino
