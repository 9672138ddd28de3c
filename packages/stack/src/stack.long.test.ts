import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import pg from 'pg'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { printStatus } from './commands/status.ts'
import { stopStack } from './commands/stop.ts'
import { isAlive } from './processes/process-identity.ts'
import { StackFailure } from './stack-failure.ts'

removeFoldersAtEnd()

/** A program that stands in for a service. It is ready immediately, ends at SIGTERM, and inserts a row at every start. */
const service = `import { createServer } from 'node:http'
import { createRequire } from 'node:module'
const pg = createRequire(${JSON.stringify(import.meta.url)})('pg')
const client = new pg.Client(process.env.DATABASE_URL)
await client.connect()
await client.query('CREATE TABLE IF NOT EXISTS starts (n int)')
await client.query('INSERT INTO starts VALUES (1)')
await client.end()
if (process.env.INVENTORY_LOG_LEVL) console.log('{"level":"warn","msg":"unknown setting INVENTORY_LOG_LEVL, did you mean INVENTORY_LOG_LEVEL?"}')
if (process.env.INVENTORY_FAILS) { console.error('config: INVENTORY_FAILS is set'); process.exit(1) }
const server = createServer((_request, response) => response.end('{"status":"ready"}'))
server.listen(Number(process.env.INVENTORY_PORT), '127.0.0.1')
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

/** The stack with that service. If the environment names a file, `fill` waits until the file exists. */
const program = `import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { readUserEnvironment } from '${import.meta.dirname}/settings/environment.ts'
import { planStack } from '${import.meta.dirname}/settings/plan.ts'
import { runStack } from '${import.meta.dirname}/stack.ts'
import { watchStopSignals } from '${import.meta.dirname}/stack.ts'
const stop = watchStopSignals({ isUnderNpm: false })
const root = import.meta.dirname
const env = readUserEnvironment(root + '/.env', process.env)
const plan = planStack({ root, program: 'start-fixture.ts', env, names: ['inventory'], isWatched: false })
try {
  const say = (line) => console.log(line)
  const fill = async () => {
    const file = env.FILLED_WITH
    if (!file) return
    const folder = watch(dirname(file))
    say('Filling')
    while (!existsSync(file)) await once(folder, 'change')
    folder.close()
  }
  await runStack(plan, { say, stop, fill, whenReady: async () => say('Trestle is ready') })
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
process.exit()
`

interface Stack {
  readonly process: ChildProcess
  readonly pid: number
  readonly output: () => string
  readonly exited: Promise<unknown>
}

const running = new Set<Stack>()
let checkout: Awaited<ReturnType<typeof newCheckout>>
beforeAll(async () => {
  checkout = await newCheckout()
})
afterEach(async () => {
  for (const { process: child } of running) child.kill('SIGTERM')
  await Promise.all([...running].map(({ exited }) => exited))
  running.clear()
})

async function newCheckout() {
  const root = createFolder()
  mkdirSync(join(root, 'services', 'inventory', 'src'), { recursive: true })
  writeFileSync(join(root, 'services', 'inventory', 'src', 'main.ts'), service)
  writeFileSync(join(root, 'start-fixture.ts'), program)
  writeFileSync(join(root, 'package.json'), '{"type":"module"}')
  const [port, metricsPort, databasePort] = [await freePort(), await freePort(), await freePort()]
  const homePort = await freePort()
  const env = {
    PATH: process.env.PATH,
    // Use a separate cache, because the cache also contains the modules of the checkout.
    NODE_COMPILE_CACHE: join(root, 'cache'),
    INVENTORY_PORT: String(port),
    INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT: String(metricsPort),
    TRESTLE_DATABASE_PORT: String(databasePort),
    TRESTLE_HOME_PORT: String(homePort),
    TRESTLE_STATE_DIRECTORY: join(root, 'state'),
  }
  return { root, port, databasePort, env }
}

function start({ root, env }: { root: string; env: NodeJS.ProcessEnv }, more: NodeJS.ProcessEnv = {}): Stack {
  const child = spawn(process.execPath, ['start-fixture.ts'], { cwd: root, env: { ...env, ...more }, detached: true })
  const chunks: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => chunks.push(text))
  const stack = { process: child, pid: child.pid ?? 0, output: () => chunks.join(''), exited: once(child, 'close') }
  running.add(stack)
  return stack
}

const ready = (stack: Stack) => expect.poll(stack.output, { timeout: 60_000 }).toMatch(/(^|\n)Trestle is ready\n$/)

/** Returns the ids of all processes that the stack has started, from its pid files. */
function startedBy(root: string): number[] {
  const files = [join(root, '.data', 'run', 'inventory.pid'), postmasterFile(root)]
  return files.map((file) => Number.parseInt(readFileSync(file, 'utf8'), 10))
}

/** The pid file of PostgreSQL. Its data are in the state directory if it cannot access the checkout. */
function postmasterFile(root: string): string {
  const outside = join(root, 'state')
  const homes = existsSync(outside) ? readdirSync(outside).map((name) => join(outside, name)) : [join(root, '.data')]
  return join(homes[0] ?? '', 'postgres', 'postmaster.pid')
}

/** Returns how often the service has started with this data. */
async function countStarts(root: string, port: number): Promise<number> {
  const password = /TRESTLE_DATABASE_PASSWORD="(.*)"/.exec(
    readFileSync(join(root, '.data', 'secrets.env'), 'utf8'),
  )?.[1]
  const client = new pg.Client(`postgres://trestle:${password}@127.0.0.1:${port}/trestle`)
  await client.connect()
  const { rows } = await client.query('SELECT count(*)::int AS starts FROM starts')
  await client.end()
  return rows[0].starts
}

