import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { AnyTask, Task } from '@trestle/jobs/task.ts'
import type { AuditDeps } from '../audit/audit-log.ts'
import type { HookName } from '../config/hooks.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { serverBusy } from '../errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { announceUser, userCreatedTask } from '../hooks/user-created-job.ts'
import {
  type IntervalConfig,
  type IntervalDeps,
  type IntervalKey,
  type ReservedInterval,
  reserveInterval,
  restoreIntervals,
} from '../rate-limits/send-interval.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { RandomBytes } from '../secrets/sealed-secret.ts'
import { isIdentifierTaken } from '../users/user-repository.ts'
import { type MailJob, mailTask } from './mail-job.ts'
import { makeMailPayload, makeSmsPayload } from './message-hooks.ts'
import type { SmsGateway } from './sms-gateway.ts'
import { type SmsJob, sendSmsInRequest, smsTask } from './sms-job.ts'

/** What a transaction works with that may send messages or make users. */
export interface HookedDeps extends IntervalDeps {
  readonly config: IntervalConfig & Pick<AuthConfig, 'behaviours' | 'server'>
  readonly db: Db
  readonly hooks: Hooks
  readonly jobs: Jobs
  readonly logger: ServiceLogger['logger']
  readonly randomBytes: RandomBytes
  /** Undefined where no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/** What one run of the work has wanted to send, instead of queueing it. */
interface Wanted {
  readonly mails: MailJob[]
  readonly sms: SmsJob[]
  readonly createdIds: string[]
  readonly intervals: IntervalKey[]
  /** Lines of the log, which are written after the commit. */
  readonly lines: [object, string][]
}

/** A message that is sent between the two runs: by its hook, or by the gateway. */
type Sending = { readonly hook: HookName; readonly payload: object } | { readonly sms: SmsJob }

/** Ends the transaction of a rehearsal, which has found what is to be sent. */
class RolledBack extends Error {
  override readonly name = 'RolledBack'
  readonly wanted: Wanted
  readonly sendings: readonly Sending[]
  constructor(wanted: Wanted, sendings: readonly Sending[]) {
    super()
    this.wanted = wanted
    this.sendings = sendings
  }
}

/**
 * The dependencies of work that may run twice. It has no hook to call, no gateway and no connection but its transaction, and its log
 * waits for the commit. Time and random bytes are those of the first run. A `randomUUID` is not repeated, so it may only name what
 * no message carries.
 */
export type Repeatable<Deps> = Omit<Deps, Reaching> & {
  readonly hooks: Pick<Hooks, 'isOn' | 'isInRequest'>
  readonly logger: AuditDeps['logger']
}

type Reaching = 'db' | 'lanes' | 'hooks' | 'logger' | 'outbound' | 'passwords' | 'rateLimits' | 'sms'

/** Opens a transaction, perhaps again after a race. */
type Transact = <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>

/** Whether the request itself sends the messages of a medium, by a hook or by the gateway of SMS, rather than the queue. */
export function isSentInRequest(
  { config, hooks, sms }: Pick<HookedDeps, 'config' | 'hooks' | 'sms'>,
  medium: 'email' | 'sms',
): boolean {
  if (medium === 'email') return hooks.isInRequest('SEND_EMAIL')
  if (hooks.isOn('SEND_SMS')) return hooks.isInRequest('SEND_SMS')
  return sms !== undefined && config.behaviours.sendSms === 'in the request'
}

/**
 * Runs work in a transaction, and sends the messages that the profile has sent in the request (decision 35). If the work queues
 * such a message, the transaction was a rehearsal and is rolled back. Then the intervals of its messages are reserved, and the
 * hook or the gateway gets the message, while no lock is held. Then the work runs again, with the same random bytes at the same
 * moment, and is committed. If the hook or the gateway fails, nothing has been stored but the intervals, which are restored.
 * AFTER_USER_CREATED is called after the commit.
 * @param run does the same again with the same `deps`
 * @throws serverBusy when another request has changed meanwhile what the message is about, and what `run`, `reserveInterval`,
 * `Hooks.call` and `sendSmsInRequest` throw
 */
export async function runHooked<Deps extends HookedDeps, Result>(
  deps: Deps,
  run: (trx: Trx, deps: Repeatable<Deps>) => Promise<Result>,
  transact: Transact = (work) => deps.db.transaction().execute(work),
): Promise<Result> {
  const isUnobserved = !MEDIA.some((medium) => isSentInRequest(deps, medium))
  if (isUnobserved && !deps.hooks.isInRequest('AFTER_USER_CREATED')) return transact((trx) => run(trx, deps))
  const replay: Replay = { startedAt: deps.now(), draws: [] }
  const attempt = async (trx: Trx) => {
    const wanted: Wanted = { mails: [], sms: [], createdIds: [], intervals: [], lines: [] }
    return { wanted, result: await run(trx, observe(deps, wanted, replay)) }
  }
  const first = await transact(async (trx) => {
    const done = await attempt(trx)
    const sendings = await makeSendings(trx, deps, done.wanted)
    if (sendings.length > 0) throw new RolledBack(done.wanted, sendings)
    return done
  }).catch((error: unknown) => {
    if (error instanceof RolledBack) return error
    throw error
  })
  if (!(first instanceof RolledBack)) return finish(deps, first)
  const second = await withReserved(deps, first.wanted.intervals, async (reserved) => {
    for (const sending of first.sendings) {
      if ('sms' in sending) await sendSmsInRequest(deps, sending.sms)
      else await deps.hooks.call(sending.hook, sending.payload)
    }
    return transact(async (trx) => {
      await restoreIntervals(trx, reserved)
      const done = await attempt(trx)
      if (!isSent(done.wanted, first.wanted)) throw serverBusy()
      return done
    })
  })
  return finish(deps, second)
}

const MEDIA = ['email', 'sms'] as const

interface Replay {
  readonly startedAt: Date
  /** The random bytes of the first run, in their order. */
  readonly draws: Buffer[]
}

/** The dependencies of one run: they keep what is to be sent, and repeat moment and random bytes. */
function observe<Deps extends HookedDeps>(deps: Deps, wanted: Wanted, { startedAt, draws }: Replay): Repeatable<Deps> {
  let drawn = 0
  const send: Jobs['send'] = async (trx, task, payload, options) => {
    // Notifications are queued, since their failure must not fail the request.
    if (isSentInRequest(deps, 'email') && isFor(mailTask, task, payload) && payload.expiresAt !== null)
      wanted.mails.push(payload)
    else if (isSentInRequest(deps, 'sms') && isFor(smsTask, task, payload)) wanted.sms.push(payload)
    else if (deps.hooks.isInRequest('AFTER_USER_CREATED') && isFor(userCreatedTask, task, payload))
      wanted.createdIds.push(payload.userId)
    else return deps.jobs.send(trx, task, payload, options)
    return ''
  }
  const randomBytes: RandomBytes = (size) => {
    const known = draws[drawn]
    const bytes = known?.length === size ? known : deps.randomBytes(size)
    draws[drawn] = bytes
    drawn += 1
    return bytes
  }
  return {
    ...deps,
    jobs: { ...deps.jobs, send },
    randomBytes,
    now: () => startedAt,
    noteInterval: (key: IntervalKey) => void wanted.intervals.push(key),
    logger: { info: (line, text) => void wanted.lines.push([line, text]) },
  }
}

/** Whether a job is one of a task. Each task has one kind of payload. */
function isFor<Payload extends object>(wished: Task<Payload>, task: AnyTask, _payload: object): _payload is Payload {
  return task.name === wished.name
}

/**
 * What is sent of the messages of a run: calls of hooks with their users as the transaction sees them, or SMS. The mails of a run
 * are those of one change of email, which is one call.
 */
async function makeSendings(
  trx: Trx,
  { config, hooks }: HookedDeps,
  { mails, sms }: Wanted,
): Promise<readonly Sending[]> {
  const sendings: Sending[] = []
  const deps = { config, db: trx }
  const [mail, ...others] = mails
  if (mail && !(await isDropped(trx, 'email', mail))) {
    const payload = await makeMailPayload(deps, [mail, ...others])
    if (payload) sendings.push({ hook: 'SEND_EMAIL', payload })
  }
  for (const message of sms) {
    if (await isDropped(trx, 'phone', message)) continue
    const payload = hooks.isOn('SEND_SMS') ? await makeSmsPayload(deps, message) : undefined
    if (payload) sendings.push({ hook: 'SEND_SMS', payload })
    else if (!hooks.isOn('SEND_SMS')) sendings.push({ sms: message })
  }
  return sendings
}

/** Whether a message is for a free address alone, and a user has the address. */
async function isDropped(trx: Trx, kind: IdentifierKind, { onlyIfFree, to }: MailJob | SmsJob): Promise<boolean> {
  return onlyIfFree === true && (await isIdentifierTaken(trx, { kind, value: to }))
}

/** Whether the messages of the second run are among those of the first, which have been sent. */
function isSent(second: Wanted, first: Wanted): boolean {
  const sent = new Set([...first.mails.map(nameMail), ...first.sms.map(nameSms)])
  return [...second.mails.map(nameMail), ...second.sms.map(nameSms)].every((name) => sent.has(name))
}

function nameMail({ kind, to, userId, variables: { Token, TokenHash } }: MailJob): string {
  return JSON.stringify([kind, to, userId, Token, TokenHash])
}

function nameSms({ to, userId, code }: SmsJob): string {
  return JSON.stringify([to, userId, code])
}

/**
 * Keeps other requests from sending messages to the same addresses while `work` runs, and restores their intervals if it fails. A
 * process that dies meanwhile leaves an interval used up.
 */
async function withReserved<Result>(
  deps: HookedDeps,
  keys: readonly IntervalKey[],
  work: (reserved: readonly ReservedInterval[]) => Promise<Result>,
): Promise<Result> {
  const reserved: ReservedInterval[] = []
  try {
    for (const key of keys) reserved.push(await reserveInterval(deps.db, deps, key))
    return await work(reserved)
  } catch (error) {
    await restoreIntervals(deps.db, reserved)
    throw error
  }
}

/** After the commit: writes the log, and tells AFTER_USER_CREATED of the users who are there now. */
async function finish<Result>(
  deps: HookedDeps,
  { wanted, result }: { readonly wanted: Wanted; readonly result: Result },
): Promise<Result> {
  for (const [line, text] of wanted.lines) deps.logger.info(line, text)
  for (const id of wanted.createdIds) await announceUser(deps, id)
  return result
}
