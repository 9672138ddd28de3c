import type { Pools } from '@trestle/database/pools.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { customerPayment } from '../../test/customer-payment.ts'
import { createTestApp, createTestMerchant, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { countRowsRead } from '../../test/rows-read.ts'
import { listEventsOfTransaction } from './operator-event-repository.ts'

const ALERTS = 3_000
const SHOWN = 25

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

it('the events of a transaction with many alerts are its newest, and few rows are looked at', async () => {
  const member = await createTestApp(payments)
  const { id: merchantId } = await createTestMerchant(payments, member, { currency: 'EUR', test: true })
  const id = await customerPayment(payments, merchantId)
  const url = `/test/transactions/${id}/frauds`
  const made = await payments.app.inject({ method: 'POST', url, payload: {}, headers: member.headers })
  const { db } = payments.owner
  // The id of an event directly follows the id of its fraud alert.
  const later = (column: string) => {
    return sql`payments.id_at(payments.id_number(${sql.raw(column)}) + 2 * n, right(${sql.raw(column)}, 8))`
  }
  await sql`INSERT INTO payments.frauds SELECT r.*
    FROM payments.frauds f, generate_series(1, ${ALERTS}::int) n, jsonb_populate_record(f, jsonb_build_object(
      'id', ${later('f.id')}
    )) r WHERE f.id = ${made.json().fraud.id}`.execute(db)
  await sql`INSERT INTO payments.events SELECT r.*
    FROM payments.events e, generate_series(1, ${ALERTS}::int) n, jsonb_populate_record(e, jsonb_build_object(
      'id', ${later('e.id')}, 'object_id', ${later('e.object_id')}
    )) r WHERE e.object_id = ${made.json().fraud.id}`.execute(db)
  await sql`ANALYZE payments.frauds, payments.events`.execute(db)
  const read = (pools: Pools) => listEventsOfTransaction(pools, { merchantId, id })
  const { found, rows: frauds } = await countRowsRead(payments, 'frauds', read)
  const { rows: events } = await countRowsRead(payments, 'events', read)
  const newest = await db
    .selectFrom('events')
    .select(['id', 'type', 'created'])
    .where('merchant_id', '=', merchantId)
    .orderBy('id', 'desc')
    .limit(SHOWN)
    .execute()
  expect(found).toEqual(newest)
  expect(Math.max(frauds, events)).toBeLessThanOrEqual(2 * SHOWN + 2)
})
