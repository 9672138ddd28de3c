import type { Span, SpanOptions, Tracer } from '@opentelemetry/api'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import pg from 'pg'
import { againWhenLost } from './again-when-lost.ts'
import { createGroupCommit } from './batches/group-commit.ts'
import type { PipelinedClients } from './driver/pipelined-clients.ts'
import { type ParserOf, type Rows, runStatement, type Statement } from './driver/statement-query.ts'
import { type CompiledPreparedQuery, compilePrepared, type DistributedForm, type PreparedQuery } from './prepare.ts'
import { isRefusedStatement, NoConnectionError, RebalancingError } from './unavailable.ts'

/** One way to the database for prepared queries. */
export interface QueryPool {
  /** The single row. @throws Error when there is none */
  one<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row>
  /** The first row, or undefined. */
  first<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row | undefined>
  all<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]>
}

/**
 * `read` pipelines statements that take no lock and open no transaction. `write` serves all other statements.
 */
export type Pools = {
  readonly read: QueryPool
  readonly write: QueryPool
  /** As `read`, for reads that may lag behind. Without a standby it is `read` itself. */
  readonly lagging: QueryPool
}

export interface DatabaseMode {
  /**
   * How the tenant of an object is found in a database that is distributed over several servers, by a name of the object.
   * Undefined: the database is not distributed.
   */
  readonly findTenant: ((read: QueryPool, name: string) => Promise<string>) | undefined
  /** Whether rows are moving to other servers. Writes are refused meanwhile, and reads go on. */
  readonly isRebalancing: boolean
}

interface PoolsOptions<Tables> {
  /** Compiles queries, and runs none. */
  readonly db: Kysely<Tables>
  readonly pool: pg.Pool
  readonly readers: PipelinedClients
  /** The connections for queries that run on the coordinator of a cluster. */
  readonly coordinator: { readonly pool: pg.Pool; readonly readers: PipelinedClients }
  /** Runs a read that may lag behind. Undefined: such reads run on the read pool. */
  readonly laggingQuery: ((statement: Statement) => Promise<Rows>) | undefined
  readonly prepared: boolean
  readonly mode: () => DatabaseMode
  /** Undefined: no read is repeated. */
  readonly readAgain: ReadAgain | undefined
  readonly spans: QuerySpans | undefined
  readonly parserOf: ParserOf
}

/** Creates the pools over open connections. A query is compiled when it is first used. */
export function createPools<Tables>({
  db,
  coordinator,
  laggingQuery,
  prepared,
  mode,
  readAgain,
  spans,
  parserOf,
  ...entry
}: PoolsOptions<Tables>): Pools {
  const compile = createCompiler(db)
  const statementOf = <Input extends object, Row>(form: Form<Input, Row>, input: object): Statement => {
    const { name, text, values } = compile(form)
    return { name: prepared ? name : '', text, values: values(input) }
  }
  const queryPool = (
    run: (statement: Statement, server: typeof coordinator) => Promise<Rows>,
    again?: Again,
  ): QueryPool => {
    const ask: Ask = <Input extends object, Row>(form: Form<Input, Row>, input: object) => {
      const statement = statementOf(form, input)
      const server = form.onCoordinator ? coordinator : entry
      const send = () => rowsOf(form, run(statement, server))
      return spans ? spans.within(form.name, send) : send()
    }
    return createQueryPool({ ask, again, mode, read: () => read })
  }
  const serialize = serializeByTenant()
  const again = readAgain && {
    isMissing: (rows: readonly object[]) => !mode().isRebalancing && readAgain.isMissing(rows),
    // Both statements use one connection: each server learns by itself that a move has ended, so the server that
    // has waited must read.
    ask: <Input extends object, Row>(form: Form<Input, Row>, input: { readonly tenant: string }) =>
      rowsOf(
        form,
        serialize(input.tenant, () =>
          againWhenLost(() =>
            queryOfPool(entry.pool, async (client) => {
              await runStatement(client, statementOf(readAgain.waitForRebalance, input), parserOf)
              return runStatement(client, statementOf(form, input), parserOf)
            }),
          ),
        ).catch(refuseWhileRebalancing),
      ),
  }
  const read: QueryPool = queryPool((statement, { readers }) => {
    const answer = againWhenLost(() => readers.query(statement))
    return mode().isRebalancing ? answer.catch(refuseWhileRebalancing) : answer
  }, again)
  return {
    read,
    lagging: laggingQuery ? queryPool(laggingQuery) : read,
    write: queryPool((statement, { pool }) => {
      if (mode().isRebalancing) return Promise.reject(rebalancing())
      return againWhenLost(() => queryOfPool(pool, (client) => runStatement(client, statement, parserOf)))
    }),
  }
}

/**
 * Returns pools that run prepared queries in an open transaction, for code that takes `Pools`. The queries are
 * compiled at each call and are not prepared.
 * @param transaction begun and ended by the caller. After a failed query it can only be rolled back
 * @param tenant the tenant of all rows of the queries, for a database that may be distributed: nobody looks for the tenant, and the
 * queries run in their form with a tenant, which holds for one server too. Undefined: they run in their plain form
 */
export function transactionPools<Tables>(transaction: Transaction<Tables>, tenant?: string): Pools {
  const pool = queryPoolOf(
    async <Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]> => {
      const chosen = query.variantFor?.(input) ?? query
      const form = tenant === undefined ? chosen : (chosen.distributed?.query ?? chosen)
      const { text, values } = compilePrepared(form, transaction)
      const { rows } = await transaction.executeQuery<Row>(CompiledQuery.raw(text, values({ ...input, tenant })))
      return rows
    },
  )
  return { read: pool, write: pool, lagging: pool }
}

