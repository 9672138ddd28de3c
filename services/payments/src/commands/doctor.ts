import { commonChecks } from '@trestle/service/common-checks.ts'
import { checkSettings, runChecks } from '@trestle/service/run-checks.ts'
import type { PaymentsConfig } from '../config.ts'
import { migrateOptions } from '../migrations.ts'

/** Tries everything that the service needs, one line each. Resolves to false when something is wrong. */
export async function doctor(loadConfig: () => PaymentsConfig, print: (line: string) => void): Promise<boolean> {
  const config = checkSettings(loadConfig, print)
  if (config === undefined) return false
  const checks = commonChecks({
    program: 'payments',
    logFile: config.logFile,
    database: { url: config.databaseUrl, setting: 'PAYMENTS_DATABASE_URL' },
    migrations: migrateOptions(config),
  })
  return runChecks(checks, undefined, print)
}
