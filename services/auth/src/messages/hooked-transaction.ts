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
  /** `undefined` if no gateway is set. */
  readonly sms: SmsGateway | undefined
}

/** The effects that one run has recorded instead of performing them. */
interface Recording {
  readonly mails: MailJob[]
  readonly sms: SmsJob[]
  readonly createdIds: string[]
  readonly intervals: IntervalKey[]
  /** Log lines, written after the commit. */
  readonly lines: [object, string][]
}

/** Rolls back a rehearsal that has found messages to deliver. */
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
 * The dependencies of work that may run twice. They have no hook to call, no gateway and no connection except the transaction,
 * and log lines wait for the commit. Both runs get the same time and random bytes. A `randomUUID` differs, so it may only name
 * rows that no message contains.
 */
export type Repeatable<Deps> = Omit<Deps, Reaching> & {
  readonly hooks: Pick<Hooks, 'isOn' | 'isInRequest'>
  readonly logger: AuditDeps['logger']
}

type Reaching = 'db' | 'pools' | 'hooks' | 'logger' | 'outbound' | 'passwords' | 'rateLimits' | 'sms'

/** Runs work in a transaction, and again if the work loses a race. */
type Transact = <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>

/** Whether the request itself sends the messages of a medium, by a hook or the SMS gateway, instead of the queue. */
export function isSentInRequest(
  { config, hooks, sms }: Pick<HookedDeps, 'config' | 'hooks' | 'sms'>,
  medium: 'email' | 'sms',
): boolean {
  if (medium === 'email') return hooks.isInRequest('SEND_EMAIL')
  if (hooks.isOn('SEND_SMS')) return hooks.isInRequest('SEND_SMS')
  return sms !== undefined && config.compatibility.sendSms === 'in the request'
}

/** Whether the request would send an SMS itself but has neither hook nor gateway. The queue then drops the SMS. */
export function isSmsUnsendable({ config, hooks, sms }: Pick<HookedDeps, 'config' | 'hooks' | 'sms'>): boolean {
  return sms === undefined && !hooks.isOn('SEND_SMS') && config.compatibility.sendSms === 'in the request'
}

/**
 * Runs work in a transaction, and sends the messages that the profile sends in the request (decision 35). If the work queues such
 * a message, the transaction was a rehearsal and is rolled back. The message intervals are then reserved, and the hook or the
 * gateway gets the message while no lock is held. The work runs again with the same random bytes and time, and is committed. If
 * the hook or the gateway fails, only the intervals were stored, and they are restored. AFTER_USER_CREATED is called after the
 * commit.
 *
 * Lock order: not the same for all work. A request for a message locks its interval before the user, because the address may
 * belong to no user. A change of an address locks the user first, because one of its intervals belongs to the user. Work that
 * loses a deadlock runs again.
 * @param run does the same again with the same `deps`
 * @throws serverBusy if another request has changed the subject of the message in the meantime
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
  /** The random bytes of the first run, in order. */
  readonly draws: Buffer[]
}

/** The dependencies of one run: they record messages, and repeat the time and the random bytes. */
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

/** Recorders, by task name, for jobs that the request does itself. */
function recorders(deps: HookedDeps, { mails, sms, createdIds }: Recording): Readonly<Record<string, Recorder>> {
  return {
    [mailTask.name]: (payload) => {
      if (!isSentInRequest(deps, 'email')) return 'for-the-queue'
      const mail = mailTask.read(payload)
      // Queue notifications, because their failure must not fail the request.
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
 * Prevents other requests from sending messages to the same addresses while `work` runs, and restores the intervals if it fails.
 * If the process dies, an interval stays used.
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

/** After the commit, writes the log and calls AFTER_USER_CREATED for new users. */
async function finish<Result>(
  deps: HookedDeps,
  { recorded, result }: { readonly recorded: Recording; readonly result: Result },
): Promise<Result> {
  for (const [line, text] of recorded.lines) deps.logger.info(line, text)
  for (const id of recorded.createdIds) await announceUser(deps, id)
  return result
}

/** Messages that the request sends itself instead of the queue. */
interface QueuedMessages {
  readonly mails: readonly MailJob[]
  readonly sms: readonly SmsJob[]
}

/** A message for its hook, or for the SMS gateway. */
type Delivery = { readonly hook: HookName; readonly payload: object } | { readonly sms: SmsJob }

/**
 * Builds the deliveries of a request: SMS, or calls of hooks with the users as the transaction sees them. All mails of a request
 * belong to one change of email, so they become one call.
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

/** Whether a message is only for a free address, and a user has the address. */
async function isDropped(trx: Trx, kind: IdentifierKind, { onlyIfFree, to }: MailJob | SmsJob): Promise<boolean> {
  return onlyIfFree === true && (await isIdentifierKept(trx, { kind, value: to }))
}

/** Calls the hook of a message, or passes an SMS to the gateway. */
async function deliver(deps: Pick<DeliverSmsDeps, 'hooks' | 'logger' | 'sms'>, delivery: Delivery): Promise<void> {
  if ('sms' in delivery) await sendSmsInRequest(deps, delivery.sms)
  else await deps.hooks.call(delivery.hook, delivery.payload)
}

/** Records for operators which messages of a request were sent or dropped. */
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
