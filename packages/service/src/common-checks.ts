import { type Check, Unavailable } from '@trestle/common/commands/run-checks.ts'
import { describeFailure } from '@trestle/common/lifecycle/command-line.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { compareTexts, type MigrateOptions, readMigrationStatus } from '@trestle/database/migrations/migrate.ts'
import { isSameDatabase, takeRoleOnce } from '@trestle/database/wait-for-database.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { findPooler } from './prepare-database.ts'

export interface CommonNeeds {
  /** The name of the program, such as `auth`. Its settings begin with `AUTH_`. */
  readonly program: string
  /** If `undefined`, the log goes only to standard output. */
  readonly logFile: string | undefined
  readonly database: {
    readonly url: string
    /** The name of the setting, such as `AUTH_DATABASE_URL`. */
    readonly setting: string
    /** `false` if the settings say that the connection uses a pooler in transaction mode. */
    readonly prepared: boolean
  }
  /** The standby, if the service supports one. */
  readonly standby?: { readonly url: string | undefined; readonly setting: string }
  readonly migrations: MigrateOptions
}

/** Returns the first checks of `doctor` in every service: log file, both connections, migrations and role. */
export function commonChecks({
  program,
  logFile,
  database,
  standby,
  migrations,
}: CommonNeeds): readonly Check<unknown>[] {
  const prefix = `${program.toUpperCase()}_`
  return [
    {
      name: 'log file',
      advice: `give the service a folder that it may write to, or correct ${prefix}LOG_FILE`,
      run: async () => {
        if (logFile === undefined) return 'none, lines go to standard output'
        // The logger throws if the file cannot be opened.
        createLogger({ level: 'info', file: logFile, stdout: false })
        return logFile
      },
    },
    {
      name: 'database',
      advice: `start PostgreSQL, or correct ${database.setting}`,
      run: async () => {
        const pooler = await findPooler({ program, ...database }).catch((cause: unknown) => {
          throw new Unavailable(describeFailure(cause), { cause })
        })
        if (pooler) throw pooler
        return 'answers'
      },
    },
    {
      name: 'migration database',
      advice: `correct ${prefix}MIGRATION_DATABASE_URL`,
      needs: ['database'],
      run: () => describeConnection(database, migrations.url),
    },
    ...(standby?.url === undefined ? [] : [standbyCheck(database, standby.url, standby.setting)]),
    {
      name: 'migrations',
      advice: `run: ${program} migrate`,
      needs: ['database'],
      run: async () => {
        const status = await readMigrationStatus(migrations)
        const pending = status.filter(({ executedAt }) => !executedAt)
        if (pending.length > 0) throw new Error(`pending: ${pending.map(({ name }) => name).join(', ')}`)
        if (migrations.grants) await takeRoleOnce(database.url, migrations.grants.role)
        const functions = await compareTexts(migrations)
        if (functions && functions.creates.length > 0)
          throw new Error(`missing functions: ${functions.creates.join(', ')}`)
        return `${status.length} applied`
      },
    },
  ]
}

const CLOCK_DRIFT_MS_MAX = 5_000

/** @throws Error if the clocks of this machine and of the database differ */
export async function compareClocks(db: QueryExecutorProvider, now: Date): Promise<string> {
  const { rows } = await sql<{ ms: number }>`
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms`.execute(db)
  const driftMs = Math.abs((rows[0]?.ms ?? 0) - now.getTime())
  if (driftMs > CLOCK_DRIFT_MS_MAX) throw new Error(`${Math.round(driftMs / 1_000)} s from that of the database`)
  return 'agrees with that of the database'
}

/** @throws Error if a public address is neither https nor local */
export function expectHttps(url: string): string {
  const { protocol, hostname } = new URL(url)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (protocol !== 'https:' && !isLocal) throw new Error(`${url} is not https`)
  return url
}

function standbyCheck(database: CommonNeeds['database'], url: string, setting: string): Check<unknown> {
  return {
    name: 'standby',
    advice: `start it, or correct ${setting}; the primary serves its reads meanwhile`,
    needs: ['database'],
    run: () => describeConnection(database, url),
  }
}

/** @throws Error unless the address leads to the service's database or to a standby of that database */
async function describeConnection(database: CommonNeeds['database'], url: string): Promise<string> {
  if (await isSameDatabase(database.url, url)) return 'answers'
  throw new Error(`this is not the database of ${database.setting}`)
}
