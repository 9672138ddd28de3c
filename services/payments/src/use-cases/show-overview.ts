import { listDeadJobs } from '@trestle/jobs/list-jobs.ts'
import { deadQueue } from '@trestle/jobs/task.ts'
import { sql } from 'kysely'
import type { PaymentsDeps } from '../deps.ts'
import { tasks } from '../migrations.ts'
import { findImportedRates } from '../money/rate-repository.ts'
import {
  countDeadJobsOf,
  countWaiting,
  type DayFigures,
  type DueFigures,
  listDayFigures,
  listDuePayouts,
  type WaitingCounts,
} from '../operators/overview-repository.ts'
import { deliveryTask } from '../webhooks/delivery.ts'

/** `ok`, or a short text of what is wrong. */
type Health = string

/** Counts and health for the first page of operators. */
export interface Overview extends WaitingCounts {
  readonly days: readonly DayFigures[]
  readonly payoutsDue: readonly DueFigures[]
  readonly failedDeliveries: number
  readonly deadJobs: readonly { readonly task: string; readonly count: number }[]
  readonly health: { readonly database: Health; readonly queue: Health; readonly mail: Health; readonly rates: Health }
}

type OverviewDeps = Pick<PaymentsDeps, 'jobs' | 'jobSchema' | 'mailer' | 'operatorDb'>

/**
 * The overview of test merchants, or of live ones (console reference: Overview of payments). It reads over the connections of
 * operators, so that its sums keep no capture waiting.
 */
export async function showOverview(deps: OverviewDeps, test: boolean): Promise<Overview> {
  const { operatorDb: db, jobSchema: schema } = deps
  const [days, waiting, payoutsDue, failedDeliveries, dead, health] = await Promise.all([
    listDayFigures(db, test),
    countWaiting(db, test),
    listDuePayouts(db, test),
    countDeadJobsOf(db, { schema, queue: deadQueue(deliveryTask), test }),
    listDeadJobs({ db, schema, tasks }),
    findHealth(deps),
  ])
  const byTask = Map.groupBy(dead, ({ task }) => task)
  const deadJobs = [...byTask].map(([task, rows]) => ({ task, count: rows.reduce((sum, { count }) => sum + count, 0) }))
  return { days, ...waiting, payoutsDue, failedDeliveries, deadJobs, health }
}

async function findHealth({ jobs, mailer, operatorDb: db }: OverviewDeps): Promise<Overview['health']> {
  const [database, queue, mail, rates] = await Promise.all([
    tell(() => sql`SELECT`.execute(db), 'does not answer'),
    tell(() => jobs.check(), 'does not work on jobs'),
    mailer === undefined ? 'no mail server is set' : tell(() => mailer.check(), 'does not answer'),
    tellRates(db),
  ])
  return { database, queue, mail, rates }
}

async function tellRates(db: OverviewDeps['operatorDb']): Promise<Health> {
  const { date, areNeeded } = await findImportedRates(db)
  return date === null && areNeeded ? 'none were imported' : 'ok'
}

function tell(check: () => Promise<unknown>, problem: string): Promise<Health> {
  return check().then(
    () => 'ok',
    () => problem,
  )
}
