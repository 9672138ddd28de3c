import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPayments, type TestPayments } from '../../test/payments-app.ts'
import { HIGHEST, LOWEST } from '../pagination/page-query.ts'
import { type DeliveryFilter, listDeliveries } from './delivery-repository.ts'

const DELIVERED = 20_000
const DROPPED = 3_000
const DEAD = 4_000
const OPEN = 200
const LIMIT = 25

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
  const jobs = sql.id(payments.deps.names.jobSchema, 'job_common')
  // The first merchant has half of all deliveries. Each other merchant has one or two.
  const data = sql`jsonb_build_object('merchantId', m.id, 'webhookId', m.id, 'eventId', lpad(to_hex(i), 24, '0'))`
  const some = (count: number) => sql`generate_series(1, ${count}::int) i
    CROSS JOIN LATERAL (SELECT lpad(to_hex(CASE WHEN i % 2 = 0 THEN 1 ELSE i END), 24, '0') AS id) m`
  await sql`
    INSERT INTO ${jobs} (name, data, state, created_on, started_on, completed_on, output)
    SELECT 'webhook_delivery', ${data}, 'completed', now() - i * interval '1 s', now(), now(),
      jsonb_build_object('outcome', CASE WHEN i % 1000 = 0 THEN 'dropped' ELSE 'done' END)
    FROM ${some(DELIVERED)}`.execute(payments.owner.db)
  // The newest delivery of all.
  const id = merchantId(5)
  await sql`
    INSERT INTO ${jobs} (name, data, state, created_on, started_on, completed_on, output)
    SELECT 'webhook_delivery', jsonb_build_object('merchantId', ${id}::text, 'webhookId', ${id}::text, 'eventId', ${id}::text),
      'completed', now() - i * interval '1 ms', now(), now(), '{"outcome":"dropped"}'
    FROM generate_series(1, ${DROPPED}::int) i`.execute(payments.owner.db)
  await sql`
    INSERT INTO ${jobs} (name, data, source_created_on, source_output)
    SELECT 'webhook_delivery_dead', ${data}, now() - i * interval '1 s', '{"message":"answered 500"}'
    FROM ${some(DEAD)}`.execute(payments.owner.db)
  await sql`
    INSERT INTO ${jobs} (name, data, state, created_on)
    SELECT 'webhook_delivery', ${data}, 'retry', now() - i * interval '1 s' FROM ${some(OPEN)}`.execute(
    payments.owner.db,
  )
  await sql`ANALYZE ${jobs}`.execute(payments.owner.db)
})
afterAll(() => payments.close())

/** Lists a page. @returns the number of its deliveries, and of the queue rows that PostgreSQL read */
async function readPage(filter: DeliveryFilter, order: 'newest-first' | 'oldest-first', below = HIGHEST) {
  const { jobSchema } = payments.deps.names
  return payments.owner.db.transaction().execute(async (trx) => {
    const countRead = async () => {
      const { rows } = await sql<{ read: number }>`
        SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_xact_user_tables
        WHERE schemaname = ${jobSchema} AND relname = 'job_common'`.execute(trx)
      return rows[0]?.read ?? 0
    }
    const before = await countRead()
    const listed = await listDeliveries(trx, jobSchema, { limit: LIMIT, above: LOWEST, below, order, ...filter })
    return { listed, read: (await countRead()) - before }
  })
}

const merchantId = (number: number) => number.toString(16).padStart(24, '0')

describe('a page of many deliveries', () => {
  it.each<[string, DeliveryFilter, number]>([
    ['all', {}, LIMIT],
    ['those of a merchant with many', { merchantId: merchantId(1) }, LIMIT],
    ['those of a merchant with few', { merchantId: merchantId(77) }, 3],
    ['those of a merchant with none', { merchantId: merchantId(99_999) }, 0],
    ['those of a webhook with many', { webhookId: merchantId(1) }, LIMIT],
    ['those of a webhook with none', { webhookId: merchantId(99_999) }, 0],
    ['those whose job is dead', { status: 'failed' }, LIMIT],
    ['those of a merchant whose job is dead', { merchantId: merchantId(77), status: 'failed' }, 1],
    ['those that were delivered', { status: 'delivered' }, LIMIT],
    ['those that were cancelled', { status: 'cancelled' }, LIMIT],
    ['those of a merchant that were cancelled, among many', { merchantId: merchantId(1), status: 'cancelled' }, 20],
    ['those of a merchant that were delivered, among many', { merchantId: merchantId(5), status: 'delivered' }, 1],
    ['those of a webhook that were delivered, among many', { webhookId: merchantId(5), status: 'delivered' }, 1],
    ['those that are tried again', { status: 'retrying' }, LIMIT],
    ['those that wait, of which there are none', { status: 'waiting' }, 0],
  ])('reads few rows for %s', async (_which, filter, count) => {
    for (const order of ['newest-first', 'oldest-first'] as const) {
      const { listed, read } = await readPage(filter, order)
      expect(listed).toHaveLength(count)
      // PostgreSQL reads two queues. It also reads one more row of each, to detect the end of a group with the same time.
      expect(read).toBeLessThanOrEqual(4 * LIMIT)
    }
  })

  it.each<[string, DeliveryFilter]>([
    ['all', {}],
    ['those of a merchant', { merchantId: merchantId(1) }],
  ])('reads few rows for the second page of %s', async (_which, filter) => {
    const first = await readPage(filter, 'newest-first')
    const { listed, read } = await readPage(filter, 'newest-first', first.listed.at(-1)?.place)
    expect(listed).toHaveLength(LIMIT)
    expect(read).toBeLessThanOrEqual(4 * LIMIT)
  })
})
