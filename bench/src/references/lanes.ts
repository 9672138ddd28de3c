import pg from 'pg'

/** A statement whose plan PostgreSQL keeps. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

type Run = <Row extends pg.QueryResultRow>(statement: Statement) => Promise<Row[]>

const READERS = 2
const WRITERS = 16
const { INT8, TIMESTAMPTZ } = pg.types.builtins

// Ids fit in a number here. PostgreSQL's own form of a time differs from RFC 3339 in two characters.
pg.types.setTypeParser(INT8, Number)
pg.types.setTypeParser(TIMESTAMPTZ, (text) => text.replace(' ', 'T').replace(/\+00$/, 'Z'))

/** The two fastest ways to PostgreSQL of those that were tried: two pipelined connections, and a pool for writes. */
export async function openLanes(url: string): Promise<{ readonly read: Run; readonly write: Run }> {
  const readers = Array.from({ length: READERS }, () => new pg.Client({ connectionString: url, pipeline: true }))
  await Promise.all(readers.map((reader) => reader.connect()))
  const pool = new pg.Pool({ connectionString: url, max: WRITERS })
  let turn = 0
  return {
    read: async <Row extends pg.QueryResultRow>(statement: Statement) => {
      turn = (turn + 1) % READERS
      const reader = readers[turn]
      if (reader === undefined) throw new Error('no reader')
      return (await reader.query<Row>(statement)).rows
    },
    write: async <Row extends pg.QueryResultRow>(statement: Statement) => (await pool.query<Row>(statement)).rows,
  }
}
