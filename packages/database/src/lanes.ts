import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import pg from 'pg'
import { againWhenLost } from './again-when-lost.ts'
import type { PipelinedClients } from './driver/pipelined-clients.ts'
import type { ParserOf } from './driver/row-reader.ts'
import { type Rows, runStatement, type Statement } from './driver/statement-query.ts'
import { type CompiledPreparedQuery, compilePrepared, type DistributedForm, type PreparedQuery } from './prepare.ts'
import type { QuerySpans } from './query-spans.ts'
import { isRefusedStatement, MovingRowsError } from './unavailable.ts'

/** One way to the database for prepared queries. */
export interface Lane {
  /** The single row. @throws Error when there is none */
  one<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row>
  /** The first row, or undefined. */
  first<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row | undefined>
  all<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]>
}

/**
 * `read` is pipelined, for statements that take no lock and open no transaction. `write` is a pool, for all other statements.
 */
export type Lanes = {
  readonly read: Lane
  readonly write: Lane
  /** As `read`, for reads that may lag behind. Without a standby it is `read` itself. */
  readonly lagging: Lane
}

/** Where the rows of a database are, and whether they are moving. */
export interface DatabaseMode {
  /**
   * How the owner of an object is found in a database that is distributed over several servers, by a name of the object.
   * Undefined: the database is not distributed.
   */
  readonly findOwner: ((read: Lane, name: string) => Promise<string>) | undefined
  /** Whether rows are moving to other servers. Writes are refused meanwhile, and reads go on. */
  readonly isMoving: boolean
}

interface LanesOptions<Tables> {
  /** Compiles queries, and runs none. */
  readonly db: Kysely<Tables>
  readonly pool: pg.Pool
  readonly readers: PipelinedClients
  /** The connections for queries that run on the coordinator of a cluster. */
  readonly coordinator: { readonly pool: pg.Pool; readonly readers: PipelinedClients }
  /** Runs a read that may lag behind. Undefined: such reads run on the read lane. */
  readonly laggingQuery: ((statement: Statement) => Promise<Rows>) | undefined
  readonly prepared: boolean
  readonly mode: () => DatabaseMode
  readonly spans: QuerySpans | undefined
  readonly parserOf: ParserOf
}

/** Makes the lanes over open connections. A query is compiled when it is first used. */
export function createLanes<Tables>({
  db,
  coordinator,
  laggingQuery,
  prepared,
  mode,
  spans,
  parserOf,
  ...entry
}: LanesOptions<Tables>): Lanes {
  const compile = createCompiler(db)
  const lane = (run: (statement: Statement, server: typeof coordinator) => Promise<Rows>): Lane => {
    // No await on this path: each would cost every hot request a turn of the microtask queue.
    const executeForm = <Input extends object, Row>(
      form: DistributedForm<Input, Row>['query'],
      input: object,
    ): Promise<Row[]> => {
      const { name, text, values } = compile(form)
      const statement = { name: prepared ? name : '', text, values: values(input) }
      // The query states the type of its rows: PostgreSQL knows no types of TypeScript. A check of each row would cost hot requests
      // time.
      const server = form.onCoordinator ? coordinator : entry
      const ask = () => run(statement, server) as Promise<Row[]>
      return spans ? spans.within(name, ask) : ask()
    }
    const execute = <Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]> => {
      const chosen = query.choose?.(input) ?? query
      const { findOwner } = mode()
      if (findOwner === undefined || chosen.distributed === undefined) return executeForm(chosen, input)
      const form = chosen.distributed
      const owner = form.ownerOf(input, (id) => findOwner(read, id))
      return typeof owner === 'string'
        ? executeForm(form.query, { ...input, owner })
        : owner.then((found) => executeForm(form.query, { ...input, owner: found }))
    }
    return {
      all: execute,
      first: async (query, input) => (await execute(query, input))[0],
      one: async (query, input) => {
        const [row] = await execute(query, input)
        if (row === undefined) throw new Error(`${query.name} returned no row`)
        return row
      },
    }
  }
  const read: Lane = lane((statement, { readers }) => {
    const answer = readers.query(statement)
    return mode().isMoving ? answer.catch(refuseWhileMoving) : answer
  })
  return {
    read,
    lagging: laggingQuery ? lane(laggingQuery) : read,
    write: lane((statement, { pool }) => {
      if (mode().isMoving) return Promise.reject(movingRows())
      return againWhenLost(() => queryOfPool(pool, (client) => runStatement(client, statement, parserOf)))
    }),
  }
}

/**
 * Makes lanes that run prepared queries in an open transaction, so that what uses lanes can take part in it. For a database that is
 * not distributed: the queries run in their plain form.
 * @param transaction begun and ended by the caller. After a failed query it can only be rolled back
 */
export function transactionLanes<Tables>(transaction: Transaction<Tables>): Lanes {
  const all = async <Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]> => {
    const { text, values } = compilePrepared(query.choose?.(input) ?? query, transaction)
    const { rows } = await transaction.executeQuery<Row>(CompiledQuery.raw(text, [...values(input)]))
    return rows
  }
  const lane: Lane = {
    all,
    first: async (query, input) => (await all(query, input))[0],
    one: async (query, input) => {
      const [row] = await all(query, input)
      if (row === undefined) throw new Error(`${query.name} returned no row`)
      return row
    },
  }
  return { read: lane, write: lane, lagging: lane }
}

/** Returns what compiles each query once. */
function createCompiler<Tables>(db: Kysely<Tables>) {
  const compiled = new Map<object, CompiledPreparedQuery>()
  return <Input extends object, Row>(query: DistributedForm<Input, Row>['query']): CompiledPreparedQuery => {
    const known = compiled.get(query)
    if (known) return known
    const fresh = compilePrepared(query, db)
    compiled.set(query, fresh)
    return fresh
  }
}

/** The error of a write while rows are moving. The log has one for each write, and its cause is known, so it has no stack. */
export function movingRows(): MovingRowsError {
  const error = new MovingRowsError('rows are moving to other servers, so nothing may be written')
  error.stack = String(error)
  return error
}

/** While rows are moving, a read may miss a function or find tables that cannot be read together. */
function refuseWhileMoving(cause: unknown): never {
  if (!isRefusedStatement(cause)) throw cause
  throw new MovingRowsError('rows are moving to other servers', { cause })
}

type Run = (client: pg.PoolClient) => Promise<Rows>

/** Errors after which a connection can be used again: data, constraints, conflicts, locks, and errors raised by functions. */
const OF_THE_STATEMENT = /^(22|23|40|55|P0|57014$)/

/** `pool.query` closes the connection after any error: each duplicate key would cost a new connection. */
function queryOfPool(pool: pg.Pool, run: Run): Promise<Rows> {
  return new Promise((resolve, reject) => {
    pool.connect((refusal, client, release) => {
      if (refusal || !client) return reject(refusal)
      run(client).then(
        (rows) => {
          release()
          resolve(rows)
        },
        (error: Error) => {
          release(error instanceof pg.DatabaseError && OF_THE_STATEMENT.test(error.code ?? '') ? undefined : error)
          reject(error)
        },
      )
    })
  })
}
