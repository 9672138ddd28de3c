import type { MigrationSources, Names } from '@trestle/migrations/migration.ts'
import {
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresQueryCompiler,
  type QueryResult,
  type RootOperationNode,
  type UnknownRow,
} from 'kysely'
import { type MigrationTarget, underLock } from './migration-connection.ts'
import { compareMigrations } from './migrator.ts'
import { refuseOldChain } from './old-chain.ts'
import { buildStage, dropStage, executedSources, rehearsalNames, translate } from './rehearsal.ts'
import { type HeldUp, heldUpBy, listOwnLocks, listSizes } from './table-locks.ts'

/** A lock that a statement takes, and its migration keeps to its end. */
export interface PlannedLock {
  /** A table or index that is there already; what the migration makes itself nobody uses yet. */
  readonly relation: string
  /** As pg_locks names it. */
  readonly mode: string
  readonly holdsUp: HeldUp
  /** How large the relation is, for people: `310 MB`. */
  readonly size: string
}

export interface PlannedStatement {
  readonly sql: string
  /** Those that the statements before it in the migration have not taken. */
  readonly locks: readonly PlannedLock[]
}

export interface PlannedMigration {
  readonly name: string
  readonly statements: readonly PlannedStatement[]
}

/**
 * The statements that `up` would run, by migration, with the locks that PostgreSQL takes for them: seen in pg_locks while
 * they run on empty copies of the tables, in a schema that is removed again. The service's own tables are not touched.
 *
 * The copies are committed before: what a transaction has made itself it holds locked, and no other lock would show.
 */
export function planMigrations(
  options: MigrationTarget & { readonly sources: MigrationSources },
): Promise<readonly PlannedMigration[]> {
  return underLock(options, async (db) => {
    const { names, sources } = options
    await refuseOldChain(db, names)
    const { pending } = await compareMigrations(db, options)
    if (pending.length === 0) return []
    const stage = rehearsalNames(names)
    const sizes = await listSizes(db, names.schema)
    await dropStage(db, stage)
    try {
      const executedBefore = await executedSources(db, options)
      await db.transaction().execute((trx) => buildStage(trx, stage, executedBefore))
      const planned: PlannedMigration[] = []
      for (const name of pending) {
        const source = sources[name]
        if (!source) continue
        const run = await db.transaction().execute((trx) => watch(trx, stage, source))
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

/** Runs a migration, and looks at the locks after each statement. */
async function watch(
  trx: Kysely<unknown>,
  stage: Names,
  source: MigrationSources[string],
): Promise<WatchedStatement[]> {
  const statements: WatchedStatement[] = []
  const known = new Set<string>()
  const look = async (text: string): Promise<void> => {
    const held = await listOwnLocks(trx, stage.schema)
    const locks = held.filter(({ relation, mode }) => !known.has(`${relation} ${mode}`))
    for (const { relation, mode } of locks) known.add(`${relation} ${mode}`)
    statements.push({ sql: text, locks })
  }
  const { up } = await source(stage)
  await up(trx.withPlugin(new StatementWatch(look)))
  return statements
}

/** Tells of each statement after it has run. */
class StatementWatch implements KyselyPlugin {
  readonly #compiler = new PostgresQueryCompiler()
  readonly #texts = new Map<string, string>()
  readonly #look: (text: string) => Promise<void>

  constructor(look: (text: string) => Promise<void>) {
    this.#look = look
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    this.#texts.set(queryId.queryId, this.#compiler.compileQuery(node, queryId).sql.trim())
    return node
  }

  async transformResult({ queryId, result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    await this.#look(this.#texts.get(queryId.queryId) ?? '')
    return result
  }
}

interface Scene {
  readonly stage: Names
  readonly names: Names
  readonly sizes: ReadonlyMap<string, string>
}

function toPlanned({ sql, locks }: WatchedStatement, { stage, names, sizes }: Scene): PlannedStatement {
  return {
    sql: translate(sql, stage, names),
    locks: locks.flatMap((lock) => {
      const size = sizes.get(lock.relation)
      return size === undefined ? [] : [{ ...lock, holdsUp: heldUpBy(lock), size }]
    }),
  }
}
