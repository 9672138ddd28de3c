import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inventoryFunctions, inventoryMigrations } from '@trestle/migrations/inventory.ts'
import { anyUuid } from '@trestle/testing/any-value.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { requestLine } from './bodies.ts'
import { addressOf, type InventoryProcess, runInventory } from './run-inventory.ts'

let database: TemporaryDatabase
const running: InventoryProcess[] = []
beforeEach(async () => {
  database = await createEmptyDatabase()
})
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ cleanUp }) => cleanUp()))
  await database.drop()
})

const names = Object.keys(inventoryMigrations)
const functions = (await inventoryFunctions()).map(({ name }) => name)

function run(args: readonly string[], env: Readonly<Record<string, string>> = {}, directory?: string) {
  const inventory = runInventory(args, { INVENTORY_DATABASE_URL: database.url, ...env }, directory)
  running.push(inventory)
  return inventory
}

function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
}

async function output(...args: string[]): Promise<string> {
  const inventory = run(args)
  expect(await inventory.exited).toBe(0)
  return inventory.stdout()
}

describe('inventory migrate, seed, doctor, version', () => {
  it('plan, apply, list and take back migrations', async () => {
    const lines = (what: string, names: readonly string[]) => names.map((name) => `${what} ${name}\n`).join('')
    const installed = `installed ${functions.length} functions\n`
    expect(await output('migrate', 'status')).toBe(
      `${lines('pending', names)}no functions are installed\n${lines('missing function', functions)}`,
    )
    const plan = await output('migrate', 'plan')
    expect(plan).toMatch(/^-- 0001-create-products\nCREATE SEQUENCE .*;\n/)
    expect(plan).toContain(`;\n${lines('-- creates the function', functions)}--`)
    expect(await output('migrate')).toBe(lines('applied', names) + installed)
    expect(await output('migrate', 'up')).toBe('nothing to do\n')
    expect(await output('migrate', 'down')).toBe(`taken back ${names.at(-1)}\n`)
    expect(await output('migrate', 'up')).toBe(`applied ${names.at(-1)}\n${installed}`)
    expect((await output('migrate', 'status')).replaceAll(/ \S+Z /g, ' ')).toBe(
      `${lines('applied', names)}functions of release 0.1.0 are installed\n`,
    )
  }, 60_000)

  it('add sample products once', async () => {
    await output('migrate')
    expect(await output('seed', '--products', '25')).toBe('added 25 of 25 sample products\n')
    expect(await output('seed', '--products', '30', '--stock', '7')).toBe(
      'added 5 of 30 sample products\nreceived 7 of each of 30\n',
    )
    expect(await output('seed', '--products', '30', '--stock', '7')).toContain('received 7 of each of 0\n')
    const refused = run(['seed', '--products', '30', '--stock', '0'])
    expect([await refused.exited, refused.stderr()]).toEqual([1, expect.stringContaining('--stock must be a number')])
  }, 60_000)

  it('find nothing wrong in a healthy service', async () => {
    await output('migrate')
    expect(await output('doctor')).toBe(
      'ok    settings\nok    log file: logs/app.log\nok    database: answers\nok    migration database: answers\n' +
        `ok    migrations: ${names.length} applied\nok    stock: every level is the sum of its movements\n`,
    )
  })

  it('find stock that was changed by hand', async () => {
    await output('migrate')
    await output('seed', '--products', '3', '--stock', '7')
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('UPDATE inventory.stock_levels SET on_hand = on_hand + 1')
    const doctor = run(['doctor'])
    expect(await doctor.exited).toBe(1)
    expect(doctor.stdout()).toContain('wrong stock: 3 levels that are not the sum of their movements; somebody has')
    await client.end()
  }, 60_000)

  it('say what is wrong and what to do', async () => {
    const doctor = run(['doctor'], { INVENTORY_DATABASE_URL: 'postgres://nobody:hidden@127.0.0.1:1/none' })
    expect(await doctor.exited).toBe(1)
    expect(doctor.stdout()).toContain('wrong database: ')
    expect(doctor.stdout()).toContain('; start PostgreSQL, or correct INVENTORY_DATABASE_URL')
    expect(doctor.stdout()).not.toContain('hidden')
  })

  it('name unknown settings, and go on', async () => {
    await output('migrate')
    const doctor = run(['doctor'], { INVENTORY_DB_ROL: 'hidden' })
    expect(await doctor.exited).toBe(0)
    expect(doctor.stdout()).toContain(
      'note  INVENTORY_DB_ROL is not a setting of this service; the nearest name is INVENTORY_DB_ROLE\n',
    )
    expect(doctor.stdout()).not.toContain('hidden')
  })

  it('print version and help', async () => {
    expect(await output('version')).toBe('0.1.0\n')
    expect(await output('--help')).toContain('serve')
  })

  it.each([['nonsense'], ['--nonsense'], ['seed']])('exit with 2 for the wrong usage %s', async (...args) => {
    expect(await run(args).exited).toBe(2)
  })
})

