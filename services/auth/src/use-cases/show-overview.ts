import { askHealth, type Health } from '@trestle/common/lifecycle/readiness.ts'
import { pingDatabase } from '@trestle/database/connect.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { readIfAvailable } from '@trestle/service/read-if-available.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import type { Hooks } from '../hooks/hooks.ts'
import type { Mailer } from '../messages/mailer.ts'
import {
  countUnsentMessages,
  countUserStates,
  type DayCounts,
  listDayCounts,
  type MessageCounts,
  type UserCounts,
} from '../operators/operator-audit-repository.ts'

interface OverviewCounts {
  readonly users: UserCounts
  readonly days: readonly DayCounts[]
  readonly messages: MessageCounts
}

export interface Overview {
  /** `undefined` if the database does not answer. */
  readonly counts: OverviewCounts | undefined
  readonly health: { readonly database: Health; readonly mail: Health; readonly queue: Health }
}

type OverviewDeps = {
  readonly config: AuthConfig
  readonly db: Db
  readonly hooks: Hooks
  readonly jobs: Jobs
  readonly mailer: Mailer
  readonly now: () => Date
}

/**
 * Counts users, sign-ins and messages, and checks the database, the mail server and the queue (console reference: Overview of
 * auth).
 */
export async function showOverview(deps: OverviewDeps): Promise<Overview> {
  const [counts, health] = await Promise.all([readIfAvailable(() => countAll(deps)), findHealth(deps)])
  return { counts, health }
}

async function countAll({ db, now }: OverviewDeps): Promise<OverviewCounts> {
  // Run these one after the other, so that sums over a large database occupy only one connection.
  const users = await countUserStates(db, now())
  const days = await listDayCounts(db, now())
  return { users, days, messages: await countUnsentMessages(db) }
}

async function findHealth({ config, db, hooks, jobs, mailer }: OverviewDeps): Promise<Overview['health']> {
  const [database, mail, queue] = await Promise.all([
    askHealth(() => pingDatabase(db), 'does not answer'),
    findMailHealth({ config, hooks, mailer }),
    askHealth(() => jobs.check(), 'does not work on jobs'),
  ])
  return { database, mail, queue }
}

async function findMailHealth({
  config,
  hooks,
  mailer,
}: Pick<OverviewDeps, 'config' | 'hooks' | 'mailer'>): Promise<Health> {
  // A hook's endpoint can be checked only by sending a mail.
  if (hooks.isOn('SEND_EMAIL')) return 'ok'
  return config.mail.smtp === undefined ? 'no server is set' : askHealth(() => mailer.check(), 'does not answer')
}
