import type { Socket } from 'node:net'
import pg from 'pg'

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
export interface PgConnection extends pg.Connection {
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
