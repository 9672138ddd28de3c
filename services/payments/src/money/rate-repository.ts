import type { Meter } from '@opentelemetry/api'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import type { Rate } from './ecb-rates.ts'
import type { Money } from './minor-units.ts'

const BATCH_ROWS = 10_000

/**
 * Stores imported rates in place of earlier ones of the same date and currency. The transaction of the caller
 * stores all or none.
 */
export async function upsertEcbRates(trx: Trx, rates: readonly Omit<Rate, 'source'>[]): Promise<void> {
  for (let at = 0; at < rates.length; at += BATCH_ROWS) {
    const batch = rates.slice(at, at + BATCH_ROWS)
    await sql`SELECT ${sql.table('import_rates')}(${JSON.stringify(batch)}::jsonb)`.execute(trx)
  }
}

/** The rates that apply on a day (`2026-03-01`; undefined: today by the database's clock), by currency. */
export async function listRatesOfDay(db: Db, day: string | undefined): Promise<readonly Rate[]> {
  const { rows } = await sql<Rate>`
    SELECT DISTINCT ON (currency) currency, trim_scale(rate)::text AS rate, date::text AS date, source
    FROM ${sql.table('fx_rates')}
    WHERE date <= coalesce(${day ?? null}::date, (now() AT TIME ZONE 'UTC')::date)
    ORDER BY currency, date DESC, source = 'embedded'`.execute(db)
  return rows
}

/**
 * The last day for which rates were imported (`2026-03-01`; null: none were), and whether there are live
 * merchants, whose money is not exchanged at the embedded rates.
 */
export async function findImportedRates(
  db: Db,
): Promise<{ readonly date: string | null; readonly areNeeded: boolean }> {
  const { rows } = await sql<{ date: string | null; areNeeded: boolean }>`
    SELECT (SELECT max(date)::text FROM ${sql.table('fx_rates')} WHERE source = 'ecb') AS date,
      EXISTS (SELECT FROM ${sql.table('merchants')} WHERE NOT test) AS "areNeeded"`.execute(db)
  return rows[0] ?? { date: null, areNeeded: false }
}

/** Reports as `payments_fx_rate_age_days{currency}` the age of the newest rate of each currency. */
export function observeRates(meter: Meter, db: Db): void {
  const gauge = meter.createObservableGauge('payments_fx_rate_age_days', {
    description: 'Age of the newest exchange rate, by currency',
  })
  gauge.addCallback(async (result) => {
    const { rows } = await sql<{ currency: string; days: number }>`
      SELECT currency, (now() AT TIME ZONE 'UTC')::date - max(date) AS days
      FROM ${sql.table('fx_rates')} WHERE currency <> 'EUR' GROUP BY currency`.execute(db)
    for (const { currency, days } of rows) result.observe(days, { currency })
  })
}

const exchangeQuery = prepare(
  'exchange_today',
  (p: Money & { to: string }) => sql<{ amount: bigint }>`
    SELECT amount FROM ${sql.table('exchange')}(${p.amount}, ${p.currency}, ${p.to}, current_date, 0)`,
)

/** Minor units of an amount in another currency at today's rate, or undefined where one of the two has none. */
export async function findExchanged(pools: Pools, money: Money, currency: string): Promise<bigint | undefined> {
  return (await pools.read.first(exchangeQuery, { ...money, to: currency }))?.amount
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