/**
 * The rows of a query, with the type that the query states: PostgreSQL knows no types of TypeScript. A check of each row would
 * cost hot requests time.
 */
function rowsOf<Input extends object, Row>(_query: Form<Input, Row>, rows: Promise<Rows>): Promise<Row[]> {
  return rows as Promise<Row[]>
}

type Form<Input extends object, Row> = DistributedForm<Input, Row>['query']
type Ask<Given extends object = object> = <Input extends object, Row>(
  form: Form<Input, Row>,
  input: Given,
) => Promise<Row[]>

interface Again {
  readonly isMissing: (rows: readonly object[]) => boolean
  readonly ask: Ask<{ readonly tenant: string }>
}

interface QueryPoolParts {
  readonly ask: Ask
  readonly again: Again | undefined
  readonly mode: () => DatabaseMode
  /** The pool that finds tenants. */
  readonly read: () => QueryPool
}

/** No await on the way of a query: each would cost every hot request a pass of the microtask queue. */
function createQueryPool({ ask, again, mode, read }: QueryPoolParts): QueryPool {
  const askOf = <Input extends object, Row>(form: Form<Input, Row>, input: object, tenant: string): Promise<Row[]> => {
    const withTenant = { ...input, tenant }
    const asked = ask(form, withTenant)
    if (again === undefined || tenant === '') return asked
    // The parameter `Row` has no bound, but `pg` makes only objects of rows.
    return asked.then((rows) => (again.isMissing(rows as object[]) ? again.ask(form, withTenant) : rows))
  }
  const execute = <Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]> => {
    const chosen = query.variantFor?.(input) ?? query
    const { findTenant } = mode()
    if (findTenant === undefined || chosen.distributed === undefined) return ask(chosen, input)
    const form = chosen.distributed
    const tenant = form.tenantOf(input, (id) => findTenant(read(), id))
    return typeof tenant === 'string'
      ? askOf(form.query, input, tenant)
      : tenant.then((found) => askOf(form.query, input, found))
  }
  return queryPoolOf(execute)
}

function queryPoolOf(all: QueryPool['all']): QueryPool {
  return {
    all,
    first: async (query, input) => (await all(query, input))[0],
    one: async (query, input) => {
      const [row] = await all(query, input)
      if (row === undefined) throw new Error(`${query.name} returned no row`)
      return row
    },
  }
}

/** Returns a compiler that compiles each query once. */
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
export function rebalancing(): RebalancingError {
  const error = new RebalancingError('rows are moving to other servers, so nothing may be written')
  error.stack = String(error)
  return error
}

/** While rows are moving, a read may miss a function or find tables that cannot be read together. */
function refuseWhileRebalancing(cause: unknown): never {
  if (!isRefusedStatement(cause)) throw cause
  throw new RebalancingError('rows are moving to other servers', { cause })
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

/**
 * Repeats reads where rows may move to other servers. A read that finds nothing of a tenant runs again, once the server that it
 * asked knows where the rows are. While a move ends, a read may look at the old place.
 */
export interface ReadAgain {
  /** Returns once the server knows. It runs on the write pool. */
  readonly waitForRebalance: PreparedQuery<{ readonly tenant: string }, unknown>
  /** Whether the rows of a read say that there is no such object. */
  readonly isMissing: (rows: readonly object[]) => boolean
}

type SerializeRead = <Rows>(tenant: string, read: () => Promise<Rows>) => Promise<Rows>

/**
 * Serializes repeated reads by tenant. Reads that wait for a long move then leave connections to others: they have
 * no more of them than batches. A read that would have to wait for 5 s fails with NoConnectionError.
 */
function serializeByTenant(): SerializeRead {
  const group = createGroupCommit<{ readonly tenant: string; readonly read: () => Promise<unknown> }, unknown>({
    carryOut: (items) => Promise.all(items.map(({ read }) => read())),
    keyOf: ({ tenant }) => tenant,
    isWorthRepeating: () => false,
    sizeMax: 1,
    tooMany: () => new NoConnectionError('too many reads wait for the end of a move'),
  })
  // The result of an item is the result of its own read.
  return <Rows>(tenant: string, read: () => Promise<Rows>) => group.add({ tenant, read }) as Promise<Rows>
}

/** Makes the spans of queries. A span has the name of its query, never its values. */
export interface QuerySpans {
  /** Runs a query inside a span; outside a traced request without a span. */
  readonly within: <T>(name: string, run: () => Promise<T>) => Promise<T>
  /** Records the span of a query that has just ended. @param durationMs how long the query took */
  readonly record: (name: string, durationMs: number, failed: boolean) => void
}

/**
 * Loads the instrumentation that creates the spans of queries.
 * @returns undefined where requests are not traced: then the library, which has 50 files, is not loaded
 */
export async function loadQuerySpans({
  tracingEnabled,
}: {
  readonly tracingEnabled: boolean
}): Promise<QuerySpans | undefined> {
  if (!tracingEnabled) return undefined
  const { SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api')
  const tracer: Tracer = trace.getTracer('@trestle/database')
  const options: SpanOptions = { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql' } }
  const runInSpan = <T>(name: string, run: () => Promise<T>): Promise<T> =>
    tracer.startActiveSpan(name, options, async (span: Span) => {
      try {
        return await run()
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    })
  return {
    within: <T>(name: string, run: () => Promise<T>): Promise<T> =>
      trace.getActiveSpan() === undefined ? run() : runInSpan(name, run),
    record: (name: string, durationMs: number, failed: boolean): void => {
      // OpenTelemetry accepts times of this clock. They are exact to microseconds and do not jump with the wall clock.
      const endMs = performance.now()
      const span = tracer.startSpan(name, { ...options, startTime: endMs - durationMs })
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(endMs)
    },
  }
}
