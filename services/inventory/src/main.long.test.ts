import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import { anyUuid } from '@trestle/testing/any-text.ts'
import { type CommandServer, startCommandServer } from '@trestle/testing/command-server.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { refusedBody, requestLine } from '../test/bodies.ts'
import { addressOf, environmentWith, type InventoryProcess, MAIN, runInventory } from '../test/run-inventory.ts'

removeFoldersAtEnd()

const databases: TemporaryDatabase[] = []
const running: InventoryProcess[] = []
let server: CommandServer
beforeAll(async () => {
  server = await startCommandServer()
})
afterAll(async () => {
  await Promise.all([server?.stop(), ...running.map(({ cleanUp }) => cleanUp())])
  for (const { drop } of databases) await drop()
})

const names = Object.keys(inventoryMigrations)
const functions = (await inventoryFunctions()).map(({ name }) => name)
const NO_DATABASE = 'postgres://nobody:hidden@127.0.0.1:1/none'

/** Creates an empty database and returns its URL as a setting. */
async function emptyDatabase(): Promise<{ readonly INVENTORY_DATABASE_URL: string }> {
  const database = await createEmptyDatabase()
  databases.push(database)
  return { INVENTORY_DATABASE_URL: database.url }
}

/** Starts the program. By default its database is unavailable. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const inventory = runInventory(args, { INVENTORY_DATABASE_URL: NO_DATABASE, ...env })
  running.push(inventory)
  return inventory
}

function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

/** Runs the program to its end in the command server. By default its database is unavailable. */
function runToEnd(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd = createFolder()) {
  return server.run(MAIN, args, { cwd, env: environmentWith({ INVENTORY_DATABASE_URL: NO_DATABASE, ...env }) })
}

async function output(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<string> {
  const { status, stdout, stderr } = await runToEnd(args, env)
  expect([status, stderr]).toEqual([0, ''])
  return stdout
}

describe('inventory', () => {
  it('migrates, adds sample products and examines the service by its commands', async () => {
    const env = await emptyDatabase()
    const applied = names.map((name) => `applied ${name}\n`).join('')
    expect(await output(['migrate'], env)).toBe(`${applied}installed ${functions.length} functions\n`)
    expect(await output(['seed', '--products', '3', '--stock', '7'], env)).toBe(
      'added 3 of 3 sample products\n' +
        'received 7 of each of 3 sample products that had no stock at the location MAIN\n',
    )
    expect(await output(['doctor'], env)).toBe(
      'ok    settings\nok    log file: logs/app.log\nok    database: answers\nok    migration database: answers\n' +
        `ok    migrations: ${names.length} applied\nok    stock: every level is the sum of its movements\n` +
        'ok    dead jobs: none\n',
    )
  })

  it('says what is wrong and what to do', async () => {
    const { status, stdout } = await runToEnd(['doctor'])
    expect(status).toBe(1)
    expect(stdout).toContain('wrong database: ')
    expect(stdout).toContain('; start PostgreSQL, or correct INVENTORY_DATABASE_URL')
    expect(stdout).not.toContain('hidden')
  })

  it('prints its version and its help', async () => {
    const inventory = run(['version'])
    expect([await inventory.exited, inventory.stdout(), inventory.stderr()]).toEqual([0, '0.1.0\n', ''])
    expect(await output(['--help'])).toContain('serve')
  })

  it.each([['nonsense'], ['--nonsense'], ['seed']])('exits with 2 for the wrong usage %s', async (...args) => {
    expect((await runToEnd(args)).status).toBe(2)
  })
})

/** The settings of the running processes, whose database is empty at first. */
let serving: Readonly<Record<string, string>>
beforeAll(async () => {
  serving = {
    ...(await emptyDatabase()),
    INVENTORY_DB_ROLE: 'inventory_service',
    INVENTORY_LOG_LEVL: 'hidden',
    INVENTORY_METRICS_ENABLED: 'true',
    OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
    INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT: '0',
  }
})

describe('inventory serve', () => {
  let pair: readonly { readonly inventory: InventoryProcess; readonly address: string; readonly users: Response }[] = []
  /** Two processes that start together on an empty database. One test ends the process that has migrated. */
  beforeAll(async () => {
    const started = [1, 2].map(() => run([], serving))
    pair = await Promise.all(
      started.map(async (inventory) => {
        const address = await addressOf(inventory)
        return { inventory, address, users: await fetch(`${address}/users`) }
      }),
    )
  })

  const hasMigrated = ({ inventory }: (typeof pair)[number]) => inventory.stdout().includes('"msg":"migrated"')

  it('starts on an empty database, logs to logs/app.log, and shuts down in order', async () => {
    const { inventory, users } = pair.find(hasMigrated) ?? expect.fail('none has migrated')
    expect([users.status, await users.json()]).toEqual([
      200,
      { statusCode: 200, data: Array.from({ length: 5 }, () => expect.any(Object)) },
    ])
    inventory.child.kill('SIGTERM')
    expect(await inventory.exited).toBe(0)
    const file = readFileSync(join(inventory.directory, 'logs/app.log'), 'utf8')
    expect(file).toBe(inventory.stdout())
    expect(file).toMatch(/^.*"level":"warn".*"msg":"unknown setting INVENTORY_LOG_LEVL, did you mean /)
    expect(file).not.toContain('hidden')
    expect(file).toMatch(/"msg":"migrated"[\s\S]*"route":"\/users"[\s\S]*"msg":"stopped"/)
  })

  it('migrates once when two start together', () => {
    expect(pair.map(({ users }) => users.status)).toEqual([200, 200])
    expect(pair.filter(hasMigrated).length).toBe(1)
  })

  it('serves metrics on their own listener, without ids', async () => {
    const { inventory, address } = pair.find((one) => !hasMigrated(one)) ?? expect.fail('both have migrated')
    const [, port] = await inventory.waitFor(/"port":(\d+),"msg":"metrics listening"/)
    await post(`${address}/products`, { sku: 'P', attributes: '{}' })
    const unit = { productId: 1, locationId: 1, quantity: 1 }
    await post(`${address}/movements`, { type: 'receive', ...unit })
    await post(`${address}/reservations`, unit)
    const read = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    await expect.poll(read).toContain('jobs_total{task="reservation_expiry",outcome="done"}')
    await fetch(`${address}/users/4`)
    expect(await (await fetch(`${address}/metrics`)).json()).toEqual(
      refusedBody(404, 'RESOURCE_NOT_FOUND', 'The resource you requested does not exist. /docs shows all paths.'),
    )
    const text = await read()
    expect(text).toContain('inventory_movements_total{type="receive"} 1')
    expect(text).toContain('inventory_reservations_total{status="active"} 1')
    expect(text).toMatch(/http_server_request_duration_seconds_count\{[^}]*http_route="\/users\/\{user_id\}"[^}]*\} 1/)
    expect(text).toMatch(/db_pool_connections\{state="idle"\} \d+/)
    expect(text).toContain('nodejs_')
    expect(text).not.toContain('/users/4')
  })

  it('opens its log file again on SIGHUP, and can keep standard output empty', async () => {
    const inventory = run(['serve'], {
      ...serving,
      INVENTORY_LOG_STDOUT: 'false',
      INVENTORY_LOG_FILE: 'here/my.log',
    })
    const file = join(inventory.directory, 'here/my.log')
    const port = await untilValue(
      () => /"address":"([^"]+)"/.exec(existsSync(file) ? readFileSync(file, 'utf8') : '')?.[1],
    )
    renameSync(file, `${file}.1`)
    inventory.child.kill('SIGHUP')
    await untilValue(() => existsSync(file) || undefined)
    await fetch(`${port}/users/1`)
    const line = await untilValue(() => /.*\/users\/1.*/.exec(readFileSync(file, 'utf8'))?.[0])
    expect(JSON.parse(line)).toEqual(
      requestLine({
        request_id: anyUuid,
        method: 'GET',
        path: '/users/1',
        route: '/users/{user_id}',
        status: 200,
        msg: 'request',
      }),
    )
    expect(inventory.stdout()).toBe('')
  })
})

