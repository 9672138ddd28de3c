import type { Compilable, Kysely, QueryExecutorProvider, RawBuilder } from 'kysely'

/** A query that is built and compiled once, and then runs by name with other values. */
export interface PreparedQuery<Input, Row> {
  /** The name of the prepared statement, unique in the service. */
  readonly name: string
  /** Builds the query for the tables of any service. `prepare` passes a builder with its caller's tables. */
  readonly build: (input: Input, db: QueryExecutorProvider) => Compilable<Row> | RawBuilder<Row>
  /** Returns another form of the query for some inputs, with its own name. Returns `undefined` to run this query. */
  readonly variantFor?: (input: Input) => PreparedQuery<Input, Row> | undefined
  /** `true` if the query must run on the coordinator of a cluster, because other servers lack the tables that it needs. */
  readonly onCoordinator?: true
  /** The form of the query for a distributed database. `undefined` if this query is used there too. */
  readonly distributed?: DistributedForm<Input, Row>
}

/**
 * Finds the tenant of an object in a distributed database by a name of the object. Resolves to an empty text if the object has no
 * tenant, because functions of a distributed database are always called with a tenant (decision 36).
 */
export type FindTenant = (name: string) => Promise<string>

/** An input with the tenant, which the pools add in a distributed database. In other databases it is absent, and so NULL. */
export type WithTenant<Input> = Input & { readonly tenant?: string }

/** A query for a distributed database. `p.tenant` is the tenant of all its rows. */
export interface DistributedForm<Input, Row> {
  readonly query: Omit<PreparedQuery<Input, Row>, 'variantFor' | 'distributed'>
  readonly tenantOf: (input: Input, find: FindTenant) => string | Promise<string>
}

/**
 * Declares a prepared query. `build` runs once, with a placeholder for each member of the input. Use the members only as values
 * (`where('id', '=', p.id)`, `${p.amount}`), never in TypeScript conditions. Use `variantFor` for conditions.
 */
export function prepare<Input extends object, Row, Tables = unknown>(
  name: string,
  build: (input: Input, db: Kysely<Tables>) => Compilable<Row> | RawBuilder<Row>,
): PreparedQuery<Input, Row> {
  // The cast is safe, because tests of each service compare its tables with the types in its `database.ts`.
  return { name, build: (input, db) => build(input, db as Kysely<Tables>) }
}

/**
 * Adds the form for a distributed database to a query.
 * @param build the query with the tenant. By default it is the same query, whose `p.tenant` is NULL in other databases
 */
export function routeByTenant<Input extends object, Row>(
  query: PreparedQuery<Input, Row>,
  tenantOf: DistributedForm<Input, Row>['tenantOf'],
  build?: (input: WithTenant<Input>) => RawBuilder<Row>,
): PreparedQuery<Input, Row> {
  // The forms need different names, because a connection may run both: one before and one after the database is distributed.
  const form = build ? prepare<Input, Row>(`${query.name}_by_tenant`, build) : query
  return { ...query, distributed: { query: form, tenantOf: tenantOf } }
}

/**
 * Declares a prepared query like `prepare`, for the coordinator of a cluster. Such a query needs a function or a table that other
 * servers lack.
 */
export function prepareOnCoordinator<Input extends object, Row, Tables = unknown>(
  name: string,
  build: (input: Input, db: Kysely<Tables>) => Compilable<Row> | RawBuilder<Row>,
): PreparedQuery<Input, Row> {
  return { ...prepare(name, build), onCoordinator: true }
}

export interface CompiledPreparedQuery {
  readonly name: string
  readonly text: string
  /** Returns the values of the parameters, in order, for an input of the query. */
  readonly values: (input: object) => unknown[]
}

/** Compiles a prepared query with the plugins of `db`, which add the schema and the prefix. Does not run it. */
export function compilePrepared<Input extends object, Row, Tables>(
  query: PreparedQuery<Input, Row>,
  db: Kysely<Tables>,
): CompiledPreparedQuery {
  const built = query.build(standIns<Input>(), db)
  const compiled = 'isRawBuilder' in built ? built.compile(db) : built.compile()
  const parameters = compiled.parameters
  return {
    name: query.name,
    text: compiled.sql,
    values: (input) =>
      parameters.map((parameter) => (parameter instanceof StandIn ? parameter.valueIn(input) : parameter)),
  }
}

/** A placeholder for a member of the input during compilation, or for one column of a member that contains rows. */
class StandIn {
  readonly #member: PropertyKey
  readonly #column: string | undefined

  constructor(member: PropertyKey, column?: string) {
    this.#member = member
    this.#column = column
  }

  ofColumn(column: string): StandIn {
    return new StandIn(this.#member, column)
  }

  valueIn(input: object): unknown {
    const value: unknown = Reflect.get(input, this.#member) ?? null
    return this.#column !== undefined && areRows(value) ? valuesOf(value, this.#column) : value
  }
}

function standIns<Input extends object>(): Input {
  // The proxy answers for every member, so its target needs none.
  return new Proxy({} as Input, { get: (_target, key) => new StandIn(key) })
}

/** Returns the parameter for one column of rows: the values, or a placeholder during compilation. */
export function columnOf(rows: readonly object[], column: string): unknown {
  return rows instanceof StandIn ? rows.ofColumn(column) : valuesOf(rows, column)
}

function valuesOf(rows: readonly object[], column: string): readonly unknown[] {
  return rows.map((row): unknown => Reflect.get(row, column))
}

function areRows(value: unknown): value is readonly object[] {
  return Array.isArray(value)
}
