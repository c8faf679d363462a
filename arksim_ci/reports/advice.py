"""What the reports show of a recommendation: where the best fix belongs, and what it is."""

from __future__ import annotations

from arksim_ci.schema.recommendation import CodeFix, ModuleFix, Recommendation


def best_fix(advice: Recommendation) -> tuple[str | None, str]:
    """The module of the best fix, None where it names none, and the text without the module's name in front."""
    for fix in advice.module_fixes:
        prefix = f"{fix.module}:"
        if advice.best_module_fix.startswith(prefix):
            return fix.module, advice.best_module_fix.removeprefix(prefix).strip()
    return None, advice.best_module_fix


def other_fixes(advice: Recommendation) -> list[ModuleFix]:
    """The fixes that were considered besides the best."""
    module, _ = best_fix(advice)
    return [each for each in advice.module_fixes if each.module != module]


def line_range(fix: CodeFix) -> str:
    """`line 12`, `lines 12–14`."""
    if fix.start_line == fix.end_line:
        return f"line {fix.start_line}"
    return f"lines {fix.start_line}–{fix.end_line}"
