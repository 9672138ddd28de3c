import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Money } from './minor-units.ts'

const exchangeQuery = prepare(
  'exchange_today',
  (p: Money & { to: string }) => sql<{ amount: bigint }>`
    SELECT amount FROM ${sql.table('exchange')}(${p.amount}, ${p.currency}, ${p.to}, current_date, 0)`,
)

/** Minor units of an amount in another currency at today's rate, or undefined where one of the two has none. */
export async function findExchanged(lanes: Lanes, money: Money, currency: string): Promise<bigint | undefined> {
  return (await lanes.read.first(exchangeQuery, { ...money, to: currency }))?.amount
}

/** Whether an exchange can be made: `stale` is a rate that is too old for live money. Null: there is none at all. */
export type RateState = 'usable' | 'stale' | null

/**
 * The state of the rate from a currency into the currency of the merchant `m`, as a column of a query. A
 * charge that could never be captured must not be authorized.
 */
export function rateState(currency: string | null, ageDaysMax: number): RawBuilder<RateState> {
  return sql<RateState>`(
        SELECT CASE WHEN NOT m.test AND x.rate_date < current_date - ${ageDaysMax}::int THEN 'stale' ELSE 'usable' END
        FROM ${sql.table('exchange')}(1, coalesce(${currency}::text, m.currency), m.currency, current_date, 0) x
      )`
}
