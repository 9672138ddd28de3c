import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

/** An act of an operator. Operators have no identity. */
export interface OperatorAction {
  /** For example `app.hidden`. */
  readonly action: string
  /** Absent when the act concerns no merchant. */
  readonly merchantId?: string
  /** Never a secret. */
  readonly payload: object
}

/** Adds an act of an operator to the audit log, in the transaction of its effect. */
export async function insertOperatorAudit(
  trx: Kysely<PaymentsTables>,
  { action, merchantId, payload }: OperatorAction,
): Promise<void> {
  await sql`SELECT ${sql.table('add_audit')}(${merchantId ?? null}, NULL, ${action}, ${payload})`.execute(trx)
}
