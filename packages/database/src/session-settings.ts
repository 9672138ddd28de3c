import pg from 'pg'

/** Settings of PostgreSQL, by name. */
type Settings = Readonly<Record<string, string | number>>

/** Of a connection or a pool: whatever it runs is run under settings. */
export interface SettingsOptions {
  readonly options?: string
  readonly Client?: typeof pg.Client
}

/**
 * How a connection is brought under settings. In a session of its own they are its defaults. A pooler in transaction mode
 * lends it some session for each transaction, and passes no defaults on: there they go ahead of each transaction, in the
 * same message, and end with it.
 */
export function underSettings(settings: Settings, hasSession: boolean): SettingsOptions {
  const entries = Object.entries(settings)
  if (entries.length === 0) return {}
  if (hasSession) return { options: entries.map(([name, value]) => `-c ${name}=${value}`).join(' ') }
  return { Client: clientUnder(entries) }
}

/** What pg's connection and query do, which their types leave out: see pg/lib/connection.js and query.js. */
interface Wire extends pg.Connection {
  parse(statement: { readonly text: string }, more?: boolean): void
  bind(values: object): void
  execute(portal: object): void
}

interface WireQuery extends pg.Submittable {
  text: string
  callback?: (error: Error | null, result?: unknown) => void
  requiresPreparation(): boolean
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: pg.Connection): void
}

const Query = pg.Query as unknown as new (...query: readonly unknown[]) => WireQuery

function clientUnder(settings: readonly (readonly [string, string | number])[]): typeof pg.Client {
  const preamble: Preamble = {
    // One statement, where statements have values.
    select: `SELECT ${settings.map(([name, value]) => `set_config('${name}', ${literal(value)}, true)`).join(', ')}`,
    // No SELECT: it would take the snapshot of a transaction that has yet to say at what level it wants one.
    set: settings.map(([name, value]) => `SET LOCAL ${name} = ${literal(value)}; `).join(''),
    setCount: settings.length,
  }
  return class extends pg.Client {
    // biome-ignore lint/suspicious/noExplicitAny: it stands for all the overloads of pg
    override query(first: any, values?: any, callback?: any): any {
      if (typeof first?.submit === 'function') return super.query(putAhead(preamble, first, this))
      const query = putAhead(preamble, new Query(first, values, callback), this)
      if (query.callback) return void super.query(query)
      return new Promise((resolve, reject) => {
        query.callback = (error, result) => (error ? reject(error) : resolve(result))
        super.query(query)
      })
    }
  }
}

function literal(value: string | number): string {
  return pg.escapeLiteral(String(value))
}

interface Preamble {
  readonly select: string
  readonly set: string
  /** How many statements `set` has. */
  readonly setCount: number
}

/** Sends the settings ahead of a query that opens a transaction or is one, and keeps their answers from it. */
function putAhead(preamble: Preamble, query: WireQuery, client: pg.Client): WireQuery {
  const { submit, handleRowDescription, handleDataRow, handleCommandComplete } = query
  let answersAhead = 0
  return Object.assign(query, {
    submit: (connection: Wire) => {
      if (client.getTransactionStatus() !== 'I') return submit.call(query, connection)
      if (!query.requiresPreparation()) {
        answersAhead = preamble.setCount
        query.text = preamble.set + query.text
        return submit.call(query, connection)
      }
      answersAhead = 1
      connection.stream.cork()
      try {
        connection.parse({ text: preamble.select })
        connection.bind({})
        connection.execute({})
        // No sync yet: up to the query's own they are one transaction.
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
