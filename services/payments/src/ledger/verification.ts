import type { Meter } from '@opentelemetry/api'
import { type Kysely, sql } from 'kysely'
import { insertOperatorAudit } from '../audit/audit-repository.ts'
import type { PaymentsTables } from '../database.ts'

/** What `ledger verify` has found of all merchants. */
export interface Verification {
  readonly merchants: number
  readonly links: number
  readonly violations: number
}

const ACTION = 'ledger.verified'

/** Writes down what was found, for the gauge of every process. */
export async function insertVerification(db: Kysely<PaymentsTables>, verification: Verification): Promise<void> {
  await insertOperatorAudit(db, { action: ACTION, payload: verification })
}

/** Reports as `payments_ledger_imbalance` how many violations the last verification has found; it must be 0. */
export function observeLedger(meter: Meter, db: Kysely<PaymentsTables>): void {
  const gauge = meter.createObservableGauge('payments_ledger_imbalance', {
    description: 'Violations that the last ledger verify has found, in the last month',
  })
  gauge.addCallback(async (result) => {
    // Ids begin with their time: no older rows are looked at.
    const { rows } = await sql<{ violations: number }>`
      SELECT (payload ->> 'violations')::int AS violations FROM ${sql.table('audit')}
      WHERE merchant_id = repeat('0', 24) AND action = ${ACTION}
        AND id > lpad(to_hex(floor(extract(epoch FROM now() - interval '31 days'))::bigint), 8, '0')
      ORDER BY id DESC LIMIT 1`.execute(db)
    const [last] = rows
    if (last) result.observe(last.violations)
  })
}
