import { type Kysely, sql } from 'kysely'
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

/** Changes a merchant, records the change in its chain and tells it as an event. @throws Error when there is no such merchant */
export async function changeMerchant(
  db: Kysely<PaymentsTables>,
  id: string,
  change: OperatorChange,
): Promise<OperatorSettings> {
  const { rows } = await sql<OperatorSettings>`
    SELECT f.id, f.claim, f.pricing, f.tds_mode AS "tdsMode", f.acquirer
    FROM ${sql.table('change_merchant')}(${id}, ${JSON.stringify(change)}::jsonb) f`.execute(db)
  const [changed] = rows
  if (!changed) throw new Error(`there is no merchant ${id}`)
  return changed
}
