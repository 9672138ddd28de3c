import type { Span, SpanOptions, Tracer } from '@opentelemetry/api'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import pg from 'pg'
import { againWhenLost } from './again-when-lost.ts'
import { createGroupCommit } from './batches/group-commit.ts'
import type { PipelinedClients } from './driver/pipelined-clients.ts'
import { type ParserOf, type Rows, runStatement, type Statement } from './driver/statement-query.ts'
import { type CompiledPreparedQuery, compilePrepared, type DistributedForm, type PreparedQuery } from './prepare.ts'
import { isRefusedStatement, NoConnectionError, RebalancingError } from './unavailable.ts'

/** Runs prepared queries over one set of connections. */
export interface QueryPool {
  /** Returns the single row. @throws Error if there is none */
  one<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row>
  /** Returns the first row, or `undefined` if there is none. */
  first<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row | undefined>
  all<Input extends object, Row>(query: PreparedQuery<Input, Row>, input: Input): Promise<Row[]>
}

/** `read` pipelines statements that take no lock and open no transaction. `write` runs all other statements. */
export type Pools = {
  readonly read: QueryPool
  readonly write: QueryPool
  /** Like `read`, for reads that may return old data. Without a standby, it is the same pool as `read`. */
  readonly lagging: QueryPool
}

export interface DatabaseMode {
  /**
   * Finds the tenant of an object by a name of the object, in a distributed database. `undefined` if the database is not
   * distributed.
   */
  readonly findTenant: ((read: QueryPool, name: string) => Promise<string>) | undefined
  /** Whether rows are moving to other servers. Meanwhile writes are refused and reads continue. */
  readonly isRebalancing: boolean
}

interface PoolsOptions<Tables> {
  /** Compiles queries and runs none. */
  readonly db: Kysely<Tables>
  readonly pool: pg.Pool
  readonly readers: PipelinedClients
  /** The connections for queries that run on the coordinator of a cluster. */
  readonly coordinator: { readonly pool: pg.Pool; readonly readers: PipelinedClients }
  /** Runs a read that may return old data. `undefined` if such reads use the read pool. */
  readonly laggingQuery: ((statement: Statement) => Promise<Rows>) | undefined
  readonly prepared: boolean
  readonly mode: () => DatabaseMode
  /** `undefined` if no read is repeated. */
  readonly readAgain: ReadAgain | undefined
  readonly spans: QuerySpans | undefined
  readonly parserOf: ParserOf
}

/** Creates the pools over open connections. A query is compiled on first use. */
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
    // Use one connection for both statements. Each server detects the end of a move by itself, so the read must run on the server
    // that has waited.
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
 * Returns pools that run prepared queries in an open transaction, for code that takes `Pools`. The queries are compiled on each
 * call and are not prepared.
 * @param transaction the caller begins and ends it. After a failed query it can only be rolled back
 * @param tenant the tenant of all rows of the queries, for a database that may be distributed. The queries then run in their form
 * with a tenant, without a search for the tenant. This form is correct on one server too. If `undefined`, the queries run in
 * their plain form
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
 * Returns the rows with the type that the query states. PostgreSQL does not know this type, and a check of each row would slow
 * down frequent requests.
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
  /** Returns the pool that finds tenants. */
  readonly read: () => QueryPool
}

/** Runs queries without `await`, because each `await` would cost every frequent request a pass of the microtask queue. */
function createQueryPool({ ask, again, mode, read }: QueryPoolParts): QueryPool {
  const askOf = <Input extends object, Row>(form: Form<Input, Row>, input: object, tenant: string): Promise<Row[]> => {
    const withTenant = { ...input, tenant }
    const asked = ask(form, withTenant)
    if (again === undefined || tenant === '') return asked
    // The type parameter `Row` has no bound, but `pg` returns only objects.
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

/** The error of a write while rows are moving. It is logged for each write and its cause is known, so it has no stack. */
export function rebalancing(): RebalancingError {
  const error = new RebalancingError('rows are moving to other servers, so nothing may be written')
  error.stack = String(error)
  return error
}

/** Translates errors of reads while rows are moving. Such a read may miss a function or find tables that cannot be joined. */
function refuseWhileRebalancing(cause: unknown): never {
  if (!isRefusedStatement(cause)) throw cause
  throw new RebalancingError('rows are moving to other servers', { cause })
}

type Run = (client: pg.PoolClient) => Promise<Rows>

/** Errors after which a connection stays usable: data, constraints, conflicts, locks, and errors raised by functions. */
const OF_THE_STATEMENT = /^(22|23|40|55|P0|57014$)/

/** Keeps the connection after errors. `pool.query` would close it, so each duplicate key would cost a new one. */
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
 * How to repeat reads while rows may move to other servers. At the end of a move, a read may still look at the old server and
 * find nothing. Such a read runs again after its server knows the new place of the rows.
 */
export interface ReadAgain {
  /** Waits until the server knows the place of the tenant's rows. Runs on the write pool. */
  readonly waitForRebalance: PreparedQuery<{ readonly tenant: string }, unknown>
  /** Returns whether the rows of a read mean that the object does not exist. */
  readonly isMissing: (rows: readonly object[]) => boolean
}

type SerializeRead = <Rows>(tenant: string, read: () => Promise<Rows>) => Promise<Rows>

/**
 * Serializes repeated reads by tenant. Otherwise reads that wait for a long move would occupy all connections. They now use at
 * most as many connections as a group commit has batches. A read that would wait for 5 s fails with NoConnectionError.
 */
function serializeByTenant(): SerializeRead {
  const group = createGroupCommit<{ readonly tenant: string; readonly read: () => Promise<unknown> }, unknown>({
    carryOut: (items) => Promise.all(items.map(({ read }) => read())),
    keyOf: ({ tenant }) => tenant,
    isWorthRepeating: () => false,
    sizeMax: 1,
    tooMany: () => new NoConnectionError('too many reads wait for the end of a move'),
  })
  // The result of each item is the result of its own read.
  return <Rows>(tenant: string, read: () => Promise<Rows>) => group.add({ tenant, read }) as Promise<Rows>
}

/** Creates the spans of queries. A span contains the name of its query, but never values. */
export interface QuerySpans {
  /** Runs a query inside a span. Outside a traced request, runs it without a span. */
  readonly within: <T>(name: string, run: () => Promise<T>) => Promise<T>
  /** Records the span of a query that has just ended. @param durationMs how long the query took */
  readonly record: (name: string, durationMs: number, failed: boolean) => void
}

/**
 * Loads the instrumentation that creates the spans of queries.
 * @returns `undefined` if requests are not traced. The library with its 50 files is then not loaded
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
      // OpenTelemetry accepts times of this clock. They are exact to microseconds, and changes of the system clock do not affect
      // them.
      const endMs = performance.now()
      const span = tracer.startSpan(name, { ...options, startTime: endMs - durationMs })
      if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(endMs)
    },
  }
}
