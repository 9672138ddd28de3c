import type { Meter } from '@opentelemetry/api'
import { type Kysely, sql } from 'kysely'
import { insertOperatorAudit } from '../access/audit-repository.ts'
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

/**
 * Reports how many violations the last verification has found (`payments_ledger_imbalance`, which must be 0), and when that
 * was (`payments_ledger_verified_timestamp_seconds`). Both are 0 where there was none in the last month.
 */
export function observeLedger(meter: Meter, db: Kysely<PaymentsTables>): void {
  const imbalance = meter.createObservableGauge('payments_ledger_imbalance', {
    description: 'Violations that the last ledger verify has found',
  })
  const verified = meter.createObservableGauge('payments_ledger_verified_timestamp_seconds', {
    description: 'Unix time of the last ledger verify, 0 where there was none in the last month',
  })
  meter.addBatchObservableCallback(
    async (result) => {
      // Ids begin with their time: no older rows are looked at. A row of the future would hide all later ones.
      const { rows } = await sql<{ violations: number; seconds: number }>`
        SELECT (payload ->> 'violations')::int AS violations, extract(epoch FROM created)::float8 AS seconds
        FROM ${sql.table('audit')}
        WHERE merchant_id = repeat('0', 24) AND action = ${ACTION}
          AND id > lpad(to_hex(floor(extract(epoch FROM now() - interval '31 days'))::bigint), 8, '0')
          AND id < lpad(to_hex(floor(extract(epoch FROM now()))::bigint + 1), 8, '0') AND created <= now()
        ORDER BY id DESC LIMIT 1`.execute(db)
      result.observe(imbalance, rows[0]?.violations ?? 0)
      result.observe(verified, rows[0]?.seconds ?? 0)
    },
    [imbalance, verified],
  )
}
