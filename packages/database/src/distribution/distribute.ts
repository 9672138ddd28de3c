import { compareFunctions, hasChanges } from '../migrations/functions.ts'
import type { MigrateOptions } from '../migrations/migrate.ts'
import { underLock, withDatabase } from '../migrations/migration-connection.ts'
import { compareMigrations } from '../migrations/migrator.ts'
import { loginOf } from '../rights/roles.ts'
import type { NodeLogin } from './logins.ts'
import { expectNoMoves } from './moves.ts'
import { readState, undoUnfinished } from './notes.ts'
import { type Distribution, type DistributionStep, listSteps, runSteps } from './steps.ts'
import { readTarget } from './target.ts'

/** A password, and where an operator finds it. */
export interface NodePassword {
  /** Undefined: the servers trust each other. */
  readonly value: string | undefined
  /** `PAYMENTS_NODE_PASSWORD` */
  readonly place: string
}

/** The input of a run: the database, its tables and functions, and the logins between the servers. */
export interface DistributeOptions extends MigrateOptions {
  /** The logins of the role of the service and of the role of operators between the servers. */
  readonly passwords: { readonly service: NodePassword; readonly operators: NodePassword }
  /** The column by which rows are divided over the servers: that of their owner, which is never changed. */
  readonly column: string
  /** Longest wait of the service for a lock, on every server. */
  readonly lockTimeoutMs: number
  /** The name by which processes of the service present themselves to a server. */
  readonly applicationName: string
}

/** Called before each step, with its place among the steps of the run. */
export type OnStep = (step: DistributionStep, nth: number, of: number) => void

/** The steps that are left until the database is distributed. Changes nothing. Works without the extension, too. */
export function planDistribution(options: DistributeOptions): Promise<readonly DistributionStep[]> {
  return withDatabase(options, async (db) => listSteps(db, await distributionOf(options)))
}

/**
 * Distributes a database over the servers of its cluster. After a run that was killed, it does what is left.
 * @returns how many steps it took
 * @throws Error when migrations or functions are pending, when an undo was killed, while Citus moves rows, or
 * when a statement fails. Another run continues
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

/** Returns the distribution that migrations and functions ask for: the classes of tables, and the logins between servers. */
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

/** The logins between the servers: that of the service's role, and that of the role of operators. None without such roles. */
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