// The tests mostly wait for the database, so they run concurrently.
describe.concurrent('a start that must fail', () => {
  it.each<[string, Record<string, string>, string]>([
    ['a log file that is a folder', { INVENTORY_LOG_FILE: '.' }, 'log file . cannot be written'],
  ])('%s: prints one line, and exits with 1', async (_name, env, message) => {
    const inventory = run([], env)
    expect(await inventory.exited).toBe(1)
    expect(inventory.stderr()).toContain(message)
    expect(inventory.stderr().trimEnd().split('\n').length).toBe(1)
  })

  it('a host of another machine: prints one line, and exits with 1', async () => {
    const inventory = run([], { ...serving, INVENTORY_HOST: '192.0.2.1' })
    expect(await inventory.exited).toBe(1)
    expect(inventory.stderr()).toMatch(/^[^\n]*EADDRNOTAVAIL[^\n]*\n$/)
  })

  it('names all wrong settings at once', async () => {
    const wrong = { DATABASE_URL: '', PORT: '70000', MIGRATE: 'perhaps', LOG_LEVEL: 'x' }
    const env = Object.entries(wrong).map(([name, value]) => [`INVENTORY_${name}`, value])
    const { status, stderr } = await runToEnd([], Object.fromEntries(env))
    expect(status).toBe(1)
    expect(stderr).toBe(
      'config: INVENTORY_PORT must be a port between 0 and 65535\nconfig: INVENTORY_DATABASE_URL is required\n' +
        'config: INVENTORY_MIGRATE must be true or false\n' +
        'config: INVENTORY_LOG_LEVEL must be one of panic, fatal, error, warn, info, debug\n' +
        'hint: npm start writes .data/inventory.env for development: pass it with -c .data/inventory.env, or copy .env.example to .env\n',
    )
  })

  it('reads .env, over which the environment wins', async () => {
    const directory = createFolder()
    writeFileSync(join(directory, '.env'), 'INVENTORY_PORT=bad\nINVENTORY_DB_POOL_SIZE=bad\n')
    const { status, stderr } = await runToEnd([], { INVENTORY_PORT: '0' }, directory)
    expect(status).toBe(1)
    expect(stderr).toMatch(/^config: INVENTORY_DB_POOL_SIZE .*\n$/)
  })

  it('reports at once that the database does not answer, and keeps trying', async () => {
    const inventory = run([], { PGCONNECT_TIMEOUT: '1' })
    expect(await inventory.exited).toBe(1)
    const [first, last] = inventory.stderr().trimEnd().split('\n')
    expect(first).toMatch(/^inventory: the database does not answer yet \(.*ECONNREFUSED.*\), trying again$/)
    expect(last).toContain('PostgreSQL does not answer at')
  })
})

/** Waits until another process has made `read` return a value. */
function untilValue<T>(read: () => T | undefined): Promise<T> {
  const readOrThrow = () => {
    const value = read()
    if (value === undefined) throw new Error('the other process has not come so far')
    return value
  }
  return vi.waitFor(readOrThrow, { timeout: 60_000, interval: 20 })
}
