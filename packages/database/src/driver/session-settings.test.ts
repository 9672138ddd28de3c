import { hash } from 'node:crypto'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { internalsOf, underSettings } from './session-settings.ts'

const SHOW = `SELECT current_setting('lock_timeout') AS lock, current_setting('TimeZone') AS zone`
const SETTINGS = { lock_timeout: 4_321, TimeZone: 'Asia/Tokyo' }
const UNDER = { lock: '4321ms', zone: 'Asia/Tokyo' }

const temporary = await createEmptyDatabase()
afterAll(() => temporary.drop())

async function connect(hasSession: boolean, settings: Readonly<Record<string, string | number>> = SETTINGS) {
  const { Client = pg.Client, ...address } = underSettings(settings, { url: temporary.url, hasSession })
  const client = new Client(address)
  await client.connect()
  return client
}

/** Returns the settings that the next user of the session finds in a new database transaction. */
function withoutSettings(client: pg.Client): Promise<pg.QueryResult> {
  const query: (text: string) => Promise<pg.QueryResult> = pg.Client.prototype.query
  return query.call(client, SHOW)
}

const FORMS =
  '-c+DateStyle%3DISO+-c+IntervalStyle%3Dpostgres+-c+bytea_output%3Dhex+-c+extra_float_digits%3D1+-c+array_nulls%3Don' +
  '+-c+standard_conforming_strings%3Don+-c+quote_all_identifiers%3Doff'
const LEVEL = '+-c+default_transaction_isolation%3Dread%5C+committed'

it('sends settings with the connection when it has a session to itself', () => {
  const url = 'postgres://host/name'
  expect(underSettings({ role: 'a', lock_timeout: 5 }, { url, hasSession: true })).toEqual({
    connectionString: `${url}?options=${FORMS}+-c+role%3Da+-c+lock_timeout%3D5${LEVEL}`,
  })
})

