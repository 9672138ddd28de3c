import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import type { Money } from '../merchants/merchant.ts'

const exchangeQuery = prepare(
  'exchange_today',
  (p: Money & { to: string }) => sql<{ amount: bigint }>`
    SELECT amount FROM ${sql.table('exchange')}(${p.amount}, ${p.currency}, ${p.to}, current_date, 0)`,
)

/** Minor units of an amount in another currency at today's rate, or undefined where one of the two has none. */
export async function findExchanged(lanes: Lanes, money: Money, currency: string): Promise<bigint | undefined> {
  return (await lanes.read.first(exchangeQuery, { ...money, to: currency }))?.amount
}
