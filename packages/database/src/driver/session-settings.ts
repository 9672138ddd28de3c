import type { Socket } from 'node:net'
import pg from 'pg'

type Settings = Readonly<Record<string, string | number>>

export interface SettingsOptions {
  readonly connectionString: string
  readonly Client?: typeof pg.Client
}

interface SessionOptions {
  readonly url: string
  /** `false` behind a pooler in transaction mode. */
  readonly hasSession: boolean
}

/**
 * The search path of connections that use only PostgreSQL's own functions. Without it, a role that may create functions or
 * operators in a schema of the path could add one that fits the argument types better. PostgreSQL would then run it with the
 * rights of the connection (decision 41).
 */
export const OWN_PATH = { search_path: 'pg_catalog' } as const

/**
 * Settings that remove the time limits of a role, a database or a server, for work that may take long. A limit would end the
 * connection and release its lock, which blocks other sessions. Two settings are missing: `transaction_timeout` exists only from
 * PostgreSQL 17, and `lock_timeout` must stay, because a session that waits for a table lock blocks other sessions.
 */
export const NO_LIMITS = {
  statement_timeout: 0,
  idle_session_timeout: 0,
  idle_in_transaction_session_timeout: 0,
} as const

/**
 * Settings of how PostgreSQL reads statements and writes values, so that no default of a role, a database or a server changes
 * them. pg can parse only times in ISO format. DateStyle does not set the order of day and month, because triggers of
 * applications may depend on it.
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
 * The isolation level of all statements and functions. At this level they wait for locks of other transactions and continue with
 * the committed rows. A role, a database or a server may have a higher default. At a higher level, PostgreSQL would refuse such
 * statements (40001).
 */
const ISOLATION = 'read committed'

/**
 * Returns connection options that apply settings, including those that every connection needs. With its own session, a connection
 * gets them as defaults of the session, after the options of the URL. A pooler in transaction mode lends a session for each
 * transaction and does not pass defaults on. Behind such a pooler, the settings are sent before each transaction in the same
 * message, and end with the transaction. PostgreSQL parses all literals of a message before it runs the first statement. So
 * behind such a pooler, `standard_conforming_strings` applies only to statements with values and to statements in an open
 * transaction.
 */
export function underSettings(settings: Settings, { url, hasSession }: SessionOptions): SettingsOptions {
  const own = { ...FORMS, ...settings }
  if (!hasSession) return { connectionString: url, Client: clientUnder(Object.entries(own)) }
  const entries = Object.entries({ ...own, default_transaction_isolation: ISOLATION })
  // Do not use the class `URL`, because an address may contain several hosts. A connection string has no fragment.
  const [address = '', query = ''] = /^([^?#]*)\??([^#]*)/.exec(url)?.slice(1) ?? []
  const parameters = new URLSearchParams(query)
  const given = parameters.getAll('options').at(-1) ?? ''
  // Options of a URL replace the options of the connection.
  parameters.set(
    'options',
    [given, ...entries.map(([name, value]) => `-c ${name}=${asOption(value)}`)].join(' ').trim(),
  )
  return { connectionString: `${address}?${parameters}` }
}

/** Escapes a value for the options of a connection, which are separated by spaces. */
function asOption(value: string | number): string {
  return String(value).replaceAll(/[\\\s]/g, '\\$&')
}

function clientUnder(settings: readonly (readonly [string, string | number])[]): typeof pg.Client {
  const preamble: Preamble = {
    // Sets the level of the running transaction, which must happen before a SELECT takes the snapshot. The level ends with the
    // transaction. SET LOCAL would print a warning outside a transaction block.
    isolate: `SET transaction_isolation = ${literal(ISOLATION)}`,
    // Use one SELECT for all settings, because a query with values may contain only one statement. Qualify the function with its
    // schema, because the search path may be different until this statement has run.
    select: `SELECT ${settings.map(([name, value]) => `pg_catalog.set_config('${name}', ${literal(value)}, true)`).join(', ')}`,
    // Do not use SELECT here. It would take the snapshot of the transaction before the client can set the isolation level.
    set: settings.map(([name, value]) => `SET LOCAL ${name} = ${literal(value)}; `).join(''),
    setCount: settings.length,
  }
  return class extends pg.Client {
    // One method must replace all overloads of pg. No return type fits all of them.
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

/** Whether `first` is a query object, as Kysely's cursors pass it, and not the text or configuration of a query. */
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

/** Sends the settings before a query that begins or is a transaction, and hides their answers from the query. */
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
        // Send no sync here, because everything up to the sync of the query is one transaction.
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

// Parts of pg that this package uses but that pg's types leave out. `pg-internals.test.ts` fails if pg changes them.

/** How pg sends a query and handles its answers: pg/lib/query.js. */
export interface PgQuery<Result> extends pg.Submittable {
  name: string
  text: string
  /** Called once, with an error or with the result of the query. */
  callback: ((error: Error | null, result: Result) => void) | undefined
  /** Returns whether the query is sent as Parse, Bind and Execute instead of as plain text. */
  requiresPreparation(): boolean
  /** Sends the query as Parse, Bind, Describe and Execute. */
  prepare(connection: pg.Connection): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: pg.Connection): void
}

/** The class of queries. Its arguments are those of `client.query`. The cast is safe as long as `pg-internals.test.ts` passes. */
export const PgQuery = pg.Query as unknown as new <Result>(...query: readonly unknown[]) => PgQuery<Result>

/** The messages that a connection can send: pg/lib/connection.js. */
interface PgConnection extends pg.Connection {
  parse(statement: { readonly text: string }): void
  bind(values: object): void
  execute(portal: object): void
}

/** The members of a client about its connection: pg/lib/client.js. */
interface PgClient {
  /** Identifies the session in a cancel request, together with `secretKey`. Set when the connection is established. */
  readonly processID: number
  readonly secretKey: number
  /** `false` while an answer of the server is due. */
  readonly readyForQuery: boolean
  readonly connection: { readonly stream: Socket }
}

/** Returns the client with the members that pg's types leave out. The cast is safe as long as `pg-internals.test.ts` passes. */
export function internalsOf(client: pg.ClientBase): PgClient {
  return client as unknown as PgClient
}
