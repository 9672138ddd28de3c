import pg from 'pg'
import { PgQuery } from './session-settings.ts'

/** A statement with the values of `$1`, `$2` and so on, in order. */
export interface Statement {
  /** PostgreSQL keeps the plan of a named statement. If the name is empty, PostgreSQL keeps no plan. */
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** The returned rows: objects by column name, with parsed values. */
export type Rows = Row[]
type Done = (error: Error | null, rows: Rows) => void

interface Known {
  /** The row readers of the named statements that the connection has run. */
  readonly rowReaders: Map<string, ReadRow>
  /** The connection without the Describe message, by which pg requests the columns of a statement. */
  readonly undescribed: pg.Connection
}

const connections = new WeakMap<pg.Connection, Known>()

function knownOf(connection: pg.Connection): Known {
  const known = connections.get(connection)
  if (known) return known
  const fresh = { rowReaders: new Map(), undescribed: Object.create(connection, { describe: { value: () => {} } }) }
  connections.set(connection, fresh)
  return fresh
}

/**
 * Runs a statement on a connection, pipelined or not.
 * @returns the rows of the statement
 * @throws pg.DatabaseError if the server refuses the statement, Error if the connection is lost
 */
export function runStatement(client: pg.ClientBase, statement: Statement, parserOf: ParserOf): Promise<Rows> {
  return new Promise((resolve, reject) => {
    client.query(new StatementQuery(statement, parserOf, (error, rows) => (error ? reject(error) : resolve(rows))))
  })
}

/**
 * A query that requests the columns of a named statement only once for each connection. pg's own query requests them each time,
 * creates all column parsers again, clones its configuration and emits an event for each row. This takes a tenth of the processor
 * time of a request that reads one row, and some time of PostgreSQL.
 */
class StatementQuery extends PgQuery<Rows> {
  readonly #parserOf: ParserOf
  #known: Known | undefined
  #readRow: ReadRow | undefined
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
    this.#readRow = this.#known?.rowReaders.get(this.name)
    super.prepare((this.#readRow && this.#known?.undescribed) ?? connection)
  }

  override handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    try {
      this.#readRow = rowReader(fields, this.#parserOf)
      this.#known?.rowReaders.set(this.name, this.#readRow)
    } catch (error) {
      this.#fail(error)
    }
  }

  override handleDataRow({ fields: texts }: { readonly fields: readonly (string | null)[] }): void {
    try {
      if (!this.#readRow) throw new Error('the server has sent rows before their columns')
      this.#rows.push(this.#readRow(texts))
    } catch (error) {
      this.#fail(error)
    }
  }

  override handleCommandComplete(): void {}

  handleEmptyQuery(): void {}

  handleError(error: Error): void {
    this.callback?.(error, [])
  }

  handleReadyForQuery(): void {
    this.callback?.(this.#failure ?? null, this.#rows)
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
  }
}

/** Returns the parser for the text of a column, by the OID of its type. Columns of type text are not parsed. */
export type ParserOf = (oid: number) => (text: string) => unknown

/** A row with a member for each column. If columns share a name, the last one counts. */
type Row = Record<string, unknown>

/** Makes a row from the texts of its columns, as the server sends them. */
type ReadRow = (texts: readonly (string | null)[]) => Row

/** The server's description of a column: its name and the OID of its type (PostgreSQL, "Message Formats", RowDescription). */
interface Column {
  readonly name: string
  readonly dataTypeID: number
}

/** Row readers by parser and columns. Their number is limited by the number of different statements. */
const known = new WeakMap<ParserOf, Map<string, ReadRow>>()

/**
 * Returns the function that reads rows with these columns. It is compiled on first use. The function returns an object literal,
 * so rows have their final shape from the start and each parser has its own call site. A loop over the columns takes 50 percent
 * longer.
 */
export function rowReader(columns: readonly Column[], parserOf: ParserOf): ReadRow {
  const readers = known.get(parserOf) ?? new Map<string, ReadRow>()
  known.set(parserOf, readers)
  const key = JSON.stringify(columns.map(({ name, dataTypeID }) => [name, dataTypeID]))
  const reader = readers.get(key) ?? compile(columns, parserOf)
  readers.set(key, reader)
  return reader
}

function compile(columns: readonly Column[], parserOf: ParserOf): ReadRow {
  const members = columns.map(({ name, dataTypeID }, index) => {
    const text = `texts[${index}]`
    const isText = dataTypeID === pg.types.builtins.TEXT
    const value = isText ? text : `${text} === null ? null : parsers[${index}](${text})`
    // A plain `__proto__` would set the prototype. `["__proto__"]` is an ordinary name, but brackets make the creation of objects
    // slow.
    return `${name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)}: ${value}`
  })
  const parsers = columns.map(({ dataTypeID }) => parserOf(dataTypeID))
  // This is safe: the names are quoted, and they come from statements of the service.
  return new Function('parsers', `return (texts) => ({ ${members} })`)(parsers)
}
