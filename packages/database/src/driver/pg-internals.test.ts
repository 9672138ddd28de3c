import { hash } from 'node:crypto'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { internalsOf } from './pg-internals.ts'

// When a test of this file fails, pg has changed code that this folder overrides or calls without a type. Read the new code,
// change the folder where it has to change, then correct the expected value.

const [query, connection, client]: readonly object[] = [
  pg.Query.prototype,
  pg.Connection.prototype,
  pg.Client.prototype,
]

/** A digest of the source of a method, whatever white space it has. */
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
