import type { Cluster } from '@trestle/database/migrations/migrator.ts'
import { type FunctionFiles, placeOf } from '@trestle/migrations/functions.ts'
import type { Names, ServiceMigration, TableClass } from '@trestle/migrations/migration.ts'
import {
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresQueryCompiler,
  type QueryExecutorProvider,
  type QueryResult,
  RawNode,
  type RootOperationNode,
  sql,
  type UnknownRow,
} from 'kysely'
import { HERE, isDistributed, keepOnCoordinator, setSequential } from './citus.ts'
import { runStep } from './distribute.ts'
import { expectCoordinator, expectWhole } from './notes.ts'
import {
  type DistributionTarget,
  listForeignKeys,
  listFunctionStatements,
  listPlacedTables,
  listPlanStatements,
  listTypeStatements,
  placeStatement,
} from './placement.ts'
import { listBareRoleStatements, listSequenceStatements } from './servers.ts'

/** The Citus part of `migrate`, `migrate plan` and `migrate drift`. It works on plain PostgreSQL too. */
export const citusCluster: Cluster = {
  expectCoordinator,
  expectWhole,
  setSequential,
  keepOnCoordinator,
  migrateForward,
  prepareServers,
  placeFunctions,
  rehearseFunctions,
}

/**
 * Runs a migration forward. In a distributed database, creates each table on the coordinator, distributes it by its class, and
 * then adds its foreign keys. Citus refuses a foreign key from a table that is not distributed yet.
 * @throws Error if the database is distributed but has no table that is divided by tenant
 */
async function migrateForward(db: Kysely<unknown>, names: Names, { up, tables = {} }: ServiceMigration): Promise<void> {
  if (!(await isDistributed(db, names))) return up(db)
  await up(db.withPlugin(new CreateHere()))
  for (const statement of await listPlaceStatements(db, names, tables)) await sql.raw(statement).execute(db)
}

/** Returns the statements that distribute the new tables of a distributed database. */
async function listPlaceStatements(
  db: QueryExecutorProvider,
  names: Names,
  tables: Readonly<Record<string, TableClass>>,
): Promise<readonly string[]> {
  const created = Object.keys(tables).filter((name) => tables[name] !== 'local')
  const keys = (await listForeignKeys(db, names)).filter(({ table }) => created.includes(table))
  const target = { ...(await findAnchor(db, names)), tables: new Map(Object.entries(tables)), functions: new Map() }
  return [
    ...keys.map(({ drop }) => drop),
    ...created.map((name) => placeStatement(names, target, name)),
    ...keys.map(({ statement }) => statement),
  ]
}

/**
 * Creates roles and sequences on every server of a distributed database, because Citus sends each grant to all servers.
 * `distribute --rebalance` gives the roles their logins.
 */
async function prepareServers(db: Kysely<unknown>, names: Names, roles: readonly string[]): Promise<void> {
  if (!(await isDistributed(db, names))) return
  await runStep(db, { title: 'make the roles on the servers', statements: await listBareRoleStatements(db, roles) })
  const statements = await listSequenceStatements(db, names, roles)
  await runStep(db, { title: 'make the sequences on the servers', statements })
}

/**
 * Distributes new and replaced functions of a distributed database.
 * @throws Error if a file does not state where its function runs
 */
async function placeFunctions(trx: Kysely<unknown>, names: Names, files: FunctionFiles): Promise<void> {
  if (!(await isDistributed(trx, names))) return
  const functions = new Map((await files()).map((file) => [file.name, placeOf(file)]))
  const target = { ...(await findAnchor(trx, names)), tables: new Map(), functions }
  for (const statement of await listTypeStatements(trx, names)) await sql.raw(statement).execute(trx)
  for (const statement of await listPlanStatements(trx, names)) await sql.raw(statement).execute(trx)
  for (const statement of await listFunctionStatements(trx, names, target)) await sql.raw(statement).execute(trx)
}

async function rehearseFunctions(trx: Kysely<unknown>, names: Names, stage: Names): Promise<void> {
  if (!(await isDistributed(trx, names))) return
  for (const statement of await listPlanStatements(trx, stage)) await sql.raw(statement).execute(trx)
}

/** Returns a table that is divided by tenant, and its distribution column. @throws Error if there is none */
async function findAnchor(
  db: QueryExecutorProvider,
  names: Names,
): Promise<Pick<DistributionTarget, 'anchor' | 'column'>> {
  const divided = [...(await listPlacedTables(db, names)).values()].find(({ method }) => method === 'h')
  if (divided?.column === undefined) throw new Error('no table is divided over the servers')
  return { anchor: divided.name, column: divided.column }
}

const CREATE_TABLE = /^\s*CREATE\s+(?:UNLOGGED\s+)?TABLE\b/i

/** Makes Citus create tables only on the coordinator. */
class CreateHere implements KyselyPlugin {
  readonly #compiler = new PostgresQueryCompiler()

  transformQuery({ node, queryId }: PluginTransformQueryArgs): RootOperationNode {
    const text = this.#compiler.compileQuery(node, queryId).sql
    return CREATE_TABLE.test(text)
      ? RawNode.createWithSql(`${HERE}; ${text}; SET LOCAL citus.enable_ddl_propagation = on`)
      : node
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }
}
