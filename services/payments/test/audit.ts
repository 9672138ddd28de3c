import { sql } from 'kysely'
import type { TestPayments } from './payments-app.ts'

/** The newest entry of the audit log. */
export function lastAudit({ database }: Pick<TestPayments, 'database'>): Promise<object | undefined> {
  return database.db
    .selectFrom('audit')
    .select(['action', 'payload', 'merchant_id', 'identity_id'])
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The entry of an act of an operator. An act that concerns no merchant has zeros in place of one. */
export function operatorAudit(action: string, payload: object, merchantId = '0'.repeat(24)): object {
  return { action, payload, merchant_id: merchantId, identity_id: null }
}

/** Does something while the audit log takes no entry. */
export async function withoutAudit({ owner }: Pick<TestPayments, 'owner'>, act: () => Promise<void>): Promise<void> {
  await sql`ALTER TABLE payments.audit ADD CONSTRAINT audit_full CHECK (false) NOT VALID`.execute(owner.db)
  try {
    await act()
  } finally {
    await sql`ALTER TABLE payments.audit DROP CONSTRAINT audit_full`.execute(owner.db)
  }
}

/** The error of an entry that the audit log does not take. */
export const AUDIT_FULL = /new row for relation "audit\w*" violates check constraint "audit_full\w*"/
