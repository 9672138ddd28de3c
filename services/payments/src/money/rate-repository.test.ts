import { createNoopMeter, type Meter, type ObservableResult } from '@opentelemetry/api'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/payments-app.ts'
import { observeRates, upsertEcbRates } from './rate-repository.ts'

const opened = await openTestDatabase({ lockTimeoutMs: 30_000 })
afterAll(() => opened.close())

it('payments_fx_rate_age_days tells the age of the newest rate of each currency', async () => {
  const noop = createNoopMeter()
  let observe: ((result: ObservableResult) => void | Promise<void>) | undefined
  const meter: Meter = {
    ...noop,
    createObservableGauge: (name) => {
      expect(name).toBe('payments_fx_rate_age_days')
      return {
        addCallback: (callback) => {
          observe = callback
        },
        removeCallback: () => {},
      }
    },
  }
  observeRates(meter, opened.database.db)
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
  await opened.database.db
    .insertInto('fx_rates')
    .values({ currency: 'DKK', date: new Date(yesterday), source: 'ecb', rate: '7.46' })
    .execute()
  const ages = new Map<unknown, number>()
  await observe?.({ observe: (value, attributes) => void ages.set(attributes?.currency, value) })
  expect(ages.get('DKK')).toBe(1)
  expect(ages.get('USD')).toBeGreaterThan(600)
  expect(ages.has('EUR')).toBe(false)
})

it('notes each rate that is replaced, when two imports run at once', async () => {
  const { db } = opened.database
  const rate = (value: string) => [{ currency: 'SEK', date: '2026-03-02', rate: value }]
  const store = (value: string) => db.transaction().execute((trx) => upsertEcbRates(trx, rate(value)))
  await store('11')
  const second = await db.transaction().execute(async (trx) => {
    await sql`SELECT ${sql.table('import_rates')}(${JSON.stringify(rate('12'))}::jsonb)`.execute(trx)
    const waiting = store('13')
    const countWaiting = async () => {
      const { rows } = await sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db)
      return rows.length
    }
    await expect.poll(countWaiting).toBe(1)
    return { waiting }
  })
  await second.waiting
  const { rows } = await sql`
    SELECT r ->> 'from' AS "from", r ->> 'to' AS "to"
    FROM ${sql.table('audit')} a, jsonb_array_elements(a.payload -> 'rates') r
    WHERE a.merchant_id = repeat('0', 24) AND a.action = 'fx.replaced' ORDER BY 1`.execute(db)
  expect(rows).toEqual([
    { from: '11', to: '12' },
    { from: '12', to: '13' },
  ])
})
