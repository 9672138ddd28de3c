import type { Socket } from 'node:net'
import pg from 'pg'

type Settings = Readonly<Record<string, string | number>>

export interface SettingsOptions {
  readonly connectionString: string
  readonly Client?: typeof pg.Client
}

interface SessionOptions {
  readonly url: string
  /** False behind a pooler in transaction mode. */
  readonly hasSession: boolean
}

/**
 * The search path of a connection whose statements run nothing of others. A role that may create functions or operators in a
 * schema of the path could make one that fits the types of a call better than PostgreSQL's own does. It would run with the rights
 * of the connection (decision 41).
 */
export const OWN_PATH = { search_path: 'pg_catalog' } as const

/**
 * Settings that lift the time limits of a role, a database or a server, for work that may take long. A limit would end the
 * connection, and with it a lock that blocks other sessions. `transaction_timeout`, which PostgreSQL has from 17 on, is not
 * among them. Nor is `lock_timeout`, because a session that waits for a lock of a table keeps other sessions waiting.
 */
export const NO_LIMITS = {
  statement_timeout: 0,
  idle_session_timeout: 0,
  idle_in_transaction_session_timeout: 0,
} as const

/**
 * The settings that decide how PostgreSQL reads our statements and writes values, so that no default of a role, a database or a
 * server decides it. pg takes a time that is not in ISO form for no time. DateStyle leaves the order of day and month as it is,
 * because triggers of others may read dates in that order.
 */
const FORMS = {
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  quote_all_identifiers: 'off',
} as const

/**
 * The isolation level under which our statements and functions wait for the locks of others and go on with what these have
 * committed. A higher one, which a role, a database or a server may have as its default, would refuse them instead (40001).
 */
const ISOLATION = 'read committed'

/**
 * Brings a connection under settings, and under those that every connection needs. A connection that has a
 * session to itself gets them as the defaults of the session, after those that its URL has. A pooler in
 * transaction mode lends a session for each transaction and passes no defaults on. Behind such a pooler the
 * settings are sent ahead of each transaction, in the same message, and end with the transaction. PostgreSQL
 * reads the literals of a whole message before it runs one statement of it: behind such a pooler,
 * `standard_conforming_strings` counts for statements with values and for those of an open transaction.
 */
