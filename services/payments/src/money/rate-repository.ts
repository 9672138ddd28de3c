import type { Meter } from '@opentelemetry/api'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db, Trx } from '../database.ts'
import type { Rate } from './ecb-rates.ts'
import type { Money } from './minor-units.ts'

const BATCH_ROWS = 10_000

/**
 * Stores imported rates and replaces earlier rates of the same date and currency. Runs in the caller's database transaction, so
 * it stores all rates or none.
 */
export async function upsertEcbRates(trx: Trx, rates: readonly Omit<Rate, 'source'>[]): Promise<void> {
  for (let at = 0; at < rates.length; at += BATCH_ROWS) {
    const batch = rates.slice(at, at + BATCH_ROWS)
    await sql`SELECT ${sql.table('import_rates')}(${JSON.stringify(batch)}::jsonb)`.execute(trx)
  }
}

/** Returns the rates of a day such as `2026-03-01`, by currency. The default is today, by the database's clock. */
export async function listRatesOfDay(db: Db, day: string | undefined): Promise<readonly Rate[]> {
  const { rows } = await sql<Rate>`
    SELECT DISTINCT ON (currency) currency, trim_scale(rate)::text AS rate, date::text AS date, source
    FROM ${sql.table('fx_rates')}
    WHERE date <= coalesce(${day ?? null}::date, (now() AT TIME ZONE 'UTC')::date)
    ORDER BY currency, date DESC, source = 'embedded'`.execute(db)
  return rows
}

/**
 * Returns the newest date of imported rates, such as `2026-03-01`, or `null` if none were imported. `areNeeded` is `true` if a
 * live merchant exists, because embedded rates do not apply to live money.
 */
export async function findImportedRates(
  db: Db,
): Promise<{ readonly date: string | null; readonly areNeeded: boolean }> {
  const { rows } = await sql<{ date: string | null; areNeeded: boolean }>`
    SELECT (SELECT max(date)::text FROM ${sql.table('fx_rates')} WHERE source = 'ecb') AS date,
      EXISTS (SELECT FROM ${sql.table('merchants')} WHERE NOT test) AS "areNeeded"`.execute(db)
  return rows[0] ?? { date: null, areNeeded: false }
}

/** Reports the age of the newest rate of each currency, in days, as `payments_fx_rate_age_days{currency}`. */
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

/** Converts to another currency at today's rate, in minor units. `undefined` if one of the currencies has no rate. */
export async function findExchanged(pools: Pools, money: Money, currency: string): Promise<bigint | undefined> {
  return (await pools.read.first(exchangeQuery, { ...money, to: currency }))?.amount
}

/** Whether an amount can be exchanged. `stale`: the rate is too old for live money. `null`: there is no rate. */
export type RateState = 'usable' | 'stale' | null

/**
 * Returns a query column with the state of the rate from a currency into the currency of the merchant `m`. The service uses it to
 * refuse an authorization that could never be captured.
 */
export function rateState(currency: string | null, ageDaysMax: number): RawBuilder<RateState> {
  return sql<RateState>`(
        SELECT CASE WHEN NOT m.test AND x.rate_date < current_date - ${ageDaysMax}::int THEN 'stale' ELSE 'usable' END
        FROM ${sql.table('exchange')}(1, coalesce(${currency}::text, m.currency), m.currency, current_date, 0) x
      )`
}
