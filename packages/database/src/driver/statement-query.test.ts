import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runStatement } from './statement-query.ts'

const database = await createEmptyDatabase()
const parserOf = (oid: number) => (oid === 20 ? BigInt : pg.types.getTypeParser(oid))
let client: pg.Client
let sent: string[]

beforeAll(async () => {
  client = new pg.Client({ connectionString: database.url, pipeline: true })
  await client.connect()
  // The types of the sent messages: B for bind, D for describe, P for parse.
  const { stream }: pg.Connection = Reflect.get(client, 'connection')
  const write: (chunk: Buffer) => boolean = stream.write.bind(stream)
  stream.write = (chunk: Buffer) => {
    sent.push(chunk.toString('latin1', 0, 1))
    return write(chunk)
  }
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const run = (name: string, text: string, values: unknown[] = []) => {
  sent = []
  return runStatement(client, { name, text, values }, parserOf)
}

describe('runStatement', () => {
  const text = `SELECT n, nullif(n, 1)::text AS t, $1::text AS v FROM generate_series(1::bigint, 2) n`

  it('asks for the columns of a named statement once', async () => {
    const rows = (v: string | null) => [
      { n: 1n, t: null, v },
      { n: 2n, t: '2', v },
    ]
    expect(await run('twice', text, ['a'])).toEqual(rows('a'))
    expect(sent).toEqual(['P', 'B', 'D', 'E', 'S'])
    expect(await run('twice', text, [null])).toEqual(rows(null))
    expect(sent).toEqual(['B', 'E', 'S'])
  })

  it('answers each of several statements that are sent together', async () => {
    const all = await Promise.all(['x', 'y', 'z'].map((v) => run('together', text, [v])))
    expect(all.map(([row]) => row?.v)).toEqual(['x', 'y', 'z'])
  })

  it('keeps no state of an unnamed statement', async () => {
    expect(await run('', 'SELECT $1::int AS one', [1])).toEqual([{ one: 1 }])
    expect(await run('', 'SELECT $1::text AS other', ['2'])).toEqual([{ other: '2' }])
    expect(sent).toEqual(['P', 'B', 'D', 'E', 'S'])
    expect(await run('', 'SELECT 3 AS three')).toEqual([{ three: 3 }])
  })

  it('returns an empty list for a statement without rows', async () => {
    expect(await run('nothing', 'SELECT 1 AS one WHERE $1::bool', [false])).toEqual([])
    expect(await run('table', 'CREATE TABLE things (id int)')).toEqual([])
  })

  it('fails with the error of the server or of a parser, and keeps the connection usable', async () => {
    const divide = 'SELECT 1 / $1::int AS quotient'
    await expect(run('divide', divide, [0])).rejects.toThrow('division by zero')
    expect(await run('divide', divide, [1])).toEqual([{ quotient: 1 }])
    const broken = runStatement(client, { name: 'broken', text: 'SELECT 1 AS one', values: [] }, () => () => {
      throw new Error('no number')
    })
    await expect(broken).rejects.toThrow('no number')
    expect(await run('divide', divide, [1])).toEqual([{ quotient: 1 }])
  })

  it('notices that the columns of a table have changed', async () => {
    await run('', 'CREATE TABLE changing (id int)')
    await run('', 'INSERT INTO changing VALUES (1)')
    expect(await run('changing', 'SELECT id FROM changing')).toEqual([{ id: 1 }])
    await run('', 'ALTER TABLE changing ALTER id TYPE text')
    await expect(run('changing', 'SELECT id FROM changing')).rejects.toThrow('cached plan must not change result type')
  })
})
