import { once } from 'node:events'
import { get } from 'node:http'
import { promisify } from 'node:util'
import Fastify, { type FastifyRequest } from 'fastify'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { defineError } from '../errors/define-error.ts'
import { type ConcurrencyLimitOptions, concurrencyLimit } from './concurrency-limit.ts'

const busy = defineError(503, 'busy', 'Busy')
const BOUNDS = {
  slots: 2,
  each: 1,
  refuse: busy,
  clientOf: (request: FastifyRequest) => String(request.headers.client),
}
afterEach(() => {
  vi.useRealTimers()
})

/** Starts an app with a list whose reads wait until the test lets them continue. */
async function startLists(options: ConcurrencyLimitOptions) {
  const begun: string[] = []
  const gate = Promise.withResolvers<void>()
  const app = Fastify()
  onTestFinished(() => app.close())
  await app.register(concurrencyLimit, options)
  const read = async (request: FastifyRequest) => {
    begun.push(`${request.headers.client} ${request.url}`)
    await gate.promise
    return [request.url]
  }
  app.get('/held', read)
  app.get('/pieces', (request) => request.withSlots(1, () => read(request)))
  const get = async (url: string, client: string) => {
    const { statusCode, body } = await app.inject({ url, headers: { client } })
    return [statusCode, body]
  }
  return { app, begun, get, goOn: gate.resolve }
}

it('lets a client wait for its own pieces only', async () => {
  const { begun, get, goOn } = await startLists(BOUNDS)
  const answers = [get('/pieces', 'ada'), get('/pieces', 'ada'), get('/pieces', 'bob')]
  await vi.waitFor(() => expect(begun).toEqual(['ada /pieces', 'bob /pieces']))
  goOn()
  expect(await Promise.all(answers)).toEqual(Array(3).fill([200, '["/pieces"]']))
  expect(begun).toEqual(['ada /pieces', 'bob /pieces', 'ada /pieces'])
})

it('takes no turn for a whole request without sizes', async () => {
  const { begun, get, goOn } = await startLists(BOUNDS)
  const answers = [get('/held', 'ada'), get('/held', 'ada'), get('/held', 'ada')]
  await vi.waitFor(() => expect(begun).toEqual(Array(3).fill('ada /held')))
  goOn()
  expect(await Promise.all(answers)).toEqual(Array(3).fill([200, '["/held"]']))
})

it('holds the slots of a list with a size until it is answered, and none of a request without one', async () => {
  const sizeOf = ({ url }: FastifyRequest) => (url === '/held' ? 1 : undefined)
  const { begun, get, goOn } = await startLists({ ...BOUNDS, sizeOf })
  const held = [get('/held', 'ada'), get('/held', 'ada')]
  await vi.waitFor(() => expect(begun).toEqual(['ada /held']))
  expect((await get('/unknown', 'ada')).at(0)).toBe(404)
  goOn()
  expect(await Promise.all(held)).toEqual(Array(2).fill([200, '["/held"]']))
  expect(begun).toEqual(['ada /held', 'ada /held'])
})

it('reads no list for a client that left while it waited for a slot', async () => {
  const { app, begun, goOn } = await startLists({ ...BOUNDS, sizeOf: () => 1 })
  const url = await app.listen({ port: 0 })
  const countOpen = promisify(app.server.getConnections.bind(app.server))
  const ask = (path: string) =>
    get(new URL(path, url), { agent: false, headers: { client: 'ada' } }).on('error', () => {})
  const first = ask('/held?1')
  await vi.waitFor(() => expect(begun).toEqual(['ada /held?1']))
  const left = [ask('/held?2'), ask('/held?3')]
  await vi.waitFor(async () => expect(await countOpen()).toBe(3))
  for (const each of left) each.destroy()
  await vi.waitFor(async () => expect(await countOpen()).toBe(1))
  const last = ask('/held?4')
  goOn()
  await Promise.all([first, last].map((each) => once(each, 'response')))
  expect(begun).toEqual(['ada /held?1', 'ada /held?4'])
})

it('refuses a request without a slot after ten seconds, and gives the slot to the next request', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { begun, get, goOn } = await startLists(BOUNDS)
  const first = get('/pieces', 'ada')
  await vi.waitFor(() => expect(begun).toEqual(['ada /pieces']))
  const late = get('/pieces', 'ada')
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1))
  vi.advanceTimersByTime(10_000)
  const refused = { statusCode: 503, code: 'busy', error: 'Service Unavailable', message: 'Busy' }
  const [status, body] = await late
  expect([status, JSON.parse(String(body))]).toEqual([503, refused])
  goOn()
  expect(await first).toEqual([200, '["/pieces"]'])
  expect(await get('/pieces', 'ada')).toEqual([200, '["/pieces"]'])
})
