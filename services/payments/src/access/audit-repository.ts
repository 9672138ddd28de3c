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

const NO_MERCHANT = '0'.repeat(24)

/** Writes an operator's action down, in the transaction of its effect. */
export async function insertOperatorAudit(
  trx: Kysely<PaymentsTables>,
  { action, merchantId = NO_MERCHANT, payload }: OperatorAction,
): Promise<void> {
  await sql`SELECT ${sql.table('add_audit')}(${merchantId}, NULL, ${action}, ${payload})`.execute(trx)
}
