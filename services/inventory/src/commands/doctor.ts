import { type Check, checkSettings, runChecks } from '@trestle/common/commands/run-checks.ts'
import { countPublishedKeys } from '@trestle/common/outbound/token-issuer.ts'
import { type DeadLetterJobs, listDeadLetterJobs } from '@trestle/jobs/list-jobs.ts'
import { commonChecks } from '@trestle/service/common-checks.ts'
import type { TokenRules } from '../access/token-verifier.ts'
import type { InventoryConfig } from '../config.ts'
import { migrateOptions, tasks } from '../migrations.ts'
import { openCommandDatabase } from '../open-database.ts'
import { openRateLimits } from '../rate-limits/rate-limits.ts'
import { findStockFaults } from '../stock/level-repository.ts'

const stockCheck: Check<InventoryConfig> = {
  name: 'stock',
  advice: 'rows were changed by hand: compare levels and reservations with the ledger of movements',
  needs: ['database'],
  run: async (config) => {
    const database = openCommandDatabase(config, 'doctor')
    try {
      const faults = await findStockFaults(database.db)
      if (faults.length > 0) throw new Error(faults.join('; '))
      return 'every level is the sum of its movements'
    } finally {
      await database.close()
    }
  },
}

const jobsCheck: Check<InventoryConfig> = {
  name: 'dead jobs',
  advice:
    'look at the log for more, mend the cause, and import the file again; ' +
    'they stay in the queue of the same name with _dead for 90 days',
  needs: ['database'],
  run: async (config) => {
    const { db, names, close } = openCommandDatabase(config, 'doctor')
    try {
      const dead = await listDeadLetterJobs({ db, schema: names.jobSchema, tasks })
      if (dead.length === 0) return 'none'
      throw new Error(dead.map(describeDeadJobs).join(', '))
    } finally {
      await close()
    }
  },
}

/** Checks everything that the service needs, and prints a line for each check. `false` if a check fails. */
export async function doctor(load: () => InventoryConfig, print: (line: string) => void): Promise<boolean> {
  const config = checkSettings(load, print)
  if (config === undefined) return false
  for (const warning of config.warnings) print(`note  ${warning}`)
  const checks = commonChecks({
    program: 'inventory',
    logFile: config.server.logFile,
    database: { url: config.database.url, setting: 'INVENTORY_DATABASE_URL', prepared: config.database.prepared },
    standby: { url: config.database.standby.url, setting: 'INVENTORY_DB_READ_URL' },
    migrations: migrateOptions(config),
  })
  const { access, rateLimits } = config
  const own = [
    stockCheck,
    jobsCheck,
    ...(rateLimits.requestsPerMinute === 0 ? [] : [limitCheck]),
    ...(access === undefined ? [] : [keysCheck(access)]),
  ]
  return runChecks([...checks, ...own], config, print)
}

function describeDeadJobs({ task, count, reason, lastAt }: DeadLetterJobs): string {
  return `${count} of ${task} (${reason}; last at ${lastAt.toISOString()})`
}

/** Runs only if requests are limited. */
const limitCheck: Check<InventoryConfig> = {
  name: 'rate limit',
  advice: 'start Redis, or correct INVENTORY_REDIS_URL; each process counts for itself meanwhile',
  run: async (config) => {
    const database = openCommandDatabase(config, 'doctor')
    const limit = await openRateLimits(config.rateLimits, database, () => {})
    try {
      await limit?.check()
      return `counted in ${config.rateLimits.store}`
    } finally {
      limit?.close()
      await database.close()
    }
  },
}

/** Runs only if authentication is on. */
function keysCheck(access: TokenRules): Check<InventoryConfig> {
  return {
    name: 'keys of tokens',
    advice: 'let the authentication service sign with RS256, ES256 or EdDSA, or correct INVENTORY_AUTH_JWKS_URL',
    run: async () => {
      const count = await countPublishedKeys(access.jwksUrl)
      if (count === 0) throw new Error('none is published: every token is refused')
      return `${count} published`
    },
  }
}
