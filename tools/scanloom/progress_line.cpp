#include "progress_line.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include "plain_text.h"
#include "utf8.h"

namespace scanloom::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenDrawings{100};
/// Seconds below which the time so far says little about the rest.
constexpr double kMinSecondsForEstimate = 0.5;

struct Line {
  std::mutex mutex;
  bool is_drawn = false;
};

Line& line() {
  static Line one;
  return one;
}

/// Draws the name of the work and the seconds so far, every second until it is stopped.
void draw_seconds(const std::stop_token& stop, const std::string& what) {
  std::mutex mutex;
  std::condition_variable_any ended;
  std::unique_lock lock(mutex);
  for (int seconds = 1;; ++seconds) {
    ended.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
    if (stop.stop_requested()) return erase_line();
    draw_line(what + ", " + std::to_string(seconds) + " s");
  }
}

/// Zero if the terminal does not say.
std::size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string fitted(const std::string& text, std::size_t columns) {
  constexpr std::string_view kGap = "...";
  std::vector<std::size_t> letters;  // where each begins
  for (std::size_t at = 0; at < text.size(); at += first_letter(&text[at]).bytes)
    letters.push_back(at);
  // A letter in the last column would move the cursor to the next line on some terminals.
  if (columns == 0 || letters.size() < columns) return text;
  if (columns <= kGap.size() + 2) return {};
  const std::size_t kept = columns - 1 - kGap.size(), head = kept / 3;
  return text.substr(0, letters[head]) + std::string(kGap) +
         text.substr(letters[letters.size() - (kept - head)]);
}

bool draws_lines() {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  return terminal;
}

void draw_line(const std::string& text) {
  if (!draws_lines()) return;
  const std::scoped_lock lock(line().mutex);
  std::fprintf(stderr, "\r\x1b[K%s", fitted(plain_line(text), terminal_columns()).c_str());
  line().is_drawn = true;
}

void erase_line() {
  if (!draws_lines()) return;
  const std::scoped_lock lock(line().mutex);
  if (std::exchange(line().is_drawn, false)) std::fputs("\r\x1b[K", stderr);
}

std::string left_text(double share, double seconds) {
  if (!(share > 0) || seconds < kMinSecondsForEstimate) return {};
  const double left = std::max(0.0, seconds / std::min(share, 1.0) - seconds);
  if (!(left < 1e9)) return {};
  const auto whole = static_cast<long long>(std::ceil(left));
  if (whole < 60) return std::to_string(whole) + " s left";
  const std::string minutes = std::to_string(whole / 60 % 60) + " min ";
  if (whole < 3600) return minutes + std::to_string(whole % 60) + " s left";
  return std::to_string(whole / 3600) + " h " + minutes + "left";
}

Waiting::Waiting(std::string what) {
  if (!draws_lines()) return;
  try {
    thread_ = std::jthread(draw_seconds, std::move(what));
  } catch (const std::system_error&) {
    // The work does not fail because no more threads can be started to show it.
  }
}

Waiting::~Waiting() = default;  // stops and joins the thread

Repeats::Repeats(std::int64_t runs, double seconds)
    : runs_(runs), seconds_(seconds), is_drawn_(draws_lines()) {}

Repeats::~Repeats() { erase_line(); }

void Repeats::end_of_run() {
  ++done_;
  if (!is_drawn_ || done_ == runs_) return;
  const Clock::time_point now = Clock::now();
  if (now - drawn_ < kBetweenDrawings) return;
  drawn_ = now;
  draw(run_text(), 0);
}

void Repeats::within(const Progress& progress) const {
  if (!is_drawn_) return;
  char steps[96];
  double of_run = 0;
  if (progress.steps > 0) {
    of_run = static_cast<double>(progress.step) / static_cast<double>(progress.steps);
    std::snprintf(steps, sizeof steps, "  %3.0f%%  %lld of %lld steps", 100.0 * of_run,
                  static_cast<long long>(progress.step), static_cast<long long>(progress.steps));
  } else {
    std::snprintf(steps, sizeof steps, "  %lld steps", static_cast<long long>(progress.step));
  }
  draw(std::string(progress.node) + steps + (runs_ == 1 ? "" : ", " + run_text()), of_run);
}

double Repeats::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Repeats::draw(const std::string& text, double of_run) const {
  const double seconds = elapsed();
  const double share = runs_ > 0
                           ? (static_cast<double>(done_) + of_run) / static_cast<double>(runs_)
                           : seconds / seconds_;
  const std::string left = left_text(share, seconds);
  draw_line(left.empty() ? text : text + ", " + left);
}

std::string Repeats::run_text() const {
  const std::string number = "run " + std::to_string(done_ + 1);
  return runs_ > 0 ? number + " of " + std::to_string(runs_) : number;
}

}  // namespace scanloom::cli
