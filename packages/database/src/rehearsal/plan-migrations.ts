import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import {
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresQueryCompiler,
  type QueryResult,
  type RootOperationNode,
  sql,
  type UnknownRow,
} from 'kysely'
import { type MigrationTarget, underLock } from '../migrations/migration-connection.ts'
import { compareMigrations, type Migrations } from '../migrations/migrator.ts'
import { buildStage, dropStage, findExecutedSources, rehearsalNames, translate } from './drift.ts'

/** The requests of other sessions that a lock blocks until its transaction ends. */
export type Blocked = 'nothing' | 'writes' | 'reads and writes'

/** A lock that a statement takes. The migration keeps the lock until it ends. */
export interface PlannedLock {
  /** A table or index that existed before the migration. Objects that the migration creates have no users yet. */
  readonly relation: string
  /** The lock mode as in `pg_locks`. */
  readonly mode: string
  readonly blocks: Blocked
  /** The size of the relation in the format of PostgreSQL, such as `310 MB`. */
  readonly size: string
}

export interface PlannedStatement {
  readonly sql: string
  /** The locks that no earlier statement of the migration has taken. */
  readonly locks: readonly PlannedLock[]
}

/** A pending migration with its statements, in order. */
export interface PlannedMigration {
  readonly name: string
  readonly statements: readonly PlannedStatement[]
}

/**
 * Lists the statements that `migrate up` would run, by migration, with the locks that they take. The function runs the pending
 * migrations on empty copies of the tables and reads their locks from `pg_locks`. The copies are in a schema that is dropped
 * afterwards, and the tables of the service are not touched. The copies are committed first. A transaction holds the strongest
 * lock on everything that it has created, and this lock would hide weaker locks. @throws Error if another release has run a
 * migration
 */
export function planMigrations(
  options: MigrationTarget & Pick<Migrations, 'sources' | 'cluster'>,
): Promise<readonly PlannedMigration[]> {
  return underLock(options, async (db) => {
    const { names, sources, cluster } = options
    const { pending } = await compareMigrations(db, options)
    if (pending.length === 0) return []
    const stage = rehearsalNames(names)
    const sizes = await listSizes(db, names.schema)
    await dropStage(db, stage)
    try {
      const executedBefore = await findExecutedSources(db, options)
      await db.transaction().execute((trx) => buildStage(trx, stage, { sources: executedBefore, cluster }))
      const planned: PlannedMigration[] = []
      for (const name of pending) {
        const source = sources[name]
        if (!source) continue
        const run = await db.transaction().execute((trx) => watch(trx, stage, source, cluster))
        planned.push({ name, statements: run.map((statement) => toPlanned(statement, { stage, names, sizes })) })
      }
      return planned
    } finally {
      await dropStage(db, stage)
    }
  })
}

interface WatchedStatement {
  readonly sql: string
  readonly locks: readonly { readonly relation: string; readonly mode: string }[]
}

async function watch(
  trx: Kysely<unknown>,
  stage: Names,
  source: MigrationSources[string],
  cluster: Migrations['cluster'],
): Promise<WatchedStatement[]> {
  const statements: WatchedStatement[] = []
  const known = new Set<string>()
  const addStatement = async (text: string): Promise<void> => {
    const held = await listOwnLocks(trx, stage.schema)
    const locks = held.filter(({ relation, mode }) => !known.has(`${relation} ${mode}`))
    for (const { relation, mode } of locks) known.add(`${relation} ${mode}`)
    statements.push({ sql: text, locks })
  }
  const { up } = await source(stage)
  await cluster?.keepOnCoordinator(trx)
  await up(trx.withPlugin(new StatementWatch(addStatement)))
  return statements
}

/** A Kysely plugin that calls a function after each statement. */
class StatementWatch implements KyselyPlugin {
  readonly #compiler = new PostgresQueryCompiler()
  readonly #texts = new Map<string, string>()
  readonly #onStatement: (text: string) => Promise<void>

  constructor(onStatement: (text: string) => Promise<void>) {
    this.#onStatement = onStatement
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    this.#texts.set(queryId.queryId, this.#compiler.compileQuery(node, queryId).sql.trim())
    return node
  }

  async transformResult({ queryId, result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    await this.#onStatement(this.#texts.get(queryId.queryId) ?? '')
    return result
  }
}

interface Rehearsal {
  readonly stage: Names
  readonly names: Names
  readonly sizes: ReadonlyMap<string, string>
}

function toPlanned({ sql: text, locks }: WatchedStatement, { stage, names, sizes }: Rehearsal): PlannedStatement {
  return {
    sql: translate(text, stage, names),
    locks: locks.flatMap((lock) => {
      const size = sizes.get(lock.relation)
      return size === undefined ? [] : [{ ...lock, blocks: blockedBy(lock), size }]
    }),
  }
}

/**
 * The modes that conflict with RowExclusiveLock, the lock of every write. AccessExclusiveLock also conflicts with reads.
 * @see https://www.postgresql.org/docs/current/explicit-locking.html#TABLE-LOCK-COMPATIBILITY
 */
const BLOCKED: ReadonlyMap<string, Blocked> = new Map([
  ['ShareLock', 'writes'],
  ['ShareRowExclusiveLock', 'writes'],
  ['ExclusiveLock', 'writes'],
  ['AccessExclusiveLock', 'reads and writes'],
])

export function blockedBy({ mode }: Pick<TableLock, 'mode'>): Blocked {
  return BLOCKED.get(mode) ?? 'nothing'
}

interface TableLock {
  readonly relation: string
  /** The lock mode as in `pg_locks`, such as `AccessExclusiveLock`. */
  readonly mode: string
}

/** Lists the locks that this transaction holds on tables and indexes of a schema. */
async function listOwnLocks(trx: Kysely<unknown>, schema: string): Promise<readonly TableLock[]> {
  const { rows } = await sql<TableLock>`
    SELECT c.relname AS relation, l.mode
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE l.locktype = 'relation' AND l.pid = pg_backend_pid() AND l.granted
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND n.nspname = ${schema} AND c.relkind IN ('r', 'p', 'i', 'I')
    ORDER BY 1, 2`.execute(trx)
  return rows
}

/** Returns the sizes of the tables and indexes of a schema by name, in the format of PostgreSQL. */
async function listSizes(db: Kysely<unknown>, schema: string): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string; size: string }>`
    SELECT c.relname AS name, coalesce(pg_size_pretty(pg_total_relation_size(c.oid)), '') AS size
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${schema} AND c.relkind IN ('r', 'p', 'i', 'I')`.execute(db)
  return new Map(rows.map(({ name, size }) => [name, size]))
}
