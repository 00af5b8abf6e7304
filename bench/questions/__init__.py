"""One file per question. Each has questions(place, clock), which yields harness.Question values or
raises harness.Skip with the reason why it cannot be asked."""
