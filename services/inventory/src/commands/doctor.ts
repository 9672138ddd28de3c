import { describeFailure } from '@trestle/common/server/command-line.ts'
import { migrationStatus } from '@trestle/database/migrate.ts'
import { waitForDatabase } from '@trestle/database/wait-for-database.ts'
import type { InventoryConfig } from '../config.ts'
import { createInventoryLog } from '../deps.ts'
import { migrateOptions } from '../migrations.ts'

interface Check {
  readonly name: string
  /** What to do when the check fails. */
  readonly advice: string
  /** Resolves with what was found; throws when it is not good enough to start. */
  readonly run: (config: InventoryConfig) => Promise<string>
}

const checks: readonly Check[] = [
  {
    name: 'log file',
    advice: 'give the service a folder that it may write to, or set INVENTORY_LOG_FILE',
    run: async (config) => {
      createInventoryLog({ ...config, logStdout: false }).flush()
      return config.logFile
    },
  },
  {
    name: 'database',
    advice: 'start PostgreSQL, or correct INVENTORY_DATABASE_URL',
    run: async ({ databaseUrl }) => answers(databaseUrl),
  },
  {
    name: 'migration database',
    advice: 'correct INVENTORY_MIGRATION_DATABASE_URL',
    run: async ({ migrationDatabaseUrl }) => answers(migrationDatabaseUrl),
  },
  {
    name: 'migrations',
    advice: 'run: inventory migrate',
    run: async (config) => {
      const status = await migrationStatus(migrateOptions(config))
      const pending = status.filter(({ executedAt }) => !executedAt)
      if (pending.length > 0) throw new Error(`pending: ${pending.map(({ name }) => name).join(', ')}`)
      return `${status.length} applied`
    },
  },
]

/** Tries everything that the service needs, one line each. Resolves to false when something is wrong. */
export async function doctor(loadConfig: () => InventoryConfig, print: (line: string) => void): Promise<boolean> {
  let config: InventoryConfig
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
