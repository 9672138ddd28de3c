import pg from 'pg'

/** A statement with its values. */
export interface Statement {
  /** PostgreSQL keeps the plan under it; empty: it keeps none. */
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** How text of a column of a type, by the type's OID, becomes a value. */
export type ParserOf = (oid: number) => (text: string) => unknown

/** A member for each column. */
export type Rows = Record<string, unknown>[]
type Done = (error: Error | null, rows: Rows) => void

/** What rows of a statement look like. */
interface Shape {
  readonly columns: readonly { readonly name: string; readonly parse: (text: string) => unknown }[]
  /** A copy of it has all members already: adding thirty of them one by one took half the time of a request. */
  readonly empty: Readonly<Record<string, null>>
}

/** What the server says of the rows that will follow. */
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** What pg's query does, which its types leave out: see pg/lib/query.js. */
interface PgQuery extends pg.Submittable {
  name: string
  callback: Done
  prepare(connection: pg.Connection): void
}

const Query = pg.Query as unknown as new (text: string, values: unknown[]) => PgQuery

/** What is known of a connection: rows of the statements that it has run, and itself without questions about them. */
interface Known {
  readonly shapes: Map<string, Shape>
  readonly undescribed: pg.Connection
}

const NO_SHAPE: Shape = { columns: [], empty: {} }

const connections = new WeakMap<pg.Connection, Known>()

function knownOf(connection: pg.Connection): Known {
  const known = connections.get(connection)
  if (known) return known
  const fresh = { shapes: new Map(), undescribed: Object.create(connection, { describe: { value: () => {} } }) }
  connections.set(connection, fresh)
  return fresh
}

/** Runs a statement on a connection, pipelined or not. */
export function runStatement(client: pg.ClientBase, statement: Statement, parserOf: ParserOf): Promise<Rows> {
  return new Promise((resolve, reject) => {
    client.query(new StatementQuery(statement, parserOf, (error, rows) => (error ? reject(error) : resolve(rows))))
  })
}

/**
 * Asks for the columns of a named statement once a connection. pg's own query has them described each time, makes a
 * parser for each of them again, clones its configuration and emits an event a row: together a tenth of the processor time
 * of a request that reads one row, and some of PostgreSQL's.
 */
class StatementQuery extends Query {
  readonly #parserOf: ParserOf
  #known: Known | undefined
  #shape: Shape | undefined
  #rows: Rows = []
  #failure: Error | undefined

  constructor({ name, text, values }: Statement, parserOf: ParserOf, done: Done) {
    super(text, values)
    this.name = name
    this.callback = done
    this.#parserOf = parserOf
  }

  override prepare(connection: pg.Connection): void {
    this.#known = this.name === '' ? undefined : knownOf(connection)
    this.#shape = this.#known?.shapes.get(this.name)
    super.prepare((this.#shape && this.#known?.undescribed) ?? connection)
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#shape = {
      columns: fields.map(({ name, dataTypeID }) => ({ name, parse: this.#parserOf(dataTypeID) })),
      empty: Object.fromEntries(fields.map(({ name }) => [name, null])),
    }
    this.#known?.shapes.set(this.name, this.#shape)
  }

  handleDataRow({ fields: texts }: { readonly fields: readonly (string | null)[] }): void {
    const { columns, empty } = this.#shape ?? NO_SHAPE
    const row: Record<string, unknown> = { ...empty }
    try {
      for (let index = 0; index < columns.length; index++) {
        const column = columns[index]
        const text = texts[index]
        if (column && typeof text === 'string') row[column.name] = column.parse(text)
      }
      this.#rows.push(row)
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error))
    }
  }

  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleError(error: Error): void {
    this.callback(error, [])
  }

  handleReadyForQuery(): void {
    this.callback(this.#failure ?? null, this.#rows)
  }
}
