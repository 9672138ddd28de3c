import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { AuditDeps } from '../audit/audit-log.ts'
import type { HookName } from '../config/hooks.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { serverBusy } from '../errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { announceUser, UserCreated, userCreatedTask } from '../hooks/user-created-job.ts'
import {
  type IntervalConfig,
  type IntervalDeps,
  type IntervalKey,
  type ReservedInterval,
  reserveInterval,
  restoreIntervals,
} from '../rate-limits/send-interval.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { RandomBytes, ServerKeys } from '../secrets/encrypted-secret.ts'
import { isIdentifierKept } from '../users/user-repository.ts'
import { buildMailPayload, buildSmsPayload, type MailJob, type MessageHookDeps, mailTask } from './mail-job.ts'
import { updateMessages } from './message-repository.ts'
import type { SmsGateway } from './sms-gateway.ts'
import { type DeliverSmsDeps, type DropReason, type SmsJob, sendSmsInRequest, smsTask } from './sms-job.ts'

export interface HookedDeps extends IntervalDeps {
  readonly config: IntervalConfig & Pick<AuthConfig, 'compatibility' | 'server'>
  readonly db: Db
  readonly hooks: Hooks
  readonly jobs: Jobs
  readonly logger: ServiceLogger['logger']
  readonly randomBytes: RandomBytes
  readonly serverKeys: ServerKeys
  /** Undefined where no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/** The effects that one run of the work has recorded in place of having them. */
interface Recording {
  readonly mails: MailJob[]
  readonly sms: SmsJob[]
  readonly createdIds: string[]
  readonly intervals: IntervalKey[]
  /** Lines of the log, which are written after the commit. */
  readonly lines: [object, string][]
}

/** Ends the transaction of a rehearsal, which has found the messages to deliver. */
class RolledBack extends Error {
  override readonly name = 'RolledBack'
  readonly recorded: Recording
  readonly deliveries: readonly Delivery[]
  constructor(recorded: Recording, deliveries: readonly Delivery[]) {
    super()
    this.recorded = recorded
    this.deliveries = deliveries
  }
}

/**
 * The dependencies of work that may run twice. It has no hook to call, no gateway and no connection but its transaction, and its
 * log waits for the commit. Time and random bytes are those of the first run. A `randomUUID` is not repeated, so it may only name
 * rows that no message carries.
 */
export type Repeatable<Deps> = Omit<Deps, Reaching> & {
  readonly hooks: Pick<Hooks, 'isOn' | 'isInRequest'>
  readonly logger: AuditDeps['logger']
}

type Reaching = 'db' | 'pools' | 'hooks' | 'logger' | 'outbound' | 'passwords' | 'rateLimits' | 'sms'

/** Opens a transaction, perhaps again after a race. */
type Transact = <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>

/** Whether the request itself sends the messages of a medium, by a hook or by the gateway of SMS, rather than the queue. */
export function isSentInRequest(
  { config, hooks, sms }: Pick<HookedDeps, 'config' | 'hooks' | 'sms'>,
  medium: 'email' | 'sms',
): boolean {
  if (medium === 'email') return hooks.isInRequest('SEND_EMAIL')
  if (hooks.isOn('SEND_SMS')) return hooks.isInRequest('SEND_SMS')
  return sms !== undefined && config.compatibility.sendSms === 'in the request'
}

/** Whether the request would send an SMS itself, and has neither hook nor gateway. The queue drops the SMS then. */
export function isSmsUnsendable({ config, hooks, sms }: Pick<HookedDeps, 'config' | 'hooks' | 'sms'>): boolean {
  return sms === undefined && !hooks.isOn('SEND_SMS') && config.compatibility.sendSms === 'in the request'
}

/**
 * Runs work in a transaction, and sends the messages that the profile has sent in the request (decision 35). If the work queues
 * such a message, the transaction was a rehearsal and is rolled back. Then the intervals of its messages are reserved, and the
 * hook or the gateway gets the message, while no lock is held. Then the work runs again, with the same random bytes at the same
 * moment, and is committed. If the hook or the gateway fails, nothing has been stored but the intervals, which are restored.
 * AFTER_USER_CREATED is called after the commit.
 *
 * Lock order: none for all work. A request for a message locks its interval before the user, since nobody may have the address. A
 * change of an address locks the user first, because one of its intervals belongs to the user. Work that loses a deadlock runs
 * again.
 * @param run does the same again with the same `deps`
 * @throws serverBusy when another request has changed the subject of the message meanwhile
 */
export async function runHooked<Deps extends HookedDeps, Result>(
  deps: Deps,
  run: (trx: Trx, deps: Repeatable<Deps>) => Promise<Result>,
  transact: Transact = (work) => transactAgain(deps.db, work),
): Promise<Result> {
  const sendsMessages = MEDIA.some((medium) => isSentInRequest(deps, medium))
  if (!sendsMessages && !deps.hooks.isInRequest('AFTER_USER_CREATED')) return transact((trx) => run(trx, deps))
  const replay: Replay = { startedAt: deps.now(), draws: [] }
  const attempt = async (trx: Trx) => {
    const recorded: Recording = { mails: [], sms: [], createdIds: [], intervals: [], lines: [] }
    return { recorded, result: await run(trx, recordMessages(deps, recorded, replay)) }
  }
  const first = await transact(async (trx) => {
    const done = await attempt(trx)
    const deliveries = await buildDeliveries(trx, deps, done.recorded)
    if (deliveries.length > 0) throw new RolledBack(done.recorded, deliveries)
    await recordDeliveries(trx, done.recorded, deliveries)
    return done
  }).catch((error: unknown) => {
    if (error instanceof RolledBack) return error
    throw error
  })
  if (!(first instanceof RolledBack)) return finish(deps, first)
  const second = await withReserved(deps, first.recorded.intervals, async (reserved) => {
    for (const delivery of first.deliveries) await deliver(deps, delivery)
    return transact(async (trx) => {
      await restoreIntervals(trx, reserved)
      const done = await attempt(trx)
      if (!wereDelivered(done.recorded, first.recorded)) throw serverBusy()
      await recordDeliveries(trx, done.recorded, first.deliveries)
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

/** The dependencies of one run: they record the messages of the request, and repeat moment and random bytes. */
function recordMessages<Deps extends HookedDeps>(
  deps: Deps,
  recorded: Recording,
  { startedAt, draws }: Replay,
): Repeatable<Deps> {
  let drawn = 0
  const send: Jobs['send'] = async (trx, task, payload, options) => {
    const record = recorders(deps, recorded)[task.name]
    return record?.(payload) === 'recorded' ? '' : deps.jobs.send(trx, task, payload, options)
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
    recordInterval: (key: IntervalKey) => void recorded.intervals.push(key),
    logger: { info: (line, text) => void recorded.lines.push([line, text]) },
  }
}

type Recorder = (payload: object) => 'recorded' | 'for-the-queue'

/** The recorders of jobs that the request does itself, by the name of their task. */
function recorders(deps: HookedDeps, { mails, sms, createdIds }: Recording): Readonly<Record<string, Recorder>> {
  return {
    [mailTask.name]: (payload) => {
      if (!isSentInRequest(deps, 'email')) return 'for-the-queue'
      const mail = mailTask.read(payload)
      // Notifications are queued, since their failure must not fail the request.
      if (mail.expiresAt === null) return 'for-the-queue'
      mails.push(mail)
      return 'recorded'
    },
    [smsTask.name]: (payload) => {
      if (!isSentInRequest(deps, 'sms')) return 'for-the-queue'
      sms.push(smsTask.read(payload))
      return 'recorded'
    },
    [userCreatedTask.name]: (payload) => {
      if (!deps.hooks.isInRequest('AFTER_USER_CREATED')) return 'for-the-queue'
      createdIds.push(UserCreated.parse(payload).userId)
      return 'recorded'
    },
  }
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

/** After the commit: writes the log, and calls AFTER_USER_CREATED for the new users. */
async function finish<Result>(
  deps: HookedDeps,
  { recorded, result }: { readonly recorded: Recording; readonly result: Result },
): Promise<Result> {
  for (const [line, text] of recorded.lines) deps.logger.info(line, text)
  for (const id of recorded.createdIds) await announceUser(deps, id)
  return result
}

/** Messages that a request sends itself, in place of the queue. */
interface QueuedMessages {
  readonly mails: readonly MailJob[]
  readonly sms: readonly SmsJob[]
}

/** One message on its way: to its hook, or to the gateway of SMS. */
type Delivery = { readonly hook: HookName; readonly payload: object } | { readonly sms: SmsJob }

/**
 * Builds the deliveries of a request: calls of hooks with their users as the transaction sees them, or SMS. The mails of a
 * request belong to one change of email, which is one call.
 */
async function buildDeliveries(
  trx: Trx,
  { config, hooks }: Pick<MessageHookDeps, 'config' | 'hooks'>,
  { mails, sms }: QueuedMessages,
): Promise<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  const deps = { config, db: trx }
  const [mail, ...others] = mails
  if (mail && !(await isDropped(trx, 'email', mail))) {
    const payload = await buildMailPayload(deps, [mail, ...others])
    if (payload) deliveries.push({ hook: 'SEND_EMAIL', payload })
  }
  for (const message of sms) {
    if (await isDropped(trx, 'phone', message)) continue
    const payload = hooks.isOn('SEND_SMS') ? await buildSmsPayload(deps, message) : undefined
    if (payload) deliveries.push({ hook: 'SEND_SMS', payload })
    else if (!hooks.isOn('SEND_SMS')) deliveries.push({ sms: message })
  }
  return deliveries
}

/** Whether a message is for a free address alone, and a user has the address. */
async function isDropped(trx: Trx, kind: IdentifierKind, { onlyIfFree, to }: MailJob | SmsJob): Promise<boolean> {
  return onlyIfFree === true && (await isIdentifierKept(trx, { kind, value: to }))
}

/** Calls the hook of a message, or hands an SMS to the gateway. */
async function deliver(deps: Pick<DeliverSmsDeps, 'hooks' | 'logger' | 'sms'>, delivery: Delivery): Promise<void> {
  if ('sms' in delivery) await sendSmsInRequest(deps, delivery.sms)
  else await deps.hooks.call(delivery.hook, delivery.payload)
}

/** Records for operators which messages of a request were sent, and which were dropped. */
async function recordDeliveries(
  trx: Trx,
  { mails, sms }: QueuedMessages,
  deliveries: readonly Delivery[],
): Promise<void> {
  const isMailed = deliveries.some((delivery) => 'hook' in delivery && delivery.hook === 'SEND_EMAIL')
  const isTexted = deliveries.some((delivery) => 'sms' in delivery || delivery.hook === 'SEND_SMS')
  const outcomes = [
    { messages: mails, isSent: isMailed },
    { messages: sms, isSent: isTexted },
  ]
  for (const { messages, isSent } of outcomes) {
    if (messages.length === 0) continue
    const ids = messages.map(({ messageId }) => messageId)
    const dropped = { status: 'failed', attempt: 0, error: DROPPED } as const
    await updateMessages(trx, ids, isSent ? { status: 'sent', attempt: 1 } : dropped)
  }
}

const DROPPED: DropReason = 'a user has the address already'

/** Whether all messages are among the delivered ones. */
function wereDelivered(messages: QueuedMessages, delivered: QueuedMessages): boolean {
  const names = new Set(namesOf(delivered))
  return namesOf(messages).every((name) => names.has(name))
}

function namesOf({ mails, sms }: QueuedMessages): readonly string[] {
  return [
    ...mails.map(({ kind, to, userId, variables: { Token, TokenHash } }) =>
      JSON.stringify([kind, to, userId, Token, TokenHash]),
    ),
    ...sms.map(({ to, userId, code }) => JSON.stringify([to, userId, code])),
  ]
}
