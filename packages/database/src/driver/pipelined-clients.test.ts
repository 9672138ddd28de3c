import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { urlThrough } from '@trestle/testing/cut-wire.ts'
import { portOf } from '@trestle/testing/free-port.ts'
import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import { types } from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NoConnectionError } from '../unavailable.ts'
import { type PipelinedClients, startPipelinedClients } from './pipelined-clients.ts'

const database = await createEmptyDatabase()
let proxy: Server
let clients: PipelinedClients
let isSilent = false
/** Connections that have sent a statement. */
const asked = new Set<Socket>()
const errors: Error[] = []

beforeAll(async () => {
  const { hostname, port } = new URL(database.url)
  proxy = createServer((near) => {
    const far = connect(Number(port), hostname)
    near.on('data', () => asked.add(near))
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk: Buffer) => isSilent || to.write(chunk))
      from.on('close', () => to.destroy())
      from.on('error', () => to.destroy())
    }
  })
  clients = startPipelinedClients(
    { connectionString: await urlThrough(proxy, database.url) },
    {
      count: 2,
      silenceMs: 1_000,
      connectMs: 5_000,
      acceptMs: 1_000,
      parserOf: (oid) => types.getTypeParser(oid),
      onConnectionError: (error) => errors.push(error),
    },
  )
})

afterAll(async () => {
  await clients.close()
  proxy.close()
  await database.drop()
})

const double = async (n: number) =>
  (await clients.query({ name: prepared ? 'd' : '', text: 'SELECT 2 * $1::int AS d', values: [n] }))[0]?.d

it('returns to each of many statements its own answer or error', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      n % 10 === 0
        ? clients.query({ name: '', text: 'SELECT 1 / $1::int', values: [0] }).catch((error: Error) => error.message)
        : double(n),
    ),
  )
  expect(answers).toEqual(answers.map((_, n) => (n % 10 === 0 ? 'division by zero' : 2 * n)))
})

it('uses the first connection while it owes no answer, otherwise another one', async () => {
  await Promise.all([double(0), double(1)])
  asked.clear()
  for (const n of [2, 3, 4]) await double(n)
  expect(asked.size).toBe(1)
  // The second connection may still be opening.
  const askTogether = async () => {
    asked.clear()
    await Promise.all([double(5), double(6)])
    return asked.size
  }
  await expect.poll(askTogether).toBe(2)
})

it('drops silent connections that owe answers, and reconnects', async () => {
  isSilent = true
  const owed = await Promise.allSettled([double(1), double(2), double(3)])
  expect(owed.map((result) => result.status === 'rejected' && result.reason)).toEqual(
    Array.from({ length: 3 }, () => expect.any(NoConnectionError)),
  )
  isSilent = false
  expect(await double(21)).toBe(42)
  expect(errors.length).toBeGreaterThan(0)
})

it('refuses statements while the server refuses connections, and answers the first ones once it accepts them', async () => {
  const port = portOf(proxy)
  proxy.close()
  for (const near of asked) near.destroy()
  await once(proxy, 'close')
  const refusal = () =>
    double(1).catch(({ name, cause }: Error & { readonly cause: NodeJS.ErrnoException }) => [name, cause.code])
  await expect.poll(refusal).toEqual(['NoConnectionError', 'ECONNREFUSED'])
  proxy.listen(port, '127.0.0.1')
  await once(proxy, 'listening')
  expect(await Promise.all([double(4), double(5), double(6)])).toEqual([8, 10, 12])
})
