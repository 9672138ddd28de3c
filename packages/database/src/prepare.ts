import type { Compilable, Kysely, QueryExecutorProvider, RawBuilder } from 'kysely'

/** A query that is built and compiled once, and then runs by name with any values. */
export interface PreparedQuery<Input, Row> {
  /** Name of the prepared statement, unique in the service. */
  readonly name: string
  /** Builds the query for the tables of any service. `prepare` gives the builder those that it states. */
  readonly build: (input: Input, db: QueryExecutorProvider) => Compilable<Row> | RawBuilder<Row>
  /** Another form of the query for some inputs, with its own name. Undefined: this query. */
  readonly variantFor?: (input: Input) => PreparedQuery<Input, Row> | undefined
  /** Whether it runs on the coordinator of a cluster, because other servers do not have the tables that it needs. */
  readonly onCoordinator?: true
  /** The form of the query for a distributed database. Undefined: this query. */
  readonly distributed?: DistributedForm<Input, Row>
}

/**
 * Finds the tenant of an object of a distributed database, by a name of the object. Empty when it has no tenant: functions of a
 * distributed database are always called with a tenant (decision 36).
 */
export type FindTenant = (name: string) => Promise<string>

/** An input with the tenant, which the pools add where the database is distributed. Absent, and so NULL, elsewhere. */
export type WithTenant<Input> = Input & { readonly tenant?: string }

/** A query of a distributed database, which names the tenant of all rows in `p.tenant`. */
export interface DistributedForm<Input, Row> {
  readonly query: Omit<PreparedQuery<Input, Row>, 'variantFor' | 'distributed'>
  readonly tenantOf: (input: Input, find: FindTenant) => string | Promise<string>
}

/**
 * Declares a prepared query. `build` runs once, with a stand-in for each member of the input. Use the members only as values
 * (`where('id', '=', p.id)`, `${p.amount}`), never in conditions. `variantFor` is for conditions.
 */
export function prepare<Input extends object, Row, Tables = unknown>(
  name: string,
  build: (input: Input, db: Kysely<Tables>) => Compilable<Row> | RawBuilder<Row>,
): PreparedQuery<Input, Row> {
  // Tests of each service compare its tables with those that its `database.ts` states.
  return { name, build: (input, db) => build(input, db as Kysely<Tables>) }
}

/**
 * Adds the form for a distributed database to a query.
 * @param build the query with the tenant. By default it is the same query, whose `p.tenant` is null on other databases
 */
export function routeByTenant<Input extends object, Row>(
  query: PreparedQuery<Input, Row>,
  tenantOf: DistributedForm<Input, Row>['tenantOf'],
  build?: (input: WithTenant<Input>) => RawBuilder<Row>,
): PreparedQuery<Input, Row> {
  // The name distinguishes the variants on a connection that runs both, before and after the database is distributed.
  const form = build ? prepare<Input, Row>(`${query.name}_by_tenant`, build) : query
  return { ...query, distributed: { query: form, tenantOf: tenantOf } }
}

/**
 * As `prepare`, for a query that runs on the coordinator of a cluster: it calls a function, or uses a table,
 * that other servers do not have.
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
  /** The values of the parameters, in order, from an input of the query. */
  readonly values: (input: object) => unknown[]
}

/** Compiles a prepared query with the plugins of `db`, which add the schema and the prefix. It runs nothing. */
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

/** Stands for a member of the input while the query is compiled, or for one column of a member that holds rows. */
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

/** The parameter for one column of rows: the values, or a stand-in while a query is compiled. */
export function columnOf(rows: readonly object[], column: string): unknown {
  return rows instanceof StandIn ? rows.ofColumn(column) : valuesOf(rows, column)
}

function valuesOf(rows: readonly object[], column: string): readonly unknown[] {
  return rows.map((row): unknown => Reflect.get(row, column))
}

function areRows(value: unknown): value is readonly object[] {
  return Array.isArray(value)
}