describe('in a database whose defaults are other ones', () => {
  const READ = `SELECT '2026-11-27 01:02:03+00'::timestamptz AS time, '1 day 02:00'::interval::text AS interval, '\\x41'::bytea::text AS bytes,
    1.0::float8 / 3 AS float, '{null}'::text[] AS list, 'a\\n' AS text, pg_get_viewdef('seen') AS view,
    current_setting('transaction_isolation') AS level WHERE $1::int = 1`
  const VALUES = {
    time: new Date('2026-11-27T01:02:03Z'),
    interval: '1 day 02:00:00',
    bytes: '\\x41',
    float: 1 / 3,
    list: [null],
    text: 'a\\n',
    view: ' SELECT 1 AS one;',
    level: 'read committed',
  }
  beforeAll(async () => {
    const name = new URL(temporary.directUrl).pathname.slice(1)
    const client = new pg.Client({ connectionString: temporary.directUrl })
    await client.connect()
    await client.query(`CREATE VIEW seen AS SELECT 1 AS one;
      ALTER DATABASE ${name} SET DateStyle = 'SQL, DMY'; ALTER DATABASE ${name} SET IntervalStyle = 'iso_8601';
      ALTER DATABASE ${name} SET bytea_output = 'escape'; ALTER DATABASE ${name} SET extra_float_digits = -9;
      ALTER DATABASE ${name} SET array_nulls = off; ALTER DATABASE ${name} SET standard_conforming_strings = off;
      ALTER DATABASE ${name} SET quote_all_identifiers = on; ALTER DATABASE ${name} SET default_transaction_isolation = serializable`)
    await client.end()
    return async () => {
      const last = new pg.Client({ connectionString: temporary.directUrl })
      await last.connect()
      await last.query(`ALTER DATABASE ${name} RESET ALL`)
      await last.end()
    }
  })

  it.each([
    ['that has a session to itself', true],
    ['behind a pooler that lends sessions', false],
  ])('a connection %s reads and writes values in the same forms as elsewhere', async (_name, hasSession) => {
    const client = await connect(hasSession)
    const { rows } = await client.query(READ, [1])
    await client.end()
    expect(rows).toEqual([VALUES])
  })

  it.each([
    ['that has a session to itself', true],
    ['behind a pooler that lends sessions', false],
  ])('a connection %s opens each transaction at the level that it asks for', async (_name, hasSession) => {
    const client = await connect(hasSession)
    const levels: unknown[] = []
    for (const begin of ['BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'BEGIN']) {
      await client.query(begin)
      levels.push((await client.query(`SELECT current_setting('transaction_isolation') AS level`)).rows[0].level)
      await client.query('COMMIT')
    }
    await client.end()
    expect(levels).toEqual(['read committed', 'repeatable read', 'read committed'])
  })
})

it('sends settings after those that the URL has, which give way', async () => {
  const url = new URL(temporary.directUrl)
  url.searchParams.set('options', '-c lock_timeout=1 -c work_mem=1MB')
  const client = new pg.Client(underSettings(SETTINGS, { url: url.href, hasSession: true }))
  await client.connect()
  const { rows } = await client.query(`${SHOW}, current_setting('work_mem') AS memory`)
  await client.end()
  expect(rows).toEqual([{ ...UNDER, memory: '1MB' }])
})

it('sends settings with the connection to whichever of several hosts', () => {
  const url = 'postgres://user:word@a:1,b:2/name'
  expect(underSettings({ role: 'a' }, { url, hasSession: true })).toEqual({
    connectionString: `${url}?options=${FORMS}+-c+role%3Da${LEVEL}`,
  })
})

it.each([
  '#x',
  '?#x',
  '?application_name=a#x?options=b',
  '?options=-c%20lock_timeout%3D1&options=-c%20lock_timeout%3D2#x',
])('connects under the settings where the URL ends in %s', async (tail) => {
  const address = underSettings(SETTINGS, { url: `${temporary.directUrl}${tail}`, hasSession: true })
  const client = new pg.Client(address)
  await client.connect()
  const { rows } = await client.query(SHOW)
  await client.end()
  expect(rows).toEqual([UNDER])
})

describe('behind a pooler that lends sessions', () => {
  let client: pg.Client
  beforeAll(async () => {
    client = await connect(false)
  })
  afterAll(() => client.end())

  it.each<[string, pg.QueryConfig]>([
    ['a text', { text: SHOW }],
    ['a statement with values', { text: `${SHOW} WHERE $1::int = 1`, values: [1] }],
    ['a statement with a name', { name: 'show', text: `${SHOW} WHERE $1::int = 1`, values: [1] }],
  ])('%s runs under the settings, and leaves none in the session', async (_name, query) => {
    for (let time = 0; time < 2; time += 1) expect((await client.query(query)).rows).toEqual([UNDER])
    expect((await withoutSettings(client)).rows).not.toEqual([UNDER])
  })

  it('sets them once for each transaction, at any isolation level', async () => {
    await client.query('START TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
    await client.query(`SET LOCAL lock_timeout = '7s'`)
    expect((await client.query(SHOW)).rows).toEqual([{ ...UNDER, lock: '7s' }])
    expect((await client.query(`${SHOW} WHERE $1::int = 1`, [1])).rows).toEqual([{ ...UNDER, lock: '7s' }])
    const level = await client.query(`SELECT current_setting('transaction_isolation') AS level`)
    expect(level.rows).toEqual([{ level: 'repeatable read' }])
    await client.query('COMMIT')
    expect((await withoutSettings(client)).rows).not.toEqual([UNDER])
  })

  it('sets them for a query text that is a transaction itself', async () => {
    // A text with several statements has several results, but the types of pg do not show this.
    const results = (await client.query(`BEGIN; ${SHOW}; COMMIT`)) as unknown as readonly pg.QueryResult[]
    expect(results.map(({ command, rows }) => [command, rows])).toEqual([
      ['BEGIN', []],
      ['SELECT', [UNDER]],
      ['COMMIT', []],
    ])
  })

  it('keeps the settings for statements after an error, inside and outside of transactions', async () => {
    await expect(client.query('SELECT 1 / $1::int', [0])).rejects.toThrow('division by zero')
    await expect(client.query('SELECT 1 / 0')).rejects.toThrow('division by zero')
    await client.query('BEGIN')
    await expect(client.query('SELECT 1 / $1::int', [0])).rejects.toThrow('division by zero')
    await client.query('ROLLBACK')
    expect((await client.query(SHOW)).rows).toEqual([UNDER])
  })

  it('gives callbacks and submitted queries their rows, read under the settings', async () => {
    const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
    client.query(SHOW, (error: Error, result: pg.QueryResult) => (error ? reject(error) : resolve(result)))
    expect((await promise).rows).toEqual([UNDER])
    const rows: unknown[] = []
    const query = client.query(new pg.Query(`${SHOW} WHERE $1::int = 1`, [1]))
    query.on('row', (row) => rows.push(row))
    await new Promise((ended) => query.on('end', ended))
    expect(rows).toEqual([UNDER])
  })

  it('runs no statement when a setting is refused', async () => {
    const stranger = await connect(false, { role: 'nobody_of_this_name' })
    await expect(stranger.query('CREATE TABLE made ()')).rejects.toThrow('does not exist')
    await expect(stranger.query('SELECT $1::int', [1])).rejects.toThrow('does not exist')
    await stranger.query('BEGIN').catch(() => {})
    await expect(stranger.query('CREATE TABLE made ()')).rejects.toThrow('does not exist')
    await stranger.end()
    expect((await client.query(`SELECT to_regclass('made') AS made`)).rows).toEqual([{ made: null }])
  })
})

// If a test of this file fails, pg has changed code that this folder overrides or calls without a type. Read the new code and
// adapt this folder if needed. Then correct the expected value.

const [query, connection, client]: readonly object[] = [
  pg.Query.prototype,
  pg.Connection.prototype,
  pg.Client.prototype,
]

/** Returns a digest of the source of a method that ignores white space. */
function digestOf(prototype: object | undefined, name: string): string {
  const method: unknown = prototype && Reflect.get(prototype, name)
  return typeof method === 'function' ? hash('sha256', String(method).replaceAll(/\s+/g, ' ')).slice(0, 12) : 'missing'
}

describe("pg's code that statement-query.ts and session-settings.ts override", () => {
  it.each([
    ['requiresPreparation', '09c87cd3d3bf'],
    ['submit', '1a5a16c22fbb'],
    ['prepare', '0583a8bdc760'],
    ['hasBeenParsed', 'e6afbc00b4b2'],
    ['_getRows', '86879fbed140'],
    ['handleRowDescription', 'bdb33fc35a29'],
    ['handleDataRow', '77ad9cb07ecc'],
    ['handleCommandComplete', 'd9a9117cdc50'],
    ['handleEmptyQuery', 'd90e485872b3'],
    ['handleError', '4fd8fb87c6e8'],
    ['handleReadyForQuery', 'ba27e436cb35'],
  ])('Query.%s is unchanged', (name, digest) => {
    expect(digestOf(query, name)).toBe(digest)
  })

  it.each([
    ['parse', '9e2a324e9d8b'],
    ['bind', '7cc0e537695b'],
    ['describe', '2f67be7dca7c'],
    ['execute', '96578cd556ce'],
    ['sync', 'c3ab01942b98'],
    ['query', '90242c23df76'],
  ])('Connection.%s is unchanged', (name, digest) => {
    expect(digestOf(connection, name)).toBe(digest)
  })

  it.each([
    ['query', '15395bd933d5'],
    ['getTransactionStatus', '11a5a62da448'],
    ['_pulseQueryQueue', '8ebce0cc040c'],
    ['_handleBackendKeyData', '54758aff88cd'],
    ['_handleReadyForQuery', 'faf76d24b323'],
  ])('Client.%s is unchanged', (name, digest) => {
    expect(digestOf(client, name)).toBe(digest)
  })
})

describe('internalsOf', () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>
  let opened: pg.Client
  beforeAll(async () => {
    database = await createEmptyDatabase()
    opened = new pg.Client({ connectionString: database.directUrl })
    await opened.connect()
  })
  afterAll(async () => {
    await opened.end()
    await database.drop()
  })

  it('knows the process and the secret key of the session', async () => {
    const { rows } = await opened.query('SELECT pg_backend_pid() AS pid')
    const { processID, secretKey } = internalsOf(opened)
    expect({ processID, secretKey: typeof secretKey }).toEqual({ processID: rows[0].pid, secretKey: 'number' })
  })

  it('knows whether an answer is due, and the stream on which it comes', async () => {
    const internals = internalsOf(opened)
    expect(internals.readyForQuery).toBe(true)
    const answer = opened.query('SELECT 1')
    expect(internals.readyForQuery).toBe(false)
    await answer
    expect(internals.readyForQuery).toBe(true)
    expect(internals.connection.stream.remotePort).toBe(opened.port)
  })
})
