import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anyId, anyTime } from '@trestle/testing/any-value.ts'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { TRIGGERED_TYPES } from '../use-cases/trigger-event.ts'
import { EVENT_TYPES } from '../webhooks/event.ts'
import { listenCommand } from './listen.ts'
import { triggerCommand } from './trigger.ts'

let payments: TestPayments
let merchantId: string
let liveId: string
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const { run, json } = commandRunner([triggerCommand], () => operatorDeps(payments))

interface Received {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** A program of a developer that receives events at `/hook`. */
async function startReceiver(status = 200) {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part
    })
    request.on('end', () => {
      received.push({ headers: request.headers, body })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { received, address: `127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

/** Runs `payments listen` until the test ends. */
async function startListening(...words: string[]) {
  const lines: string[] = []
  const stop = new AbortController()
  const deps = {
    ...operatorDeps(payments),
    wait: () => new Promise<void>((resolve) => setImmediate(resolve)),
  }
  const operator = { open: async () => deps, print: (line: string) => void lines.push(line) }
  const program = new Command().exitOverride().addCommand(listenCommand(operator, stop.signal))
  const ended = program.parseAsync(['listen', ...words], { from: 'user' })
  onTestFinished(async () => {
    stop.abort()
    await ended
  })
  await Promise.race([ended, vi.waitFor(() => expect(lines).toHaveLength(1))])
  return lines
}

describe('payments trigger', () => {
  it('makes a test merchant where there is none', async () => {
    const answer = await json<{ merchantId: string }>('trigger', 'transaction.created')
    expect(answer).toEqual({ event: 'transaction.created', merchantId: anyId, objectId: anyId })
    merchantId = answer.merchantId
    const app = await createTestApp(payments)
    liveId = (await createTestMerchant(payments, app)).id
  })

  it.each(TRIGGERED_TYPES)('%s happens, with its object', async (type) => {
    const events = () =>
      payments.database.db
        .selectFrom('events')
        .select(['type', 'object_id'])
        .where('merchant_id', '=', merchantId)
        .orderBy('id', 'desc')
    const before = (await events().execute()).length
    const { objectId } = await json<{ objectId: string }>('trigger', type, '--merchant', merchantId)
    const after = await events().execute()
    const written = after.slice(0, after.length - before)
    expect(written.find((event) => event.type === type)?.object_id).toBe(objectId)
  })

  it.each([
    [['nothing.here'], `cannot trigger nothing.here; can trigger ${TRIGGERED_TYPES.join(', ')}`],
    [['transaction.rejected'], `cannot trigger transaction.rejected; can trigger ${TRIGGERED_TYPES.join(', ')}`],
    [['transaction.created', '--merchant', UNKNOWN_ID], `there is no merchant ${UNKNOWN_ID}`],
    [['transaction.created', '--merchant', 'x'], '--merchant must be 24 hexadecimal digits'],
  ])('refuses %j', async (words, message) => {
    await expect(run('trigger', ...words)).rejects.toHaveProperty('message', message)
  })

  it('refuses a live merchant, and one without an app', async () => {
    await expect(run('trigger', 'transaction.created', '--merchant', liveId)).rejects.toHaveProperty(
      'message',
      `merchant ${liveId} is live: events are triggered for test merchants`,
    )
    const lonely = await createTestMerchant(payments, await createTestApp(payments), { test: true })
    await payments.database.db.deleteFrom('merchant_apps').where('merchant_id', '=', lonely.id).execute()
    await expect(run('trigger', 'transaction.created', '--merchant', lonely.id)).rejects.toHaveProperty(
      'message',
      `merchant ${lonely.id} has no app with a good key`,
    )
  })
})

describe('payments listen', () => {
  const secretIn = (line = '') => /Secret of X-Signature: (\S+)/.exec(line)?.[1] ?? ''

  it('sends each event signed, and prints a line with the status of the answer', async () => {
    const { received, address } = await startReceiver(204)
    const lines = await startListening('--forward-to', address, '--merchant', merchantId)
    expect(lines[0]).toMatch(
      new RegExp(
        String.raw`^Events of test merchants go to http://${address}\. Secret of X-Signature: [\w-]{43} \(Ctrl-C`,
      ),
    )
    const { objectId } = await json<{ objectId: string }>('trigger', 'transaction.captured', '--merchant', merchantId)
    await vi.waitFor(() => expect(lines).toHaveLength(3))
    expect(received.map(({ body }) => JSON.parse(body))).toMatchObject([
      { type: 'transaction.created', merchantId, data: { transaction: { id: objectId } } },
      { type: 'transaction.captured', merchantId, data: { transaction: { id: objectId } } },
    ])
    for (const { headers, body } of received) {
      const [, time, signature] = /^t=(\d+),v1=(\w+)$/.exec(String(headers['x-signature'])) ?? []
      const expected = createHmac('sha256', secretIn(lines[0])).update(`${time}.${body}`).digest('hex')
      expect(signature).toBe(expected)
    }
    expect(lines.slice(1).map((line) => line.replace(/\d+ ms/, '0 ms').split(/ {2,}/))).toEqual([
      [anyTime, 'transaction.created', anyId, `merchant ${merchantId}`, '204 (0 ms)'],
      [anyTime, 'transaction.captured', anyId, `merchant ${merchantId}`, '204 (0 ms)'],
    ])
  })

  it('has the same secret each time, and sends only the types that are wanted', async () => {
    const { received, address } = await startReceiver(500)
    const [first = ''] = await startListening()
    const lines = await startListening(
      '--forward-to',
      `http://${address}`,
      '--events',
      'transaction.captured',
      '--json',
    )
    expect(JSON.parse(lines[0] ?? '')).toEqual({ secret: secretIn(first), forwardTo: `http://${address}` })
    await json('trigger', 'transaction.captured', '--merchant', merchantId)
    await vi.waitFor(() => expect(lines).toHaveLength(2))
    const event = JSON.parse(received[0]?.body ?? '')
    expect(event.type).toBe('transaction.captured')
    expect(JSON.parse(lines[1] ?? '')).toEqual({ event, status: 500, durationMs: expect.any(Number) })
  })

  it('goes on when nothing answers', async () => {
    const lines = await startListening('--forward-to', 'localhost:1')
    await json('trigger', 'transaction.created', '--merchant', merchantId)
    await vi.waitFor(() => expect(lines).toHaveLength(2))
    expect(lines[1]).toContain('nothing listens there')
  })

  it.each([
    [['--forward-to', 'http://'], '--forward-to must be an address such as localhost:3000/hook'],
    [['--events', 'x'], `there is no event x; there are ${EVENT_TYPES.join(', ')}`],
    [['--merchant', 'x'], '--merchant must be 24 hexadecimal digits'],
    [['--merchant', UNKNOWN_ID], `there is no merchant ${UNKNOWN_ID}`],
  ])('refuses %j', async (words, message) => {
    const { run: listen } = commandRunner([listenCommand], () => operatorDeps(payments))
    await expect(listen('listen', ...words)).rejects.toHaveProperty('message', message)
  })

  it('refuses a live merchant: its events are not for a program on a laptop', async () => {
    const { run: listen } = commandRunner([listenCommand], () => operatorDeps(payments))
    await expect(listen('listen', '--merchant', liveId)).rejects.toHaveProperty(
      'message',
      `merchant ${liveId} is live: make a webhook for its events`,
    )
  })
})
