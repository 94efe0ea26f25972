"""What was sent and what came back, counted at the wire, and everything that was wrong."""

from collections import Counter
from dataclasses import dataclass, field

from schemathesis import Case, HookContext, Response
from schemathesis.engine import Status, events
from schemathesis.engine.recorder import CheckNode, ScenarioRecorder


@dataclass(slots=True)
class Tally:
    passes: int = 0
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)  # by operation and status
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)  # by phase and kind of data
    followed: Counter[str] = field(default_factory=Counter)  # links, by the operation that they lead to
    checks: Counter[str] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)  # what is wrong, and how to see it

    @property
    def sent(self) -> int:
        return self.answers.total()

    @property
    def operations(self) -> set[str]:
        return {operation for operation, _ in self.answers}

    def succeeded(self, operation: str) -> int:
        return sum(count for (of, status), count in self.answers.items() if of == operation and 200 <= status < 300)

    def generated(self, mode: str) -> int:
        return sum(count for (_, of), count in self.kinds.items() if of == mode)

    def note_answer(self, _: HookContext, case: Case, response: Response) -> None:
        """Called by Schemathesis after each case that it really sent."""
        assert case.meta is not None
        self.answers[case.operation.label, response.status_code] += 1
        self.kinds[case.meta.phase.name.value, case.meta.generation.mode.value] += 1

    def note_event(self, event: events.EngineEvent) -> None:
        match event:
            case events.ScenarioFinished():
                self._note_scenario(event.recorder)
            case events.NonFatalError():
                self.faults.setdefault(f"{event.label}: {event.info.title}", event.info.format())
            case events.FatalError():
                raise event.exception

    def _note_scenario(self, recorder: ScenarioRecorder) -> None:
        for node in recorder.cases.values():
            if node.transition is not None and node.is_transition_applied:
                self.followed[node.value.operation.label] += 1
        for case_id, checks in recorder.checks.items():
            for check in checks:
                self.checks[check.name] += 1
                if check.status is not Status.SUCCESS:
                    self._note_fault(recorder, case_id, check)

    def _note_fault(self, recorder: ScenarioRecorder, case_id: str, check: CheckNode) -> None:
        label = recorder.cases[case_id].value.operation.label
        answer = recorder.find_response(case_id=case_id)
        shown = f"{answer.status_code} {answer.text}" if answer is not None else "nothing"
        if check.failure_info is None:
            self.faults.setdefault(f"{label}: {check.name} itself failed", shown)
            return
        failure = check.failure_info.failure
        text = " ".join(f"{failure.title}: {failure.message}".split())
        self.faults.setdefault(
            f"{label}: {check.name}: {text}", f"{check.failure_info.code_sample}\n    answered {shown[:1000]}"
        )

    def report(self) -> str:
        """The breakdown per operation and status."""
        lines = [f"{self.sent} cases in {self.passes} passes"]
        for operation in sorted(self.operations):
            statuses = sorted((status, count) for (of, status), count in self.answers.items() if of == operation)
            lines.append(f"  {operation}: " + ", ".join(f"{count} x {status}" for status, count in statuses))
        lines.append("  data: " + ", ".join(f"{count} {' '.join(kind)}" for kind, count in self.kinds.most_common()))
        lines.append("  links: " + ", ".join(f"{count} to {name}" for name, count in self.followed.most_common()))
        lines.append("  checks: " + ", ".join(f"{count} {name}" for name, count in sorted(self.checks.items())))
        return "\n".join(lines)

    def told_faults(self) -> str:
        return "\n".join(f"{what}\n  {how}" for what, how in self.faults.items())
