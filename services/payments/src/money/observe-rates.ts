import type { Meter } from '@opentelemetry/api'
import { type Kysely, sql } from 'kysely'
import type { PaymentsTables } from '../database.ts'

/** Reports as `payments_fx_rate_age_days{currency}` how old the newest rate of each currency is. */
export function observeRates(meter: Meter, db: Kysely<PaymentsTables>): void {
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
