import type { Meter } from '@opentelemetry/api'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'

/** The numbers of links that `ledger verify` has checked over all merchants, and of violations that it has found. */
export interface Verification {
  readonly merchants: number
  readonly links: number
  readonly violations: number
}

const ACTION = 'ledger.verified'

/** Stores the result in the audit log, where the gauge of each process reads it. */
export async function insertVerification(db: Db, verification: Verification): Promise<void> {
  await insertOperatorAudit(db, { action: ACTION, payload: verification })
}

/**
 * Reports how many violations the last verification found (`payments_ledger_imbalance`, which must be 0), and when it
 * ran (`payments_ledger_verified_timestamp_seconds`). Both are 0 when there was none in the last month.
 */
export function observeLedger(meter: Meter, db: Db): void {
  const imbalance = meter.createObservableGauge('payments_ledger_imbalance', {
    description: 'Violations that the last ledger verify has found',
  })
  const verified = meter.createObservableGauge('payments_ledger_verified_timestamp_seconds', {
    description: 'Unix time of the last ledger verify, 0 where there was none in the last month',
  })
  meter.addBatchObservableCallback(
    async (result) => {
      // Ids begin with their time, so older rows are not read. A row from the future would hide all later rows.
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
