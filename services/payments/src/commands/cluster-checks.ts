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

/** The check that finds servers of a cluster unavailable. Checks that read the rows of every merchant need it. */
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
      // Checked as the owner, who may take both roles. The role of the service may not take the role of operators.
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
          // The check before has named a role that a server lacks.
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

/** The check of a database on a cluster, or on its way to or from one. Migrations and functions are as they are meanwhile. */
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

/** Puts the check of the distribution before the check of the migrations, which would send the operator to `migrate`. */
export function beforeMigrations(common: readonly Check<unknown>[], own: Check<Subject>): readonly Check<Subject>[] {
  return common.flatMap((check) =>
    check.name === 'migrations' ? [own, { ...check, needs: [...(check.needs ?? []), own.name] }] : [check],
  )
}

/** @throws Error when a server lacks something */
function describeLacks(lacks: readonly Lack[]): string {
  if (lacks.length === 0) return 'none lacks anything'
  throw new Error(lacks.map(({ node, missing }) => `${node} lacks ${missing}`).join(', '))
}
