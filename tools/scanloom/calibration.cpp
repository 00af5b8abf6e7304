#include "calibration.h"

#include "failure.h"

namespace scanloom::cli {

MachineFigures calibrated() {
  MachineFigures figures = calibrate().value_or_throw();
  if (!figures.why_not_saved.empty())
    warn("the measurements of this machine are not saved: " + figures.why_not_saved +
         "; the environment variable SCANLOOM_MACHINE can name another file");
  return figures;
}

}  // namespace scanloom::cli
