import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../connect.ts'
import { createNames } from '../names.ts'
import { prepare } from '../prepare.ts'
import { columns, orderResults } from './columns.ts'

interface Thing {
  readonly id: string
  readonly name: string | null
  readonly size: number
  readonly isNew: boolean
  readonly digest: Buffer
  readonly madeAt: Date
  readonly data: Readonly<Record<string, unknown>>
}

const types = {
  id: 'uuid',
  name: 'text',
  size: 'integer',
  isNew: 'boolean',
  digest: 'bytea',
  madeAt: 'timestamptz',
  data: 'jsonb',
} as const

const thing = (number: number, changes: Partial<Thing> = {}): Thing => ({
  id: `00000000-0000-4000-8000-00000000000${number}`,
  name: `"name, ${number}"\\`,
  size: number,
  isNew: number % 2 === 0,
  digest: Buffer.from([0, number]),
  madeAt: new Date(number * 1_000),
  data: { text: '{"}\\', list: [number, null] },
  ...changes,
})

const things = [thing(1), thing(2, { name: null }), thing(3, { name: '' })]

const temporary = await createEmptyDatabase()
const database: Database<object> = openDatabase({
  url: temporary.url,
  names: createNames('example'),
  applicationName: 'columns',
  poolSize: 1,
  readConnections: 1,
  statementTimeoutMs: 5_000,
  lockTimeoutMs: 1_000,
  prepared,
  onConnectionError: () => {},
})
afterAll(async () => {
  await database.close()
  await temporary.drop()
})

const AS_THINGS = sql`AS t (id, name, size, "isNew", digest, "madeAt", data, place)`

const listThings = prepare(
  'list_things',
  (p: { things: readonly Thing[]; least: number }) => sql<Thing>`
    SELECT id, name, size, "isNew", digest, "madeAt", data
    FROM unnest(${columns(p.things, types)}) WITH ORDINALITY ${AS_THINGS} WHERE size >= ${p.least} ORDER BY place`,
)

describe('columns', () => {
  it('sends rows to a prepared query, each in its place', async () => {
    expect(await database.pools.read.all(listThings, { things, least: 0 })).toEqual(things)
  })

  it('sends any number of rows to the same prepared query', async () => {
    expect(await database.pools.read.all(listThings, { things: [], least: 0 })).toEqual([])
    const many = Array.from({ length: 10_000 }, (_, index) => thing(1, { size: index }))
    expect(await database.pools.read.all(listThings, { things: many, least: 9_999 })).toEqual([
      thing(1, { size: 9_999 }),
    ])
  })

  it('sends rows to a query that is not prepared', async () => {
    const { rows } = await sql<Thing>`
      SELECT id, name, size, "isNew", digest, "madeAt", data
      FROM unnest(${columns(things, types)}) WITH ORDINALITY ${AS_THINGS} ORDER BY place`.execute(database.db)
    expect(rows).toEqual(things)
  })

  it('sends the columns that are named, in their order, each as one typed parameter', () => {
    const { sql: text, parameters } = columns(things, { size: 'bigint', name: 'text' }).compile(database.db)
    expect(text).toBe('$1::bigint[], $2::text[]')
    expect(parameters).toEqual([
      [1, 2, 3],
      ['"name, 1"\\', null, ''],
    ])
  })

  it('takes only members of a row, with a type that can hold their values', () => {
    // @ts-expect-error: a row has no such member
    columns(things, { colour: 'text' })
    // @ts-expect-error: a Buffer is no text
    columns(things, { digest: 'text' })
  })
})

it.each([
  [[], [undefined, undefined, undefined]],
  [[{ item: 2, verdict: 'done' }], [undefined, 'DONE', undefined]],
  [
    [
      { item: 3, verdict: 'done' },
      { item: 1, verdict: 'gone' },
    ],
    ['GONE', undefined, 'DONE'],
  ],
])('orderResults puts %j in the order of three items', (rows, expected) => {
  expect(orderResults(['a', 'b', 'c'], rows, ({ verdict }) => verdict.toUpperCase())).toEqual(expected)
})