export function underSettings(settings: Settings, { url, hasSession }: SessionOptions): SettingsOptions {
  const own = { ...FORMS, ...settings }
  if (!hasSession) return { connectionString: url, Client: clientUnder(Object.entries(own)) }
  const entries = Object.entries({ ...own, default_transaction_isolation: ISOLATION })
  // Not by the class URL: an address may name several hosts. A fragment has no meaning here.
  const [address = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(url)?.slice(1) ?? []
  const parameters = new URLSearchParams(query)
  const given = parameters.getAll('options').at(-1) ?? ''
  // Options of a URL replace those of the connection.
  parameters.set(
    'options',
    [given, ...entries.map(([name, value]) => `-c ${name}=${asOption(value)}`)].join(' ').trim(),
  )
  return { connectionString: `${address}?${parameters}` }
}

/** Returns a value as it stands among the options of a connection, which end at blanks. */
function asOption(value: string | number): string {
  return String(value).replaceAll(/[\\\s]/g, '\\$&')
}

function clientUnder(settings: readonly (readonly [string, string | number])[]): typeof pg.Client {
  const preamble: Preamble = {
    // The level of the running transaction, which must be set before a SELECT takes the snapshot. It ends with the
    // transaction. SET LOCAL would warn where no statement has begun the transaction.
    isolate: `SET transaction_isolation = ${literal(ISOLATION)}`,
    // A query with values may hold only one statement, so one SELECT makes all settings.
    // The name of the function has its schema, because the session may look for functions elsewhere until the statement has run.
    select: `SELECT ${settings.map(([name, value]) => `pg_catalog.set_config('${name}', ${literal(value)}, true)`).join(', ')}`,
    // Not a SELECT: it would take the snapshot of the transaction before the client can set the isolation level.
    set: settings.map(([name, value]) => `SET LOCAL ${name} = ${literal(value)}; `).join(''),
    setCount: settings.length,
  }
  return class extends pg.Client {
    // One method stands for all overloads of pg: what returns never fits each of them.
    override query(...given: never[]): never
    override query(first: unknown, ...rest: readonly unknown[]): unknown {
      if (isQuery(first)) return super.query(putAhead(preamble, first, this))
      const query = putAhead(preamble, new PgQuery<unknown>(first, ...rest), this)
      if (query.callback) return void super.query(query)
      return new Promise((resolve, reject) => {
        query.callback = (error, result) => (error ? reject(error) : resolve(result))
        super.query(query)
      })
    }
  }
}

/** Whether the caller made the query, as Kysely's cursors and this package do. Otherwise `first` is its text or configuration. */
function isQuery(first: unknown): first is PgQuery<unknown> {
  return typeof first === 'object' && first !== null && 'submit' in first && typeof first.submit === 'function'
}

function literal(value: string | number): string {
  return pg.escapeLiteral(String(value))
}

interface Preamble {
  readonly isolate: string
  readonly select: string
  readonly set: string
  readonly setCount: number
}

/** Sends the settings ahead of a query that opens a transaction or is one, and hides the answers to them from the query. */
function putAhead(preamble: Preamble, query: PgQuery<unknown>, client: pg.Client): PgQuery<unknown> {
  const { submit, handleRowDescription, handleDataRow, handleCommandComplete } = query
  let answersAhead = 0
  return Object.assign(query, {
    submit: (connection: PgConnection) => {
      if (client.getTransactionStatus() !== 'I') return submit.call(query, connection)
      if (!query.requiresPreparation()) {
        answersAhead = preamble.setCount + 1
        query.text = `${preamble.isolate}; ${preamble.set}${query.text}`
        return submit.call(query, connection)
      }
      answersAhead = 2
      connection.stream.cork()
      try {
        for (const text of [preamble.isolate, preamble.select]) {
          connection.parse({ text })
          connection.bind({})
          connection.execute({})
        }
        // No sync here: everything up to the sync of the query is one transaction.
        return submit.call(query, connection)
      } finally {
        connection.stream.uncork()
      }
    },
    handleRowDescription: (message: unknown) => {
      if (answersAhead === 0) handleRowDescription.call(query, message)
    },
    handleDataRow: (message: unknown) => {
      if (answersAhead === 0) handleDataRow.call(query, message)
    },
    handleCommandComplete: (message: unknown, connection: pg.Connection) => {
      if (answersAhead === 0) handleCommandComplete.call(query, message, connection)
      else answersAhead -= 1
    },
  })
}

// The parts of pg that this package uses, and that the types of pg leave out. `pg-internals.test.ts` fails when pg changes any of
// it.

/** A query as it is sent and answered: pg/lib/query.js. */
export interface PgQuery<Result> extends pg.Submittable {
  name: string
  text: string
  /** Called once: with an error, or with the result of the query. */
  callback: ((error: Error | null, result: Result) => void) | undefined
  /** Whether the query is sent as Parse, Bind and Execute rather than as a plain text. */
  requiresPreparation(): boolean
  /** Sends the query as Parse, Bind, Describe and Execute. */
  prepare(connection: pg.Connection): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: pg.Connection): void
}

/** The class of queries. Its arguments are those of `client.query`. The cast is safe while `pg-internals.test.ts` passes. */
export const PgQuery = pg.Query as unknown as new <Result>(...query: readonly unknown[]) => PgQuery<Result>

/** The messages that a connection sends: pg/lib/connection.js. */
interface PgConnection extends pg.Connection {
  parse(statement: { readonly text: string }): void
  bind(values: object): void
  execute(portal: object): void
}

/** The members of a client that describe its connection: pg/lib/client.js. */
interface PgClient {
  /** With `secretKey`, the name of the session in a request to cancel its statement. Known from the first answer on. */
  readonly processID: number
  readonly secretKey: number
  /** False while an answer of the server is due. */
  readonly readyForQuery: boolean
  readonly connection: { readonly stream: Socket }
}

/** The members of a client that pg's types leave out. The cast is safe while `pg-internals.test.ts` passes. */
export function internalsOf(client: pg.ClientBase): PgClient {
  return client as unknown as PgClient
}
