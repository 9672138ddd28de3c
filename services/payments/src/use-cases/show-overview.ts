import { askHealth, type Health } from '@trestle/common/lifecycle/readiness.ts'
import { pingDatabase } from '@trestle/database/connect.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { listDeadLetterJobs } from '@trestle/jobs/list-jobs.ts'
import { deadLetterQueue } from '@trestle/jobs/task.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { readIfAvailable } from '@trestle/service/read-if-available.ts'
import type { Db } from '../database.ts'
import type { Mailer } from '../mail/mailer.ts'
import { tasks } from '../migrations.ts'
import { findImportedRates } from '../money/rate-repository.ts'
import {
  countDeadJobsOf,
  countWaiting,
  type DayFigures,
  type DueFigures,
  listDayFigures,
  listDuePayouts,
  type MerchantMode,
  type WaitingCounts,
} from '../operators/overview-repository.ts'
import { deliveryTask } from '../webhooks/delivery.ts'

/** Counts for the start page of operators. */
interface OverviewCounts extends WaitingCounts {
  readonly days: readonly DayFigures[]
  readonly payoutsDue: readonly DueFigures[]
  readonly failedDeliveries: number
  readonly deadJobs: readonly { readonly task: string; readonly count: number }[]
}

export interface Overview {
  /** `undefined` if the database does not answer. */
  readonly counts: OverviewCounts | undefined
  readonly health: { readonly database: Health; readonly queue: Health; readonly mail: Health; readonly rates: Health }
}

type OverviewDeps = {
  readonly jobs: Jobs
  readonly names: Names
  readonly mailer: Mailer | undefined
  readonly operatorDb: Db
}

/**
 * Returns the overview of the live or the test merchants (console reference: Overview of payments). The sums use the connections
 * of operators, so that no capture waits for them.
 * @throws RebalancingError during a rebalance to other servers
 */
export async function showOverview(deps: OverviewDeps, mode: MerchantMode): Promise<Overview> {
  const [counts, health] = await Promise.all([readIfAvailable(() => countAll(deps, mode)), findHealth(deps)])
  return { counts, health }
}

async function countAll(
  { operatorDb: db, names: { jobSchema: schema } }: OverviewDeps,
  mode: MerchantMode,
): Promise<OverviewCounts> {
  const [days, waiting, payoutsDue, failedDeliveries, dead] = await Promise.all([
    listDayFigures(db, mode),
    countWaiting(db, mode),
    listDuePayouts(db, mode),
    countDeadJobsOf(db, { schema, queue: deadLetterQueue(deliveryTask), mode }),
    listDeadLetterJobs({ db, schema, tasks }),
  ])
  const byTask = Map.groupBy(dead, ({ task }) => task)
  const deadJobs = [...byTask].map(([task, rows]) => ({ task, count: rows.reduce((sum, { count }) => sum + count, 0) }))
  return { days, ...waiting, payoutsDue, failedDeliveries, deadJobs }
}

async function findHealth({ jobs, mailer, operatorDb: db }: OverviewDeps): Promise<Overview['health']> {
  const [database, queue, mail, rates] = await Promise.all([
    askHealth(() => pingDatabase(db), 'does not answer'),
    askHealth(() => jobs.check(), 'does not work on jobs'),
    mailer === undefined ? 'no mail server is set' : askHealth(() => mailer.check(), 'does not answer'),
    findRatesHealth(db),
  ])
  return { database, queue, mail, rates }
}

async function findRatesHealth(db: OverviewDeps['operatorDb']): Promise<Health> {
  const rates = await readIfAvailable(() => findImportedRates(db))
  if (rates === undefined) return 'cannot be read'
  return rates.date === null && rates.areNeeded ? 'none were imported' : 'ok'
}
