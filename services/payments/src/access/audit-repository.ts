import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

/** What an operator has done, which has no identity. */
export interface OperatorAction {
  /** For example `app.hidden`. */
  readonly action: string
  /** Absent where no merchant is concerned. */
  readonly merchantId?: string
  /** Never a secret. */
  readonly payload: object
}

/** Writes an operator's action down, in the transaction of its effect. */
export async function insertOperatorAudit(
  trx: Kysely<PaymentsTables>,
  { action, merchantId, payload }: OperatorAction,
): Promise<void> {
  await sql`SELECT ${sql.table('add_audit')}(${merchantId ?? null}, NULL, ${action}, ${payload})`.execute(trx)
}
