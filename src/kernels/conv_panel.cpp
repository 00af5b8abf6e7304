#include "kernels/conv_panel.h"

#include "kernels/isa_tables.h"

namespace scanloom::kernels {

#if defined(__x86_64__)
namespace N_SSE4 {
extern const ConvPanelTables kConvPanelTables;
}
namespace N_AVX2 {
extern const ConvPanelTables kConvPanelTables;
}
namespace N_AVX3 {
extern const ConvPanelTables kConvPanelTables;
}

const ConvPanelTables& conv_panel_tables(Isa isa) {
  return table_for(isa, N_SSE4::kConvPanelTables, N_AVX2::kConvPanelTables,
                   N_AVX3::kConvPanelTables);
}
#else
namespace N_NEON {
extern const ConvPanelTables kConvPanelTables;
}

const ConvPanelTables& conv_panel_tables(Isa) { return N_NEON::kConvPanelTables; }
#endif

}  // namespace scanloom::kernels
