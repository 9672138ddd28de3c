import { describeFailure } from '@trestle/common/server/command-line.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { migrationStatus } from '@trestle/database/migrate.ts'
import { waitForDatabase } from '@trestle/database/wait-for-database.ts'
import type { PaymentsConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'

interface Check {
  readonly name: string
  /** What to do when the check fails. */
  readonly advice: string
  /** Resolves with what was found; throws when it is not good enough to start. */
  readonly run: (config: PaymentsConfig) => Promise<string>
}

const checks: readonly Check[] = [
  {
    name: 'log file',
    advice: 'give the service a folder that it may write to, or correct PAYMENTS_LOG_FILE',
    run: async ({ logFile }) => {
      if (logFile === undefined) return 'none, lines go to standard output'
      createLogger({ level: 'info', file: logFile, stdout: false }).flush()
      return logFile
    },
  },
  {
    name: 'database',
    advice: 'start PostgreSQL, or correct PAYMENTS_DATABASE_URL',
    run: async ({ databaseUrl }) => answers(databaseUrl),
  },
  {
    name: 'migration database',
    advice: 'correct PAYMENTS_MIGRATION_DATABASE_URL',
    run: async ({ migrationDatabaseUrl }) => answers(migrationDatabaseUrl),
  },
  {
    name: 'migrations',
    advice: 'run: payments migrate',
    run: async (config) => {
      const status = await migrationStatus(migrateOptions(config))
      const pending = status.filter(({ executedAt }) => !executedAt)
      if (pending.length > 0) throw new Error(`pending: ${pending.map(({ name }) => name).join(', ')}`)
      return `${status.length} applied`
    },
  },
]

/** Tries everything that the service needs, one line each. Resolves to false when something is wrong. */
export async function doctor(loadConfig: () => PaymentsConfig, print: (line: string) => void): Promise<boolean> {
  let config: PaymentsConfig
  try {
    config = loadConfig()
  } catch (error) {
    print(describeFailure(error))
    return false
  }
  print('ok    settings')
  let healthy = true
  for (const { name, advice, run } of checks) {
    try {
      print(`ok    ${name}: ${await run(config)}`)
    } catch (error) {
      healthy = false
      print(`wrong ${name}: ${describeFailure(error)}; ${advice}`)
    }
  }
  return healthy
}

async function answers(url: string): Promise<string> {
  await waitForDatabase({ url, timeoutMs: 0, onWaiting: () => {} })
  return 'answers'
}
