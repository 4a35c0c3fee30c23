// The steps of a case: a slider, its two buttons, and what the host did in the step.
import { commandWords, outcomeWords } from "../case/step-words.ts";
import type { Step } from "../case/trace.ts";

/** Goes through the steps; left and right do the same from anywhere on the page. */
export function Stepper({ steps, step, goTo }: { steps: Step[]; step: number; goTo: (step: number) => void }) {
  const at = steps[step];
  if (at === undefined) {
    return null;
  }
  const last = steps.length - 1;
  const outcome = outcomeWords(at.outcome);
  return (
    <section className="stepper" aria-label="steps">
      <button type="button" className="quiet" aria-label="step back" disabled={step === 0} onClick={() => goTo(step - 1)}>
        ‹
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={step}
        disabled={last === 0}
        aria-label="step"
        aria-valuetext={`step ${step + 1} of ${steps.length}: ${commandWords(at)}`}
        onChange={(event) => goTo(Number(event.target.value))}
      />
      <button type="button" className="quiet" aria-label="step on" disabled={step === last} onClick={() => goTo(step + 1)}>
        ›
      </button>
      <span className="step-count">
        {step + 1}/{steps.length}
      </span>
      <span className="step-command">{commandWords(at)}</span>
      <span className={outcome.failed ? "step-outcome failed" : "step-outcome"} title={outcome.words}>
        {outcome.words}
      </span>
    </section>
  );
}