describe('npm start', () => {
  it('warns of a misspelt setting, runs until Ctrl-C, which arrives twice, and leaves no process', async () => {
    const stack = start(checkout, { INVENTORY_LOG_LEVL: 'debug' })
    await ready(stack)
    const pids = startedBy(checkout.root)
    expect(pids.map(isAlive)).toEqual([true, true])
    expect(statSync(join(checkout.root, '.data', 'inventory.env')).mode & 0o777).toBe(0o600)
    // The terminal signals the whole process group, and npm then forwards the signal.
    process.kill(-stack.pid, 'SIGINT')
    process.kill(stack.pid, 'SIGINT')
    expect(await stack.exited).toEqual([0, null])
    expect(pids.map(isAlive)).toEqual([false, false])
    const warning = 'inventory: unknown setting INVENTORY_LOG_LEVL, did you mean INVENTORY_LOG_LEVEL?'
    expect(stack.output().endsWith(`${warning}\nTrestle is ready\nStopping\nStopped\n`)).toBe(true)
  })

  it('ends the processes that a kill -9 of the stack left, and keeps the data', async () => {
    const first = start(checkout)
    await ready(first)
    const starts = await countStarts(checkout.root, checkout.databasePort)
    const pids = startedBy(checkout.root)
    process.kill(first.pid, 'SIGKILL')
    await first.exited
    expect(pids.map(isAlive)).toEqual([true, true])
    const second = start(checkout)
    await ready(second)
    expect(pids.map(isAlive)).toEqual([false, false])
    expect(await countStarts(checkout.root, checkout.databasePort)).toBe(starts + 1)
  })

  it('starts again after kill -9 of everything, with the data', async () => {
    const first = start(checkout)
    await ready(first)
    const starts = await countStarts(checkout.root, checkout.databasePort)
    for (const pid of [first.pid, ...startedBy(checkout.root)]) process.kill(pid, 'SIGKILL')
    await first.exited
    const second = start(checkout)
    await ready(second)
    expect(await countStarts(checkout.root, checkout.databasePort)).toBe(starts + 1)
  })

  it('refuses to run twice in one checkout, also after its data were removed, and does not disturb the first', async () => {
    const first = start(checkout)
    await ready(first)
    const second = start(checkout)
    expect(await second.exited).toEqual([1, null])
    expect(second.output()).toBe(`Trestle is already running here (process ${first.pid}). Stop that first.\n`)
    const pids = startedBy(checkout.root)
    const run = join(checkout.root, '.data', 'run')
    renameSync(run, `${run}.away`)
    const third = start(checkout)
    expect(await third.exited).toEqual([1, null])
    const removed = `Trestle is still running here (process ${first.pid}), though its data were removed.`
    expect(third.output()).toBe(`${removed} Stop it first: npm start -- stop\n`)
    expect(pids.map(isAlive)).toEqual([true, true])
    const env = { TRESTLE_HOME_PORT: checkout.env.TRESTLE_HOME_PORT }
    await stopStack({ root: checkout.root, program: 'start-fixture.ts', env, say: () => undefined })
    expect(await first.exited).toEqual([0, null])
  })

  it('names a port in use in one line, and starts nothing', async () => {
    const other = createServer().listen(checkout.port, '127.0.0.1')
    await once(other, 'listening')
    const stack = start(checkout)
    expect(await stack.exited).toEqual([1, null])
    expect(stack.output()).toMatch(
      new RegExp(
        `^Port ${checkout.port} \\(inventory\\) is in use by process ${process.pid} \\(.+\\)\\. Stop that, or set INVENTORY_PORT\\.\n$`,
      ),
    )
    other.close()
  })

  it('shows the last lines of a service that could not start, and stops the rest', async () => {
    const stack = start(checkout, { INVENTORY_FAILS: 'yes' })
    expect(await stack.exited).toEqual([1, null])
    expect(stack.output()).toMatch(
      /inventory has ended before it was ready \(exit status 1\)\.\nIts last lines:\nconfig: INVENTORY_FAILS is set\n$/,
    )
    expect(existsSync(postmasterFile(checkout.root))).toBe(false)
  })

  it('is not ready before its demo data are there, and stops while they are being added', async () => {
    const file = join(checkout.root, 'filled')
    const filling = async () => {
      const stack = start(checkout, { FILLED_WITH: file })
      await expect.poll(stack.output, { timeout: 60_000 }).toMatch(/(^|\n)Filling\n$/)
      return stack
    }
    const context = { root: checkout.root, program: '', env: {}, say: () => undefined }
    const first = await filling()
    await expect(printStatus(context, 'json')).rejects.toEqual(
      new StackFailure(['Trestle is still starting, or stopping. Ask again in a moment.']),
    )
    process.kill(first.pid, 'SIGTERM')
    expect(await first.exited).toEqual([0, null])
    expect(first.output().endsWith('Filling\nStopping\nStopped\n')).toBe(true)
    const second = await filling()
    writeFileSync(file, '')
    await printStatus(context, 'json', 30_000)
    await ready(second)
  })

  it('stops while it is still starting', async () => {
    const stack = start(checkout)
    await expect.poll(() => existsSync(join(checkout.root, '.data', 'run', 'stack.pid'))).toBe(true)
    process.kill(stack.pid, 'SIGTERM')
    expect(await stack.exited).toEqual([0, null])
    // The first start in a checkout also prints the location of the data if it is outside the checkout.
    expect(stack.output()).toMatch(/^(PostgreSQL keeps its data in .*\n)?Stopping\nStopped\n$/)
  })
})
