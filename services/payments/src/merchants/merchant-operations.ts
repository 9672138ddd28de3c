import { type Kysely, sql } from 'kysely'
import { insertOperatorAudit } from '../audit/audit-repository.ts'
import type { PaymentsTables } from '../database.ts'
import type { Claim, Pricing } from './merchant.ts'

/** What an operator settles for a merchant. Absent members stay as they are. */
export interface OperatorChange {
  readonly claim?: Partial<Claim>
  readonly pricing?: Partial<Pricing>
  readonly tdsMode?: 'attempt' | 'full'
  /** Null: none, so that a live merchant charges nothing. */
  readonly acquirer?: string | null
  /** The account that later payouts go to. */
  readonly iban?: string
}

/** What an operator may settle, as it is now. */
export interface OperatorSettings {
  readonly id: string
  readonly claim: Claim
  readonly pricing: Pricing
  readonly tdsMode: 'attempt' | 'full'
  readonly acquirer: string | null
}

/** Changes a merchant, and tells it as an event. @throws Error when there is no such merchant */
export async function changeMerchant(
  db: Kysely<PaymentsTables>,
  id: string,
  change: OperatorChange,
): Promise<OperatorSettings> {
  return db.transaction().execute(async (trx) => {
    const changed = await trx
      .updateTable('merchants')
      .set({
        claim: sql`claim || ${JSON.stringify(change.claim ?? {})}::jsonb`,
        pricing: sql`pricing || ${JSON.stringify(change.pricing ?? {})}::jsonb`,
        ...(change.tdsMode === undefined ? {} : { tds_mode: change.tdsMode }),
        ...(change.acquirer === undefined ? {} : { acquirer: change.acquirer }),
        ...(change.iban === undefined ? {} : { iban: change.iban }),
      })
      .where('id', '=', id)
      .returning(['id', 'claim', 'pricing', 'tds_mode', 'acquirer'])
      .executeTakeFirst()
    if (!changed) throw new Error(`there is no merchant ${id}`)
    await sql`
      SELECT ${sql.table('note_merchant_update')}(m) FROM ${sql.table('merchants')} m WHERE m.id = ${id}`.execute(trx)
    await insertOperatorAudit(trx, { action: 'merchant.changed', merchantId: id, payload: change })
    const { tds_mode, ...settings } = changed
    return { ...settings, tdsMode: tds_mode }
  })
}
