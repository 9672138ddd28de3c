import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { type FastifyInstance, fastify } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { createReadiness } from './readiness.ts'
import { type RunOptions, runServer } from './run-server.ts'

/** A process that records its exit instead of ending. */
class StubProcess extends EventEmitter {
  readonly exited = Promise.withResolvers<number>()
  readonly events: string[] = []

  exit(code: number): void {
    this.events.push(`exit ${code}`)
    this.exited.resolve(code)
  }
}

const slow = Promise.withResolvers<void>()
const LIMITS = { unaskedMs: 100, noticeMs: 2_500, drainMs: 5_000, shutdownMs: 15_000 }
/** Longer than any test may take. A test that waits for this time fails. */
const NEVER_MS = 3_600_000
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
const BIG_BYTES = 30_000_000

function prepare(given: Partial<RunOptions> = {}) {
  const process = new StubProcess()
  const { events } = process
  const remember = (_members: unknown, message?: string) => void events.push(message ?? String(_members))
  const app: FastifyInstance = fastify({ forceCloseConnections: 'idle' })
  app.get('/', async () => 'ok')
  app.get('/slow', async () => slow.promise)
  app.get('/big', async () => Buffer.alloc(BIG_BYTES))
  const options: RunOptions = {
    app,
    host: '127.0.0.1',
    port: 0,
    log: {
      logger: { info: remember, error: remember, fatal: remember },
      reopen: async () => {},
      flush: async () => {
        await setImmediate()
        events.push('flush')
      },
    },
    readiness: createReadiness({}),
    start: async () => {},
    stop: async () => void events.push('stop'),
    shutdownDelayMs: 0,
    process,
    limits: LIMITS,
    boundMemory: () => {},
    ...given,
  }
  onTestFinished(() => app.close())
  return { app, events, options, process }
}

function portOf(app: FastifyInstance): number {
  return Number(new URL(app.listeningOrigin).port)
}

