import { type Lack, listOpenInternals } from '@trestle/citus/citus.ts'
import { loginsOf } from '@trestle/citus/distribute.ts'
import { listLoginLacks, listRefusedLogins } from '@trestle/citus/logins.ts'
import { type DistributionState, isRebalancing } from '@trestle/citus/notes.ts'
import { listOpenFunctions } from '@trestle/citus/placement.ts'
import { findOutage, listDoubtful, listLacks, listUnreachable } from '@trestle/citus/servers.ts'
import { type Check, Unavailable } from '@trestle/common/commands/run-checks.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import type { PaymentsConfig } from '../config.ts'
import type { openPaymentsDatabase } from '../open-database.ts'
import { distributeOptions } from './distribute.ts'

interface Subject {
  readonly config: PaymentsConfig
  readonly database: ReturnType<typeof openPaymentsDatabase>
}

/** The name of the check that finds unavailable servers of a cluster. Checks that read the rows of every merchant depend on it */
export const SERVERS = 'servers of the cluster'

/** The checks of the servers of a cluster, for `doctor`. */
export const clusterChecks: readonly Check<Subject>[] = [
  {
    name: SERVERS,
    advice: 'start the servers, or let them take the login that they refuse, then run: payments distribute --rebalance',
    run: async ({ config, database: { db, names } }) => {
      const options = distributeOptions(config)
      const away = await listUnreachable(db.withoutPlugins())
      if (away.length > 0) {
        const reason = await findOutage(db.withoutPlugins(), { ...names, name: 'merchant_balances' })
        throw new Unavailable(`no answer from ${away.join(', ')}${reason === undefined ? '' : `: ${reason}`}`)
      }
      // Check as the database owner, who may use both roles. The role of the service may not use the role of operators.
      return describeLacks(await withDatabase(options, (owned) => listLacks(owned, names, loginsOf(options))))
    },
  },
  {
    name: 'logins between the servers',
    advice: 'mend the password files of the servers, and let each role have the password that they say',
    needs: [SERVERS],
    run: async ({ config }) => {
      const options = distributeOptions(config)
      const refused: string[] = []
      await withDatabase(options, async (db) => {
        for (const login of loginsOf(options)) {
          // An earlier check reports roles that a server lacks.
          if ((await listLoginLacks(db, login)).length === 0) refused.push(...(await listRefusedLogins(db, login)))
        }
      })
      if (refused.length > 0) throw new Error(refused.join('; '))
      return 'no server refuses one'
    },
  },
  {
    name: 'functions on the servers',
    advice: 'run: payments distribute --rebalance',
    needs: [SERVERS],
    run: async ({ database: { db, names } }) => {
      const open = await listOpenFunctions(db.withoutPlugins(), names)
      if (open.length === 0) return 'none is open to everybody'
      const each = open.map(({ node, signatures }) => `${signatures.length} on ${node}, such as ${signatures[0]}`)
      throw new Error(`open to everybody: ${each.join('; ')}`)
    },
  },
  {
    name: 'internal functions of Citus',
    advice: 'leave them to the owner: payments distribute --check prints the statement',
    needs: [SERVERS],
    run: async ({ database: { db } }) => {
      const open = await listOpenInternals(db.withoutPlugins())
      if (open.length === 0) return 'not open to everybody'
      throw new Error(open.join('; '))
    },
  },
  {
    name: 'prepared transactions',
    advice: 'on the coordinator, as a superuser, run: SELECT recover_prepared_transactions()',
    run: async ({ database: { db } }) => describeLacks(await listDoubtful(db)),
  },
]

const DISTRIBUTION = 'distribution'

/** Returns the check of a database that is distributed, or whose distribution or its undoing is in progress. */
export function distributionCheck(state: DistributionState): Check<Subject> {
  const command = state === 'undoing' ? 'payments distribute --undo' : 'payments distribute'
  return {
    name: DISTRIBUTION,
    advice: `unless it still runs, run again: ${command}`,
    needs: ['database'],
    run: async () => {
      if (isRebalancing(state))
        throw new Unavailable(`the database is ${state}, and takes no writes until that has ended`)
      return 'complete'
    },
  }
}

/** Inserts the check of the distribution before that of the migrations, which would advise `migrate`. */
export function beforeMigrations(common: readonly Check<unknown>[], own: Check<Subject>): readonly Check<Subject>[] {
  return common.flatMap((check) =>
    check.name === 'migrations' ? [own, { ...check, needs: [...(check.needs ?? []), own.name] }] : [check],
  )
}

/** Describes servers that lack nothing. @throws Error if a server lacks something */
function describeLacks(lacks: readonly Lack[]): string {
  if (lacks.length === 0) return 'none lacks anything'
  throw new Error(lacks.map(({ node, missing }) => `${node} lacks ${missing}`).join(', '))
}
