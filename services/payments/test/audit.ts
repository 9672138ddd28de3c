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
