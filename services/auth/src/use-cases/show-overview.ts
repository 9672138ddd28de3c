import { sql } from 'kysely'
import type { AuthDeps } from '../deps.ts'
import {
  countUnsentMessages,
  countUserStates,
  type DayCounts,
  listDayCounts,
  type MessageCounts,
  type UserCounts,
} from '../operators/overview-repository.ts'

/** `ok`, or a short text of what is wrong. */
type Health = string

/** Counts and health for the first page of operators. */
export interface Overview {
  readonly users: UserCounts
  readonly days: readonly DayCounts[]
  readonly messages: MessageCounts
  readonly health: { readonly database: Health; readonly mail: Health; readonly queue: Health }
}

type OverviewDeps = Pick<AuthDeps, 'config' | 'db' | 'hooks' | 'jobs' | 'mailer' | 'now'>

/** How long a mail server may take to answer. Longer than a good one needs, and shorter than a request lasts. */
const PATIENCE_MS = 3_000

/** Counts users, sign-ins and messages, and asks what the service depends on (console reference: Overview of auth). */
export async function showOverview(deps: OverviewDeps): Promise<Overview> {
  const { db, now } = deps
  // One after the other, so that the sums of a large database take one connection from the requests of users.
  const users = await countUserStates(db, now())
  const days = await listDayCounts(db, now())
  const messages = await countUnsentMessages(db)
  return { users, days, messages, health: await findHealth(deps) }
}

async function findHealth({ config, db, hooks, jobs, mailer }: OverviewDeps): Promise<Overview['health']> {
  const isMailed = config.mail.smtp !== undefined || hooks.isOn('SEND_EMAIL')
  const [database, mail, queue] = await Promise.all([
    tell(() => sql`SELECT`.execute(db), 'does not answer'),
    // What a hook does with a mail nobody can ask.
    isMailed
      ? tell(() => (hooks.isOn('SEND_EMAIL') ? undefined : mailer.check()), 'does not answer')
      : 'no server is set',
    tell(() => jobs.check(), 'does not work on jobs'),
  ])
  return { database, mail, queue }
}

async function tell(check: () => Promise<unknown> | undefined, problem: string): Promise<Health> {
  const late = Promise.withResolvers<Health>()
  const timer = setTimeout(() => late.resolve(problem), PATIENCE_MS)
  const answer = Promise.resolve(check()).then(
    () => 'ok',
    () => problem,
  )
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}
