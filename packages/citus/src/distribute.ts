import { setTimeout as pause } from 'node:timers/promises'
import { compareFunctions, hasChanges } from '@trestle/database/migrations/functions.ts'
import type { MigrateOptions } from '@trestle/database/migrations/migrate.ts'
import { underLock, withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { compareMigrations } from '@trestle/database/migrations/migrator.ts'
import { isOwn } from '@trestle/database/names.ts'
import { loginOf } from '@trestle/database/rights/roles.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { literal, qualified, setSequential } from './citus.ts'
import { listRoleStatements, loginTrial, type NodeLogin } from './logins.ts'
import {
  forgettingStatement,
  listNotes,
  NOTICE_MS,
  notingStatement,
  readState,
  stateStatements,
  undoUnfinished,
} from './notes.ts'
import {
  type DistributionTarget,
  isPlaced,
  listCloseStatements,
  listForeignKeys,
  listFunctionStatements,
  listMissingKeys,
  listPlacedTables,
  listPlanStatements,
  listTypeStatements,
  placeStatement,
  readTarget,
  tablesOf,
} from './placement.ts'
import { expectNoMoves, listOwnerStatements, listSequenceStatements } from './servers.ts'

/** A password, and the place where an operator finds it. */
interface NodePassword {
  /** `undefined` if the servers trust each other without a password. */
  readonly value: string | undefined
  /** A name such as `PAYMENTS_NODE_PASSWORD`. */
  readonly place: string
}

export interface DistributeOptions extends MigrateOptions {
  readonly passwords: { readonly service: NodePassword; readonly operators: NodePassword }
  /** The distribution column. It contains the tenant of the row and never changes. */
  readonly column: string
  readonly lockTimeoutMs: number
  readonly applicationName: string
}

/** Called before each step, with the number of the step and of all steps. */
export type OnStep = (step: DistributionStep, nth: number, of: number) => void

/** Returns the steps that remain until the database is distributed. Changes nothing. Works without the extension too. */
export function planDistribution(options: DistributeOptions): Promise<readonly DistributionStep[]> {
  return withDatabase(options, async (db) => listSteps(db, await distributionOf(options)))
}

/**
 * Distributes a database over the servers of its cluster. After a killed run, continues with the remaining steps.
 * @returns the number of steps
 * @throws Error if migrations or functions are pending, if an undo was killed, if Citus is moving rows, or if a statement fails.
 * Another run continues
 */
export function distributeDatabase(options: DistributeOptions, onStep: OnStep = () => {}): Promise<number> {
  return underLock(options, async (db) => {
    const { pending } = await compareMigrations(db, options)
    if (pending.length > 0) throw new Error(`migrations are pending, run migrate first: ${pending.join(', ')}`)
    const { names, functions } = options
    const state = await readState(db, names)
    if (state === 'undoing') throw undoUnfinished()
    const differ = functions && hasChanges(await compareFunctions(db, names, functions))
    if (differ && state !== 'distributing') {
      throw new Error('the functions of another release are installed, run migrate first')
    }
    await expectNoMoves(db)
    const distribution = await distributionOf(options)
    const steps = await listSteps(db, distribution)
    await runSteps(db, steps, onStep)
    const left = await listSteps(db, distribution)
    if (left.length > 0) throw new Error(`not done after all: ${left.map(({ title }) => title).join(', ')}`)
    return steps.length
  })
}

/** Returns the target, from migrations and functions: the classes of tables, and the logins between servers. */
export async function distributionOf(options: DistributeOptions): Promise<Distribution> {
  const { names, sources, functions, column, lockTimeoutMs } = options
  const files = functions?.files ?? (async () => [])
  return {
    names,
    target: await readTarget(names, { sources, files, column }),
    logins: loginsOf(options),
    lockTimeoutMs,
  }
}

/** The logins between servers for the roles of the service and of operators, as far as these roles are used. */
export function loginsOf({
  grants,
  passwords,
  lockTimeoutMs,
}: Pick<DistributeOptions, 'grants' | 'passwords' | 'lockTimeoutMs'>): readonly NodeLogin[] {
  const { role, serviceUrl, operators } = grants ?? {}
  if (role === undefined) return []
  const loginAs = (as: string, url: string | undefined, { value, place }: NodePassword): NodeLogin => ({
    role: as,
    user: url && loginOf(url),
    password: value,
    passwordPlace: place,
    lockTimeoutMs,
  })
  const service = loginAs(role, serviceUrl, passwords.service)
  if (operators?.role === undefined || operators.role === role) return [service]
  return [service, loginAs(operators.role, operators.url, passwords.operators)]
}

/** Statements that run in one database transaction. */
export interface DistributionStep {
  /** A title such as `distribute transactions`. */
  readonly title: string
  readonly statements: readonly string[]
}

interface Distribution {
  readonly names: Names
  readonly target: DistributionTarget
  /** The logins of the roles that requests use. Empty if requests use users that the operator creates. */
  readonly logins: readonly NodeLogin[]
  readonly lockTimeoutMs: number
}

/**
 * Returns the steps that remain until the database is distributed, by comparing its catalogue with the target. So a new run can
 * continue after a run that was killed at any statement. The list is empty if nothing remains.
 */
async function listSteps(db: QueryExecutorProvider, distribution: Distribution): Promise<readonly DistributionStep[]> {
  const { names, target, logins, lockTimeoutMs } = distribution
  const placed = await listPlacedTables(db, names)
  const tables = (['reference', 'owned', 'claim'] as const).flatMap((kind) => tablesOf(target.tables, kind))
  const unplaced = tables.filter((name) => !isPlaced(placed, target, name))
  const keys = unplaced.length > 0 ? await listForeignKeys(db, names) : []
  const triggers = await listTriggers(db, names)
  const missing = [...keys, ...(await listMissingKeys(db, names))]
  const loginSteps = withoutEmpty([...(await listRoleSteps(db, logins)), trialStep(logins)])
  const work = withoutEmpty([
    { title: 'limit the waits for locks on the servers', statements: await listOwnerStatements(db, lockTimeoutMs) },
    { title: 'drop the foreign keys', statements: keys.flatMap((key) => [notingStatement(names, key), key.drop]) },
    { title: 'plan functions with their values', statements: await listPlanStatements(db, names) },
    ...anchorFirst(target, unplaced).map((name) => {
      // Drop the triggers meanwhile: Citus copies the rows by several INSERTs, which a trigger would take for new rows.
      const held = triggers.filter(({ table }) => table === name)
      return {
        title: `distribute ${name}`,
        statements: [
          ...held.map(({ drop }) => drop),
          placeStatement(names, target, name),
          ...held.flatMap(({ place, statement }) => [place, statement]),
        ],
      }
    }),
    ...tables
      .filter((name) => placed.get(name)?.hasOwnRows)
      .map((name) => ({ title: `remove the old rows of ${name}`, statements: truncateStatements(names, name) })),
    {
      title: 'make the sequences on the servers',
      statements: await listSequenceStatements(db, names, rolesOf(logins)),
    },
    { title: 'make the types on the servers', statements: await listTypeStatements(db, names) },
    { title: 'distribute the functions', statements: await listFunctionStatements(db, names, target) },
    { title: 'close functions on the servers', statements: await listCloseStatements(db, names) },
    ...missing.map(({ object, statement }) => ({ title: `add the ${object}`, statements: [statement] })),
  ])
  const state = await readState(db, names)
  const notes = await listNotes(db, names, 'foreign key')
  const isLeft = work.length > 0 || loginSteps.some(({ title }) => title !== TRIAL)
  if (!isLeft && state === 'distributed' && notes.length === 0) return []
  return [
    // Test the logins before rows move, because nobody can write while they move.
    ...loginSteps,
    ...(state === 'distributing' ? [] : [{ title: NOTE_BEGIN, statements: stateStatements(names, 'distributing') }]),
    ...work,
    { title: 'note the end', statements: [forgettingStatement(names), ...stateStatements(names, 'distributed')] },
  ]
}

const TRIAL = 'try the logins between the servers'

/** Returns the steps that create the roles on every server and give them logins there. */
export async function listRoleSteps(
  db: QueryExecutorProvider,
  logins: readonly NodeLogin[],
): Promise<readonly DistributionStep[]> {
  const steps = []
  for (const login of logins) {
    steps.push({ title: `let ${login.role} log in`, statements: await listRoleStatements(db, login) })
  }
  return steps
}

export function rolesOf(logins: readonly NodeLogin[]): readonly string[] {
  return logins.map(({ role }) => role)
}

/** Returns the step that logs in as each role from every server to every server. The step fails if a login is refused. */
export function trialStep(logins: readonly NodeLogin[]): DistributionStep {
  return { title: TRIAL, statements: logins.flatMap(loginTrial) }
}

interface TableTrigger {
  /** The name without the prefix of DB_NAMESPACE. */
  readonly table: string
  readonly drop: string
  /** Creates the function of the trigger on every server. */
  readonly place: string
  /** A statement `CREATE TRIGGER …`. */
  readonly statement: string
}

async function listTriggers(db: QueryExecutorProvider, names: Names): Promise<readonly TableTrigger[]> {
  const { rows } = await sql<TableTrigger>`
    SELECT substr(c.relname, ${names.prefix.length + 1}::int) AS "table",
      format('DROP TRIGGER %I ON %s', t.tgname, c.oid::regclass) AS drop, pg_get_triggerdef(t.oid) AS statement,
      format('SELECT create_distributed_function(%L)', t.tgfoid::regprocedure) AS place
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = to_regnamespace(${names.schema}) AND ${isOwn(sql.ref('c.relname'), names)} AND NOT t.tgisinternal
    ORDER BY t.tgname`.execute(db)
  return rows
}

/** The step after which processes refuse writes. */
export const NOTE_BEGIN = 'note the begin'

/**
 * Runs steps one after the other. Waits before rows move, until every process knows that the distribution has begun. The wait is
 * needed even if this step was done by an earlier run, which may have been killed directly after it.
 */
export async function runSteps(
  db: Kysely<unknown>,
  steps: readonly DistributionStep[],
  onStep: (step: DistributionStep, nth: number, of: number) => void,
): Promise<void> {
  const first = steps.findIndex(({ title }) => title === NOTE_BEGIN) + 1
  for (const [index, step] of steps.entries()) {
    if (index === first) await pause(NOTICE_MS)
    onStep(step, index + 1, steps.length)
    await runStep(db, step)
  }
}

/** Puts the anchor first, because all other tables are divided in the same way as the anchor. */
function anchorFirst({ anchor }: DistributionTarget, tables: readonly string[]): readonly string[] {
  return [...tables].sort((one, other) => Number(other === anchor) - Number(one === anchor))
}

/**
 * Returns the statements that remove the old rows of a distributed table. These rows remain hidden on the coordinator after Citus
 * has copied them. Ledger triggers that forbid deletes are disabled meanwhile, only on the coordinator.
 */
function truncateStatements(names: Names, name: string): readonly string[] {
  const table = qualified(names, name)
  return [
    'SET LOCAL citus.enable_ddl_propagation = off',
    `ALTER TABLE ${table} DISABLE TRIGGER USER`,
    `SELECT truncate_local_data_after_distributing_table(${literal(table)})`,
    `ALTER TABLE ${table} ENABLE TRIGGER USER`,
  ]
}

function withoutEmpty(steps: readonly DistributionStep[]): readonly DistributionStep[] {
  return steps.filter(({ statements }) => statements.length > 0)
}

/** Runs the statements of a step in one database transaction. @throws Error if a server refuses its part */
export function runStep(db: Kysely<unknown>, { title, statements }: DistributionStep): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await setSequential(trx)
    for (const statement of statements) {
      const { rows } = await sql<{ node?: string; success?: boolean; result?: string }>`${sql.raw(statement)}`.execute(
        trx,
      )
      const refused = rows.find(({ success }) => success === false)
      if (refused) throw new Error(`${title}: ${refused.node} refuses: ${refused.result}`)
    }
  })
}