async function open(app: FastifyInstance): Promise<Socket> {
  const socket = connect(portOf(app), '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'connect')
  return socket
}

/** @returns the response to a request on a new connection, or an empty string if there is none */
async function ask(port: number, request: string): Promise<string> {
  const client = connect(port, '127.0.0.1')
  let answer = ''
  client.on('data', (chunk) => {
    answer += chunk
  })
  client.on('error', () => {})
  client.write(request)
  await new Promise((resolve) => client.once('close', resolve))
  return answer
}

it('waits for the start when a signal arrives during it, then stops everything', async () => {
  const started = Promise.withResolvers<void>()
  const { app, events, options, process } = prepare({ start: () => started.promise })
  const run = runServer(options)
  await expect.poll(() => app.server.listening).toBe(true)
  process.emit('SIGTERM')
  process.emit('SIGINT')
  started.resolve()
  await run
  expect(await process.exited.promise).toBe(0)
  expect(events).toEqual(['listening', 'shutting down', 'stop', 'stopped', 'flush', 'exit 0'])
})

it('does not wait for connections without a request', async () => {
  const { app, events, options, process } = prepare({ limits: { ...LIMITS, drainMs: NEVER_MS, shutdownMs: NEVER_MS } })
  await runServer(options)
  const silent = await open(app)
  const idle = await open(app)
  idle.write(GET)
  await once(idle, 'data')
  process.emit('SIGTERM')
  expect(await process.exited.promise).toBe(0)
  expect(events).toEqual(['listening', 'shutting down', 'stop', 'stopped', 'flush', 'exit 0'])
  silent.destroy()
})

it('answers clients that connected and sent a request before the signal, even if they are not accepted yet', async () => {
  const { app, options, process } = prepare()
  await runServer(options)
  const clients = await Promise.all(Array.from({ length: 200 }, () => open(app)))
  const answers = clients.map((client) => once(client, 'data'))
  const taken = new Promise<number>((resolve) => {
    process.once('SIGTERM', () => app.server.getConnections((_error, count) => resolve(count)))
  })
  for (const client of clients) client.write(GET)
  process.emit('SIGTERM')
  // Some connections must still wait in the kernel. Otherwise this test would prove nothing.
  expect(await taken).toBeLessThan(clients.length)
  for (const [answer] of await Promise.all(answers)) expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
  expect(await process.exited.promise).toBe(0)
})

it('takes requests for longer while a load balancer has not noticed, and closes its connections', async () => {
  const [asked, unasked] = [prepare({ shutdownDelayMs: 50 }), prepare({ shutdownDelayMs: 50 })]
  for (const { options } of [asked, unasked]) await runServer(options)
  for (const { process } of [asked, unasked]) process.emit('SIGTERM')
  for (const { app } of [asked, unasked]) await ask(portOf(app), GET)
  let hasExited = false
  const exited = unasked.process.exited.promise.finally(() => {
    hasExited = true
  })
  const port = portOf(asked.app)
  // The server `unasked` gets only one request, so it ends first.
  while (!hasExited) {
    expect(await ask(port, GET)).toMatch(/^HTTP\/1.1 200 .*connection: close/is)
  }
  expect(asked.events).toEqual(['listening', 'shutting down'])
  expect(await Promise.all([exited, asked.process.exited.promise])).toEqual([0, 0])
})

it.each([
  { who: 'asks for readiness', request: 'GET /ready HTTP/1.1\r\nHost: a\r\n\r\n', noticeMs: NEVER_MS },
  { who: 'never notices', request: GET, noticeMs: 300 },
])('does not wait for a client that $who', async ({ request, noticeMs }) => {
  const { app, options, process } = prepare({
    shutdownDelayMs: 50,
    limits: { unaskedMs: 100, noticeMs, drainMs: NEVER_MS, shutdownMs: NEVER_MS },
  })
  await runServer(options)
  let hasExited = false
  const exited = process.exited.promise.finally(() => {
    hasExited = true
  })
  const port = portOf(app)
  process.emit('SIGTERM')
  while (!hasExited) {
    await ask(port, request)
  }
  expect(await exited).toBe(0)
})

it('closes connections whose answer was being sent when the signal arrived', async () => {
  const answer = Promise.withResolvers<string>()
  const { app, options, process } = prepare({ limits: { ...LIMITS, drainMs: NEVER_MS, shutdownMs: NEVER_MS } })
  app.get('/held', async () => answer.promise)
  await runServer(options)
  const client = await open(app)
  const asked = once(app.server, 'request')
  client.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
  await asked
  process.emit('SIGTERM')
  await expect.poll(() => app.server.listening).toBe(false)
  answer.resolve('late')
  expect(await process.exited.promise).toBe(0)
})

it('sends the whole answer to a client that reads slowly', async () => {
  const { app, options, process } = prepare()
  await runServer(options)
  const client = await open(app)
  client.pause()
  let bytes = 0
  client.on('data', (chunk) => {
    bytes += chunk.length
  })
  const handed = new Promise<void>((resolve) => {
    app.server.once('request', (_request, response) => response.once('prefinish', resolve))
  })
  const closed = once(client, 'close')
  client.write('GET /big HTTP/1.1\r\nHost: a\r\n\r\n')
  await handed
  process.emit('SIGTERM')
  client.resume()
  expect(await process.exited.promise).toBe(0)
  await closed
  expect(bytes).toBeGreaterThan(BIG_BYTES)
})

it('takes requests for a while after the signal, and is not ready', async () => {
  const readiness = createReadiness({})
  const { app, events, options, process } = prepare({ readiness, shutdownDelayMs: 300 })
  await runServer(options)
  process.emit('SIGTERM')
  expect(await readiness.missing()).toEqual({ state: 'draining' })
  const late = await open(app)
  late.write(GET)
  expect(String((await once(late, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /)
  expect(events).toEqual(['listening', 'shutting down'])
  expect(await process.exited.promise).toBe(0)
  expect(events).toEqual(['listening', 'shutting down', 'stop', 'stopped', 'flush', 'exit 0'])
})

it('answers open requests, and cuts those that take too long, so that the rest is stopped too', async () => {
  const { app, events, options, process } = prepare({
    limits: { ...LIMITS, drainMs: 500, shutdownMs: 10_000 },
    stop: async (remainingMs) => void events.push(remainingMs > 5_000 ? 'stop in time' : 'stop too late'),
  })
  await runServer(options)
  onTestFinished(() => slow.resolve())
  const uploading = await open(app)
  uploading.write('GET /unfinished HT')
  const waiting = await open(app)
  const asked = once(app.server, 'request')
  waiting.write('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  await asked
  process.emit('SIGTERM')
  expect(await process.exited.promise).toBe(0)
  expect(events).toEqual(['listening', 'shutting down', 'stop in time', 'stopped', 'flush', 'exit 0'])
})

it('ends once, even if open work ends while the log is written', async () => {
  const flushing = Promise.withResolvers<void>()
  const { events, options, process } = prepare({ limits: { ...LIMITS, shutdownMs: 100 }, stop: () => flushing.promise })
  options.log.flush = async () => {
    flushing.resolve()
    await setImmediate()
  }
  await runServer(options)
  process.emit('SIGTERM')
  expect(await process.exited.promise).toBe(0)
  expect(events).toEqual(['listening', 'shutting down', 'gave up waiting for what still ran', 'exit 0'])
})

it('ends at once when it crashes a second time', async () => {
  const { events, options, process } = prepare()
  options.log.flush = () => new Promise(() => {})
  await runServer(options)
  for (const _ of [1, 2]) process.emit('uncaughtException', new Error('unexpected'), 'uncaughtException')
  expect(events).toEqual(['listening', 'crashed', 'crashed', 'exit 1'])
})

// ASVS 16.3.4
it('logs an uncaught error, and ends with status 1', async () => {
  const { events, options, process } = prepare()
  await runServer(options)
  process.emit('uncaughtException', new Error('unexpected'), 'uncaughtException')
  expect(await process.exited.promise).toBe(1)
  expect(events).toEqual(['listening', 'crashed', 'flush', 'exit 1'])
})

it('sends the first answer before it loads large libraries, and bounds its memory after it', async () => {
  const order: string[] = []
  const { app, options } = prepare({
    start: (answered) => answered.then(() => void order.push('loads')),
    boundMemory: () => void order.push('bounds its memory'),
    limits: { ...LIMITS, unaskedMs: 60_000 },
  })
  app.addHook('onResponse', async () => void order.push('answered'))
  const run = runServer(options)
  await expect.poll(() => app.server.listening).toBe(true)
  const first = await open(app)
  first.write(GET)
  await run
  expect(order).toEqual(['answered', 'loads', 'bounds its memory'])
})

it('does not wait long for a first request', async () => {
  const { app, options } = prepare({ start: (answered) => answered, limits: { ...LIMITS, unaskedMs: 1 } })
  await runServer(options)
  expect(app.server.listening).toBe(true)
})

it('fails when the port is taken', async () => {
  const first = prepare()
  await runServer(first.options)
  const port = portOf(first.app)
  await expect(runServer(prepare({ port }).options)).rejects.toThrow('EADDRINUSE')
})
