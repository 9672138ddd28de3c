import { createNoopMeter, type Meter, type ObservableResult } from '@opentelemetry/api'
import { afterAll, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/payments-app.ts'
import { observeRates } from './rate-repository.ts'

const opened = await openTestDatabase()
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
