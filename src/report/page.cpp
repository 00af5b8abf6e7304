#include "report/json.h"
#include "report/report.h"

// The build puts the page together (cmake/ScanloomReport.cmake). It is a part of the library, so
// that nothing has to be found at run time.
#ifdef SCANLOOM_REPORT_PAGE
// A comment with the page's digest: a compiler cache compares headers, but no files of .incbin.
#include SCANLOOM_REPORT_PAGE_DIGEST
asm(R"(
  .pushsection .rodata
  .global scanloom_report_page
  .hidden scanloom_report_page
scanloom_report_page:
  .incbin ")" SCANLOOM_REPORT_PAGE R"("
  .global scanloom_report_page_end
  .hidden scanloom_report_page_end
scanloom_report_page_end:
  .byte 0
  .popsection
)");

extern "C" {
extern const char scanloom_report_page[];
extern const char scanloom_report_page_end[];
}
#endif

namespace scanloom::report {
namespace {

/// The place for the data, which the page has exactly once, as the build checks.
constexpr std::string_view kDataMark = "@SCANLOOM_REPORT_DATA@";

std::string_view empty_page() {
#ifdef SCANLOOM_REPORT_PAGE
  return {scanloom_report_page,
          static_cast<std::size_t>(scanloom_report_page_end - scanloom_report_page)};
#else
  return {};
#endif
}

}  // namespace

Expected<std::string> page(std::string_view data) {
  const std::string_view empty = empty_page();
  const std::size_t mark = empty.find(kDataMark);
  if (mark == std::string_view::npos)
    return fail(Code::unsupported, "this library was built without the page of reports")
        .note(
            "building it needs Debian's node-d3 and netron from the Python package index; the "
            "data of a report are there without them");
  std::string text;
  if (!Json::accept(data))
    return fail(Code::invalid_argument, "the data of the report are not JSON");
  const std::string json = without_markup(data);
  text.reserve(empty.size() + json.size());
  text += empty.substr(0, mark);
  text += json;
  text += empty.substr(mark + kDataMark.size());
  return text;
}

}  // namespace scanloom::report
