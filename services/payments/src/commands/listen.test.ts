import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { type TriggeredType, triggerEvent } from '../use-cases/trigger-event.ts'
import { EVENT_TYPES } from '../webhooks/event.ts'
import { listenCommand } from './listen.ts'

let payments: TestPayments
let app: TestApp
let merchantId: string
let liveId: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  liveId = (await createTestMerchant(payments, app)).id
  merchantId = (await createTestMerchant(payments, app, { test: true })).id
})
afterAll(() => payments.close())

const { run } = commandRunner([listenCommand], () => operatorDeps(payments))
const trigger = (type: TriggeredType) => triggerEvent(operatorDeps(payments), { type, merchantId })

interface Received {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Starts a server that receives events at `/hook`, like the program of a developer. */
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
    const { objectId } = await trigger('transaction.captured')
    await vi.waitFor(() => expect(lines).toHaveLength(3))
    const stored = await payments.app.inject({ url: `/merchants/${merchantId}/events?limit=2`, headers: app.headers })
    const [captured, created] = stored.json()
    expect([captured.type, captured.data.transaction.id]).toEqual(['transaction.captured', objectId])
    expect(received.map(({ body }) => JSON.parse(body))).toEqual([created, captured])
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
    await trigger('transaction.captured')
    await vi.waitFor(() => expect(lines).toHaveLength(2))
    const event = JSON.parse(received[0]?.body ?? '')
    expect(event.type).toBe('transaction.captured')
    expect(JSON.parse(lines[1] ?? '')).toEqual({ event, status: 500, durationMs: expect.any(Number) })
  })

  it('keeps listening when no program answers', async () => {
    const lines = await startListening('--forward-to', 'localhost:1')
    await trigger('transaction.created')
    await vi.waitFor(() => expect(lines).toHaveLength(2))
    expect(lines[1]).toContain('nothing listens there')
  })

  it.each([
    [['--forward-to', 'http://'], '--forward-to must be an address such as localhost:3000/hook'],
    [['--events', 'x'], `there is no event x; there are ${EVENT_TYPES.join(', ')}`],
    [['--merchant', 'x'], '--merchant must be 24 hexadecimal digits'],
    [['--merchant', UNKNOWN_ID], `there is no merchant ${UNKNOWN_ID}`],
  ])('refuses %j', async (words, message) => {
    await expect(run('listen', ...words)).rejects.toHaveProperty('message', message)
  })

  it('refuses a live merchant: its events are not for a program on a laptop', async () => {
    await expect(run('listen', '--merchant', liveId)).rejects.toHaveProperty(
      'message',
      `merchant ${liveId} is live: make a webhook for its events`,
    )
  })
})