describe('inventory serve', () => {
  it('starts on an empty database, logs to logs/app.log, and shuts down in order', async () => {
    const inventory = run([], { INVENTORY_DB_ROLE: 'inventory_service', INVENTORY_LOG_LEVL: 'hidden' })
    const address = await addressOf(inventory)
    const users = await fetch(`${address}/users`)
    expect([users.status, await users.json()]).toEqual([
      200,
      { statusCode: 200, data: Array.from({ length: 5 }, () => expect.any(Object)) },
    ])
    inventory.child.kill('SIGTERM')
    expect(await inventory.exited).toBe(0)
    const file = readFileSync(join(inventory.directory, 'logs/app.log'), 'utf8')
    expect(file).toBe(inventory.stdout())
    expect(file).toMatch(/^.*"level":"warn".*"msg":"INVENTORY_LOG_LEVL is not a setting of this service; /)
    expect(file).not.toContain('hidden')
    expect(file).toMatch(/"msg":"migrated"[\s\S]*"route":"\/users"[\s\S]*"msg":"stopped"/)
  })

  it('migrates once when two start together', async () => {
    const pair = [1, 2].map(() => run([], { INVENTORY_DB_ROLE: 'inventory_service' }))
    const addresses = await Promise.all(pair.map(addressOf))
    for (const address of addresses) expect((await fetch(`${address}/users/5`)).status).toBe(200)
    expect(pair.filter((one) => one.stdout().includes('"msg":"migrated"')).length).toBe(1)
  })

  it('opens its log file again on SIGHUP, and can keep standard output empty', async () => {
    const inventory = run(['serve'], { INVENTORY_LOG_STDOUT: 'false', INVENTORY_LOG_FILE: 'here/my.log' })
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

  it('serves metrics on their own listener, without ids', async () => {
    const inventory = run([], {
      INVENTORY_METRICS_ENABLED: 'true',
      INVENTORY_OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1',
      INVENTORY_OTEL_EXPORTER_PROMETHEUS_PORT: '0',
      INVENTORY_RESERVATION_SWEEP_MS: '50',
    })
    const address = await addressOf(inventory)
    const [, port] = await inventory.waitFor(/"port":(\d+),"msg":"metrics listening"/)
    await post(`${address}/products`, { sku: 'P', attributes: '{}' })
    const unit = { productId: 1, locationId: 1, quantity: 1 }
    await post(`${address}/movements`, { type: 'receive', ...unit })
    await post(`${address}/reservations`, unit)
    const read = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    await expect.poll(read).toContain('jobs_total{task="reservation_expiry",outcome="done"}')
    await fetch(`${address}/users/4`)
    expect((await fetch(`${address}/metrics`)).status).toBe(404)
    const text = await read()
    expect(text).toContain('inventory_movements_total{type="receive"} 1')
    expect(text).toContain('inventory_reservations_total{status="active"} 1')
    expect(text).toMatch(/http_server_request_duration_seconds_count\{[^}]*http_route="\/users\/\{user_id\}"[^}]*\} 1/)
    expect(text).toMatch(/db_pool_connections\{state="idle"\} \d+/)
    expect(text).toContain('nodejs_')
    expect(text).not.toContain('/users/4')
  })
})

describe('a start that must fail', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no database URL', { INVENTORY_DATABASE_URL: '' }, 'config: INVENTORY_DATABASE_URL is required'],
    ['a bad port', { INVENTORY_PORT: '70000' }, 'config: INVENTORY_PORT must be a port'],
    ['a bad flag', { INVENTORY_MIGRATE: 'perhaps' }, 'config: INVENTORY_MIGRATE must be true or false'],
    [
      'a log file in a file',
      { INVENTORY_LOG_FILE: '/dev/null/app.log' },
      'log file /dev/null/app.log cannot be written',
    ],
    ['a log file that is a folder', { INVENTORY_LOG_FILE: '.' }, 'log file . cannot be written'],
    [
      'no such user',
      { INVENTORY_DATABASE_URL: 'postgres://127.0.0.1:1/x', INVENTORY_DB_CONNECT_TIMEOUT: '0' },
      'ECONNREFUSED',
    ],
    ['a host that is not ours', { INVENTORY_HOST: '192.0.2.1' }, 'EADDRNOTAVAIL'],
  ])('%s: prints one line, and exits with 1', async (_name, env, message) => {
    const inventory = run([], env)
    expect(await inventory.exited).toBe(1)
    expect(inventory.stderr()).toContain(message)
    expect(inventory.stderr().trimEnd().split('\n').length).toBe(1)
  })

  it('names all wrong settings at once', async () => {
    const inventory = run([], { INVENTORY_DATABASE_URL: 'x', INVENTORY_PORT: 'x', INVENTORY_LOG_LEVEL: 'x' })
    expect(await inventory.exited).toBe(1)
    expect(inventory.stderr().trimEnd().split('\n').length).toBe(3)
  })

  it('reads .env, over which the environment wins', async () => {
    const directory = join(run(['version']).directory, 'project')
    mkdirSync(directory)
    writeFileSync(join(directory, '.env'), 'INVENTORY_PORT=bad\nINVENTORY_DB_POOL_SIZE=bad\n')
    const inventory = run([], { INVENTORY_PORT: '0' }, directory)
    expect(await inventory.exited).toBe(1)
    expect(inventory.stderr()).toMatch(/^config: INVENTORY_DB_POOL_SIZE .*\n$/)
  })

  it('reports at once that the database does not answer, and keeps trying', async () => {
    const inventory = run([], {
      INVENTORY_DATABASE_URL: 'postgres://127.0.0.1:1/x',
      INVENTORY_DB_CONNECT_TIMEOUT: '1s',
    })
    expect(await inventory.exited).toBe(1)
    const [first, last] = inventory.stderr().trimEnd().split('\n')
    expect(first).toMatch(/^inventory: the database does not answer yet \(.*ECONNREFUSED.*\), trying again$/)
    expect(last).toContain('ECONNREFUSED')
  })
})

/** Waits until a condition holds that another process brings about. */
function untilValue<T>(read: () => T | undefined): Promise<T> {
  const readOrThrow = () => {
    const value = read()
    if (value === undefined) throw new Error('the other process has not come so far')
    return value
  }
  return vi.waitFor(readOrThrow, { timeout: 20_000, interval: 20 })
}
