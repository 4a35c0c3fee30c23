// The budgets and the external triggers of an agent, as the core sums them up.
import type { BudgetSummary, TriggerSummary } from "@package/payloads.js";

import {
  isReached,
  limitEnd,
  limitName,
  limitUse,
  ownerWords,
  triggerFacts,
} from "../case/standing.ts";
import "../style/standing.css";

/** The budgets that have a limit, with what is used of each. */
export function Budgets({ budgets, now }: { budgets: BudgetSummary[]; now: string }) {
  return (
    <ul className="budgets" aria-label="budgets">
      {budgets.map((budget) => (
        <li key={budget.work_item_id ?? ""} className="budget">
          <p className="budget-owner">
            <span>{ownerWords(budget)}</span>
            {budget.exhausted && <strong className="used-up">used up</strong>}
          </p>
          {budget.limits.map((limit) => (
            <div key={limit.limit} className="limit" data-reached={isReached(limit)}>
              <span>{limitName(limit)}</span>
              <span className="limit-use">{limitUse(limit)}</span>
              <span className="limit-bar" aria-hidden="true">
                <span style={{ width: `${Math.min(100, (100 * limit.used) / limit.of)}%` }} />
              </span>
              <span className="note limit-end">{limitEnd(limit, now)}</span>
            </div>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** What a trigger is, and who waits for it. */
export function Trigger({ trigger, now }: { trigger: TriggerSummary; now: string }) {
  return (
    <>
      <p className="trigger-name">
        <code>{trigger.external_trigger_id}</code>
        {trigger.description !== trigger.external_trigger_id && <span> {trigger.description}</span>}
      </p>
      <dl className="trigger-facts">
        {triggerFacts(trigger, now).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
