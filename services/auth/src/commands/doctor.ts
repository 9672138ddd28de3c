import { createNoopMeter } from '@opentelemetry/api'
import { describeFailure } from '@trestle/common/server/command-line.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { migrationStatus } from '@trestle/database/migrate.ts'
import { waitForDatabase } from '@trestle/database/wait-for-database.ts'
import { sql } from 'kysely'
import type { AuthConfig, LoadedConfig } from '../config.ts'
import { createDeps, type OpenDeps } from '../deps.ts'
import { migrateOptions, tasks } from '../migrations.ts'

interface Check {
  readonly name: string
  /** What to do when the check fails. */
  readonly advice: string
  /** Resolves with what was found; throws when it is not good enough. */
  readonly run: (config: AuthConfig, open: OpenDeps) => Promise<string>
}

const CLOCK_DRIFT_MAX_MS = 5_000

const checks: readonly Check[] = [
  {
    name: 'log file',
    advice: 'give the service a folder that it may write to, or correct AUTH_LOG_FILE',
    run: async ({ server }) => {
      if (server.logFile === undefined) return 'none, lines go to standard output'
      createLogger({ level: 'info', file: server.logFile, stdout: false }).flush()
      return server.logFile
    },
  },
  {
    name: 'database',
    advice: 'start PostgreSQL, or correct AUTH_DB_DATABASE_URL',
    run: async ({ database }) => {
      await waitForDatabase({ url: database.url, timeoutMs: 0, onWaiting: () => {} })
      return 'answers'
    },
  },
  {
    name: 'migrations',
    advice: 'run: auth migrate',
    run: async (config) => {
      const status = await migrationStatus(migrateOptions(config))
      const pending = status.filter(({ executedAt }) => !executedAt)
      if (pending.length > 0) throw new Error(`pending: ${pending.map(({ name }) => name).join(', ')}`)
      return `${status.length} applied`
    },
  },
  {
    name: 'clock',
    advice: 'let both machines follow the same time source (NTP)',
    run: async (_config, { deps }) => {
      const { rows } = await sql<{ now: string }>`SELECT clock_timestamp() AS now`.execute(deps.db)
      const driftMs = Math.abs(Date.parse(rows[0]?.now ?? '') - deps.now().getTime())
      if (driftMs > CLOCK_DRIFT_MAX_MS) throw new Error(`${Math.round(driftMs / 1_000)} s from that of the database`)
      return 'agrees with that of the database'
    },
  },
  {
    name: 'signing keys',
    advice: 'set the AUTH_SECURITY_DATABASE_ENCRYPTION_KEY (or JWT secret) that sealed them, or correct AUTH_JWT_KEYS',
    run: async (_config, { deps }) => {
      await deps.signingKeys.load()
      const count = deps.signingKeys.publicJwks().length
      return count === 0 ? 'tokens are signed with AUTH_JWT_SECRET' : `${count} public`
    },
  },
  {
    name: 'SMTP',
    advice: 'start the mail server, or correct AUTH_SMTP_HOST, AUTH_SMTP_PORT, AUTH_SMTP_USER and AUTH_SMTP_PASS',
    run: async ({ mail }, { deps }) => {
      if (!mail.smtp) return 'none, mails are dropped'
      await deps.mailer.check()
      return 'answers'
    },
  },
  {
    name: 'URLs',
    advice: 'put the service behind a TLS proxy and set its https address as AUTH_API_EXTERNAL_URL',
    run: async ({ server }) => {
      const { protocol, hostname } = new URL(server.externalUrl)
      const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
      if (protocol !== 'https:' && !isLocal) throw new Error(`${server.externalUrl} is not https`)
      return server.externalUrl
    },
  },
  {
    name: 'dead jobs',
    advice: 'look at the log for why they failed; their rows stay in the queue of the same name with _dead',
    run: async (_config, { deps }) => {
      await deps.jobs.open()
      const dead = [...(await deps.jobs.countDead(tasks))].filter(([, count]) => count > 0)
      if (dead.length > 0) throw new Error(dead.map(([task, count]) => `${count} of ${task}`).join(', '))
      return 'none'
    },
  },
]

/** Tries everything that the service needs, one line each. Resolves to false when something is wrong. */
export async function doctor(load: () => LoadedConfig, print: (line: string) => void): Promise<boolean> {
  let loaded: LoadedConfig
  try {
    loaded = load()
  } catch (error) {
    print(describeFailure(error))
    return false
  }
  print('ok    settings')
  for (const warning of loaded.warnings) print(`note  ${warning}`)
  const { logger } = createLogger({ level: 'fatal', stdout: false })
  const telemetry = { logger, meter: createNoopMeter(), tracing: { instrument: async () => {} } }
  const open = await createDeps(loaded.config, telemetry)
  let isHealthy = true
  for (const { name, advice, run } of checks) {
    try {
      print(`ok    ${name}: ${await run(loaded.config, open)}`)
    } catch (error) {
      isHealthy = false
      print(`wrong ${name}: ${describeFailure(error)}; ${advice}`)
    }
  }
  await open.deps.jobs.close().catch(() => {})
  await open.close()
  return isHealthy
}
