"""Words and phrases that must not come back, each with what to write instead.

One row per idea. A row with `enforced=False` may still have occurrences, which `check_words.py --all`
counts; enforce it once the count is zero.
"""

import re
from dataclasses import dataclass, field

CODE = r"^(src|include|tools/scanloom|python/src|tests|bench|examples)/.*\.(h|c|cpp|inc)$"
SOURCES = r"^(src|include|tools/scanloom|python/src)/.*\.(h|c|cpp|inc)$"
HEADERS = r"^(src|include)/.*\.(h|inc)$"
TEXTS = r"\.(h|c|cpp|inc|py|pyi|md|ir|txt|cmake|sh|js|css|html|toml)$|(^|/)Makefile$"
PROSE = r"\.md$"

# Files that may contain the old words: data of others, history, former names of passes, this list.
EXEMPT = re.compile(
    r"^(tests/data/|CHANGELOG\.md$|src/passes/former_names\.h$|tools/dev/banned_words\.py$"
    r"|tests/dev/test_check_words\.py$)"
)


@dataclass(frozen=True)
class Ban:
    pattern: str
    write: str
    where: str = TEXTS
    enforced: bool = True
    regex: re.Pattern = field(init=False, compare=False, repr=False)
    paths: re.Pattern = field(init=False, compare=False, repr=False)

    def __post_init__(self):
        object.__setattr__(self, "regex", re.compile(self.pattern, re.M))
        object.__setattr__(self, "paths", re.compile(self.where))

    def applies_to(self, path: str) -> bool:
        return self.paths.search(path) is not None and EXEMPT.search(path) is None


BANS = (
    # Names.
    Ban(r"\bkMost(?=[A-Z\W])", "kMax...", CODE),
    Ban(r"\bkLeast(?=[A-Z\W])", "kMin...", CODE),
    Ban(r"\w*(?<![a-z])[Bb]oxed\w*", "dynamic (a size that only the run knows) or object (sequence, string)", CODE),
    Ban(r"\bBox(Ref|Kind|edCall|edFn)\b", "ObjectRef, ObjectKind, ObjectCall, ObjectFn", CODE),
    Ban(r"\bPlaceId\b|\badd_place\b|\b(set|merge|copy)_places?\b|\bir::Place\b", "location", CODE),
    Ban(r"\bexpr::Places?\b|\bexpr/places\b", "RegionAssignment", CODE),
    Ban(
        r"\b(contract|tile|strip|make|share|products|node|bytes|bind)_beside\b|\b(Product|Tile|Contract)Beside\b",
        "pipelined_...: an input projection that is computed while weights stream",
    ),
    Ban(r"\w*side_by_side\w*|\bSideBySide\w*", "parallel_steps, or interleaved", CODE),
    Ban(r"\bsteps_to_look\b|\blook_(if_due|now|behind|in_step)\b|\bkSpentBetweenLooks\b", "poll", CODE),
    Ban(r"\bOp::(look|spend|fault|section)\b", "Op::poll, charge, trap, outlined_region", CODE),
    Ban(r"\bemit_spend\b|\bspends?_(side|time_?)\b", "charge", CODE),
    Ban(r"\btell_(numbers|indices|strides|loop|move|pick)\b|\b(is_told|told_(number|index))\b|\bkMostTold\b",
        "parametrize, parameter", CODE),
    Ban(r"\bruntime/choices\b|\bmost_choices\b", "shape cache", CODE),
    Ban(r"\bBoundSection\b|\b(compile|find|describe|run)_sections?\b", "outlined region", CODE),
    Ban(r"\bjudge_\w+", "..._legality, is_legal", CODE),
    Ban(r"\b(then|else|only)_side\b|\bBranchSides\b", "region: then_region, else_region", CODE),
    Ban(
        r"\b(spell_(out|softmax|window)\w*|inline_short_loop|turn_captured|split_states|fewer_steps|keep_local"
        r"|merge_loops|widen_halves)\b",
        "decompose_..., unroll_short_loop, pretranspose_captured, scalarize_states, trim_trip_count, "
        "promote_buffers, fuse_sibling_loops, widen_f16",
    ),
    Ban(r"\bemit_half\b|\bkNanosecondsPerHalf\b|\barg_extreme\b|\w+_of_reals\b", "f16, min_max, floats", SOURCES),
    Ban(r"\b(kernels::)?Draws\b \w+[;,){=]", "SampleCounter", SOURCES),
    # Words.
    Ban(r"\b([Ff]irst|[Ss]econd) caches?\b", "L1, L2"),
    Ban(r"\b[Ss]teps side by side\b", "parallel steps"),
    Ban(r"\bside by side\b", "in parallel, interleaved, or next to each other"),
    Ban(r"\bin the places? of\b", "instead of"),
    Ban(r"(?<!\bnothing )(?<!\ball )\bbut for\b", "except, without"),
    Ban(r"\bdear(er|est)?\b", "expensive, more expensive"),
    Ban(r"\brounded right\b", "correctly rounded"),
    Ban(r"\b(is|are|was|were|be) told\b", "is passed, is reported"),
    Ban(r"\b(lies|lie|lay) (in|at|where|there|behind|apart)\b", "is stored"),
    Ban(r"\bone behind the other\b", "one after the other"),
    Ban(r"(?<!\bleaves )\bbehind\b(?! (one interface|methods)\b)", "after"),
    Ban(r"\bboxed\b", "dynamic, or object"),
    Ban(r"\bbeside(?! the point)\b", "compared with, alongside, next to"),
    Ban(r"(?<!\btwo )\b[Hh]alves\b(?! (of|the)\b)", "f16 and bf16 (the types)"),
    Ban(r"\b[Rr]eals\b|_reals\b|\breals_", "floats, floating point"),
    Ban(r"\bextremes?\b", "minimum or maximum"),
    Ban(r"\b(that|which) there (is|are) (not|none)\b", "unknown, missing, available"),
    # Comments of declarations: they begin with what the function does or what the thing is.
    Ban(r"^\s*/// (Of|What|Those that|Those which|Who|Whose) ", "Returns ..., Whether ..., or the noun", HEADERS),
    Ban(r"^\s*/// (The same|So|As much|As many|Such) ", "a sentence that stands by itself", HEADERS),
)
