import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Db } from '../database.ts'
import type { Money } from '../money/minor-units.ts'

/** An acquirer's name of an object of its own, below the merchant. */
export interface AcquirerReference {
  readonly merchantId: string
  readonly acquirer: string
  readonly reference: string
}

/**
 * The id of the transaction that an acquirer authorized under its reference. `ambiguous`: several transactions have the
 * reference. Undefined when none has it.
 */
export async function findAuthorized(
  db: Db,
  { merchantId, acquirer, reference }: AcquirerReference,
): Promise<{ readonly id: string } | 'ambiguous' | undefined> {
  const [row, another] = await db
    .selectFrom('transactions')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .where('acquirer_ref', '=', reference)
    .where('acquirer', '=', acquirer)
    .limit(2)
    .execute()
  return another ? 'ambiguous' : row
}

/** The id of the dispute that was opened under a reference, or undefined. */
export async function findDisputed(db: Db, merchantId: string, acquirerRef: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('disputes')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .where('acquirer_ref', '=', acquirerRef)
    .executeTakeFirst()
  return row?.id
}

interface BookSettlementCall extends Money {
  readonly merchantId: string
  readonly acquirer: string
  readonly acquirerRef: string
}

/** Why a settlement cannot be right. */
export type SettlementProblem =
  | 'unknown-merchant'
  | 'test-merchant'
  | 'other-acquirer'
  | 'unknown-currency'
  | 'nothing'
  | 'too-much'
  | 'too-much-back'

const settleQuery = prepare(
  'book_settlement',
  (p: BookSettlementCall) => sql<{ verdict: 'done' | 'repeated' | SettlementProblem }>`
    SELECT ${sql.table('book_settlement')}(${p.merchantId}, ${p.acquirer}, ${p.currency}, ${p.amount}, ${p.acquirerRef})
      AS verdict`,
)

/**
 * Books what an acquirer has paid, once for each reference. Returns why the settlement is refused; undefined when it is
 * booked.
 */
export async function callBookSettlement(
  lanes: Lanes,
  input: BookSettlementCall,
): Promise<SettlementProblem | undefined> {
  const { verdict } = await lanes.write.one(settleQuery, input)
  return verdict === 'done' || verdict === 'repeated' ? undefined : verdict
}
