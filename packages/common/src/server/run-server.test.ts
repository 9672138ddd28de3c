import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { type FastifyInstance, fastify } from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { createReadiness } from './readiness.ts'
import { type RunOptions, runServer } from './run-server.ts'

/** A process that notes its exit instead of ending. */
class StubProcess extends EventEmitter {
  readonly exited = Promise.withResolvers<number>()
  readonly events: string[] = []

  exit(code: number): never {
    this.events.push(`exit ${code}`)
    this.exited.resolve(code)
    return undefined as never
  }
}

const slow = Promise.withResolvers<void>()
const LIMITS = { unaskedMs: 100, drainMs: 5_000, shutdownMs: 15_000 }

function prepare(given: Partial<RunOptions> = {}) {
  const process = new StubProcess()
  const { events } = process
  const note = (_members: unknown, message?: string) => void events.push(message ?? String(_members))
  const app: FastifyInstance = fastify({ forceCloseConnections: 'idle' })
  app.get('/', async () => 'ok')
  app.get('/slow', async () => slow.promise)
  const options = {
    app,
    host: '127.0.0.1',
    port: 0,
    log: {
      logger: { info: note, error: note, fatal: note },
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
    ...given,
  } as unknown as RunOptions
  onTestFinished(() => app.close())
  return { app, events, options, process }
}

async function open(app: FastifyInstance): Promise<Socket> {
  const socket = connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  await once(socket, 'connect')
  return socket
}

it('waits for the start when a signal comes during it, then stops all of it', async () => {
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

it('does not wait for connections that ask nothing', async () => {
  const { app, events, options, process } = prepare()
  await runServer(options)
  const silent = await open(app)
  const idle = await open(app)
  idle.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(idle, 'data')
  const start = performance.now()
  process.emit('SIGTERM')
  expect(await process.exited.promise).toBe(0)
  expect(performance.now() - start).toBeLessThan(2_000)
  expect(events).toEqual(['listening', 'shutting down', 'stop', 'stopped', 'flush', 'exit 0'])
  silent.destroy()
})

it('answers who has connected and asked before the signal, though nobody has listened to him yet', async () => {
  const { app, options, process } = prepare()
  await runServer(options)
  const clients = await Promise.all(Array.from({ length: 50 }, () => open(app)))
  const answers = clients.map((client) => once(client, 'data'))
  const taken = new Promise<number>((resolve) => {
    process.once('SIGTERM', () => app.server.getConnections((_error, count) => resolve(count)))
  })
  for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  process.emit('SIGTERM')
  // Otherwise this would try nothing.
  expect(await taken).toBeLessThan(clients.length)
  for (const [answer] of await Promise.all(answers)) expect(String(answer)).toMatch(/^HTTP\/1.1 200 /)
  expect(await process.exited.promise).toBe(0)
})

it('takes requests for longer while a balancer has not noticed, and leads its connections elsewhere', async () => {
  const { app, options, process } = prepare({ shutdownDelayMs: 50 })
  await runServer(options)
  process.emit('SIGTERM')
  const endMs = performance.now() + 600
  while (performance.now() < endMs) {
    const client = await open(app)
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const [answer] = await once(client, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 .*connection: close/is)
  }
  expect(await process.exited.promise).toBe(0)
})

it('takes requests for a while after the signal, and is not ready', async () => {
  const readiness = createReadiness({})
  const { app, events, options, process } = prepare({ readiness, shutdownDelayMs: 300 })
  await runServer(options)
  process.emit('SIGTERM')
  expect(await readiness.missing()).toBe('the process is draining')
  const late = await open(app)
  late.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(String((await once(late, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /)
  expect(events).toEqual(['listening', 'shutting down'])
  expect(await process.exited.promise).toBe(0)
  expect(events).toEqual(['listening', 'shutting down', 'stop', 'stopped', 'flush', 'exit 0'])
})

it('answers what runs, and cuts off at the end of its time what does not end, so that the rest is stopped too', async () => {
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

it('ends once, also when what still ran ends while the log is written', async () => {
  const flushed = Promise.withResolvers<void>()
  const { events, options, process } = prepare({
    limits: { ...LIMITS, shutdownMs: 100 },
    stop: async () => {
      await expect.poll(() => events).toContain('gave up waiting for what still ran')
      setTimeout(flushed.resolve, 50)
    },
  })
  options.log.flush = () => flushed.promise
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

it('logs what nobody caught, and ends with status 1', async () => {
  const { events, options, process } = prepare()
  await runServer(options)
  process.emit('uncaughtException', new Error('unexpected'), 'uncaughtException')
  expect(await process.exited.promise).toBe(1)
  expect(events).toEqual(['listening', 'crashed', 'flush', 'exit 1'])
})

it('gives the first answer before it loads what takes long', async () => {
  const order: string[] = []
  const { app, options } = prepare({
    start: (answered) => answered.then(() => void order.push('loads')),
    limits: { ...LIMITS, unaskedMs: 60_000 },
  })
  app.addHook('onResponse', async () => void order.push('answered'))
  const run = runServer(options)
  await expect.poll(() => app.server.listening).toBe(true)
  const first = await open(app)
  first.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await run
  expect(order).toEqual(['answered', 'loads'])
})

it('does not wait for long for somebody to ask', async () => {
  await runServer(prepare({ start: (answered) => answered, limits: { ...LIMITS, unaskedMs: 1 } }).options)
})

it('fails when the port is taken', async () => {
  const first = prepare()
  await runServer(first.options)
  const port = Number(new URL(first.app.listeningOrigin).port)
  await expect(runServer(prepare({ port }).options)).rejects.toThrow('EADDRINUSE')
})
