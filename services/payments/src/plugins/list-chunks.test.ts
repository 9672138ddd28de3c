import { gunzipSync } from 'node:zlib'
import { handlerDeadline } from '@trestle/common/server/create-server.ts'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusAndBody } from '../../test/bodies.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { serverBusy } from '../errors.ts'
import { HIGHEST, LOWEST, type PageBounds } from '../pagination/page-query.ts'
import { answerInChunks } from './list-chunks.ts'

let payments: TestPayments
let app: TestApp
let path: string
/** Ids of the transactions, newest first. */
let ids: readonly string[]
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  const { id } = await createTestMerchant(payments, app, { test: true })
  path = `/merchants/${id}`
  const created: string[] = []
  for (let count = 0; count < 5; count++) {
    const transactionId = await customerPayment(payments, id)
    await capture(payments, app, transactionId, 1)
    created.push(transactionId)
  }
  ids = created.toReversed()
  // Give each row a longer trail than fits into one chunk.
  for (const table of ['transactions', 'events'] as const) {
    await payments.database.db.updateTable(table).set({ trail_length: 600 }).execute()
  }
})
afterAll(() => payments.close())

const get = (url: string, headers: object = {}) =>
  payments.app.inject({ url: `${path}/${url}`, headers: { ...app.headers, ...headers } })

describe('a list whose rows have many entries', () => {
  it.each([
    ['limit=1000', [0, 5]],
    ['limit=5', [0, 5]],
    ['limit=3', [0, 3]],
    ['before=1&limit=3', [1, 4]],
  ] as const)('200: is read in chunks, and answered as one list (%s)', async (query, [from, to]) => {
    const response = await get(`transactions?${query.replace('before=1', `before=${ids[0]}`)}`)
    const rows = await Promise.all(
      ids.slice(from, to).map(async (id) => {
        const { body } = await payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })
        return JSON.stringify(JSON.parse(body).transaction)
      }),
    )
    expect([response.statusCode, response.body]).toEqual([200, `[\n${rows.join(',\n')}\n]\n`])
    const { 'content-type': type, 'content-length': length } = response.headers
    expect([type, length]).toEqual(['application/json; charset=utf-8', undefined])
  })

  it('200: is read in chunks after a cursor too, and answered in one chunk when it fits', async () => {
    const upwards = await get(`transactions?limit=1000&after=${ids[4]}`)
    expect(upwards.json().map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 4).toReversed())
    const short = await get('transactions?limit=1')
    expect([short.json().length, short.headers['content-length']]).toEqual([1, String(short.body.length)])
  })

  it('200: contains each event once', async () => {
    const response = await get('events?limit=1000')
    const events = response.json()
    expect(
      events.flatMap(({ data }: { data: { transaction?: { id: string } } }) => data.transaction?.id ?? []),
    ).toEqual(ids)
    expect(response.headers['content-length']).toBeUndefined()
  })

  it('200: is answered to HEAD without a body, and compressed when asked for', async () => {
    const head = await payments.app.inject({
      method: 'HEAD',
      url: `${path}/transactions?limit=9`,
      headers: app.headers,
    })
    expect([head.statusCode, head.body]).toEqual([200, ''])
    const packed = await get('transactions?limit=9', { 'accept-encoding': 'gzip' })
    const { body } = await get('transactions?limit=9')
    expect(gunzipSync(packed.rawPayload).toString()).toBe(body)
  })
})

describe('answerInChunks', () => {
  it('200: reads fewer rows at a time after rows that are large together, and more again after small ones', async () => {
    const server = Fastify()
    server.decorateRequest('withSlots', (_size, read) => read())
    server.decorateReply('liftDeadline', () => {})
    const sizes = (nth: number) => (nth < 300 ? 50_000 : 1)
    const asked: number[] = []
    const read = async ({ above, limit }: PageBounds) => {
      asked.push(limit)
      const first = above === LOWEST ? 0 : Number(above) + 1
      const ids = Array.from({ length: Math.min(limit, 1_000 - first) }, (_, nth) => first + nth)
      return { rows: ids.map((nth) => ({ id: String(nth), custom: 'x'.repeat(sizes(nth)) })), isCut: false }
    }
    const page = { limit: 1_000, above: LOWEST, below: HIGHEST, order: 'oldest-first' } as const
    server.get('/list', (_request, reply) => answerInChunks(reply, { page, read, view: (row) => row }))
    const response = await server.inject({ url: '/list' })
    const rows: { id: string }[] = response.json()
    expect([response.statusCode, rows.map(({ id }) => Number(id))]).toEqual([
      200,
      Array.from({ length: 1_000 }, (_, nth) => nth),
    ])
    expect(asked.slice(0, 5)).toEqual([100, 19, 19, 19, 19])
    expect(asked.reduce((sum, limit) => sum + limit, 0)).toBe(1_000)
    expect(asked.slice(-4)).toEqual([100, 100, 100, expect.any(Number)])
    await server.close()
  })

  it('200: sends every chunk even if all of them together take longer than a handler may', async () => {
    const late = Fastify()
    const busy = () => serverBusy()
    await late.register(handlerDeadline, { handlerTimeoutMs: 50, timedOut: busy, bodyTimedOut: busy, busy })
    late.decorateRequest('withSlots', (_size, read) => read())
    // This handler never ends, so it is refused at its deadline.
    late.get('/hanging', () => new Promise(() => {}))
    const hanging: unknown[] = []
    const read = async ({ above }: PageBounds) => {
      if (above !== LOWEST) hanging.push(statusAndBody(await late.inject({ url: '/hanging' })))
      return { rows: [{ id: above === LOWEST ? '1' : '2' }], isCut: above === LOWEST }
    }
    const page = { limit: 2, above: LOWEST, below: HIGHEST, order: 'oldest-first' } as const
    late.get('/list', (_request, reply) => answerInChunks(reply, { page, read, view: (row) => row }))
    const response = await late.inject({ url: '/list' })
    expect([response.statusCode, response.body]).toEqual([200, '[\n{"id":"1"},\n{"id":"2"}\n]\n'])
    expect(hanging).toEqual([
      [
        503,
        {
          statusCode: 503,
          code: 'SERVER_BUSY',
          error: 'Service Unavailable',
          message: 'Too many operations wait for their turn',
        },
      ],
    ])
    await late.close()
  })
})
