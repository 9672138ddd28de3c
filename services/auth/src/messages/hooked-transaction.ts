import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { AnyTask, Task } from '@trestle/jobs/task.ts'
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
import type { RandomBytes } from '../secrets/random-bytes.ts'
import { isIdentifierTaken } from '../users/user-repository.ts'
import { type MailJob, mailTask } from './mail-job.ts'
import { makeMailPayload, makeSmsPayload } from './message-hooks.ts'
import { type SmsJob, smsTask } from './sms-job.ts'

/** What a transaction works with that may send messages or make users. */
export interface HookedDeps extends IntervalDeps {
  readonly config: IntervalConfig & Pick<AuthConfig, 'behaviours' | 'server'>
  readonly db: Db
  readonly hooks: Hooks
  readonly jobs: Jobs
  readonly logger: ServiceLogger['logger']
  readonly randomBytes: RandomBytes
}

/** What one run of the work has wanted of hooks, instead of queueing it. */
interface Wanted {
  readonly mails: MailJob[]
  readonly sms: SmsJob[]
  readonly createdIds: string[]
  readonly intervals: IntervalKey[]
  /** Lines of the log, which are written after the commit. */
  readonly lines: [object, string][]
}

interface HookCall {
  readonly name: HookName
  readonly payload: object
}

/** Ends the transaction of a rehearsal, which has found what hooks are to be told. */
class RolledBack extends Error {
  override readonly name = 'RolledBack'
  readonly wanted: Wanted
  readonly calls: readonly HookCall[]
  constructor(wanted: Wanted, calls: readonly HookCall[]) {
    super()
    this.wanted = wanted
    this.calls = calls
  }
}

/** Opens a transaction, perhaps again after a race. */
type Transact = <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>

/**
 * Runs work in a transaction, and calls the hooks that the profile has called in the request (decision 35). If the work queues a
 * message for a hook, the transaction was a rehearsal and is rolled back. Then the intervals of its messages are reserved and the
 * hook is called, while no lock is held. Then the work runs again, with the same random bytes at the same moment, and is
 * committed. If the hook fails, nothing has been stored but the intervals, which are restored. AFTER_USER_CREATED is called after
 * the commit.
 * @param run does nothing outside of the database, and the same again with the same `deps`
 * @throws serverBusy when another request has changed meanwhile what the message is about, and what `run`, `reserveInterval` and
 * `Hooks.call` throw
 */
export async function runHooked<Deps extends HookedDeps, Result>(
  deps: Deps,
  run: (trx: Trx, deps: Deps) => Promise<Result>,
  transact: Transact = (work) => deps.db.transaction().execute(work),
): Promise<Result> {
  if (!HOOKS.some((name) => deps.hooks.isInRequest(name))) return transact((trx) => run(trx, deps))
  const replay: Replay = { startedAt: deps.now(), draws: [] }
  const attempt = async (trx: Trx) => {
    const wanted: Wanted = { mails: [], sms: [], createdIds: [], intervals: [], lines: [] }
    return { wanted, result: await run(trx, observe(deps, wanted, replay)) }
  }
  const first = await transact(async (trx) => {
    const done = await attempt(trx)
    const calls = await makeCalls(trx, deps, done.wanted)
    if (calls.length > 0) throw new RolledBack(done.wanted, calls)
    return done
  }).catch((error: unknown) => {
    if (error instanceof RolledBack) return error
    throw error
  })
  if (!(first instanceof RolledBack)) return finish(deps, first)
  const second = await withReserved(deps, first.wanted.intervals, async (reserved) => {
    for (const { name, payload } of first.calls) await deps.hooks.call(name, payload)
    return transact(async (trx) => {
      await restoreIntervals(trx, reserved)
      const done = await attempt(trx)
      if (!isSent(done.wanted, first.wanted)) throw serverBusy()
      return done
    })
  })
  return finish(deps, second)
}

const HOOKS = ['SEND_EMAIL', 'SEND_SMS', 'AFTER_USER_CREATED'] as const

interface Replay {
  readonly startedAt: Date
  /** The random bytes of the first run, in their order. */
  readonly draws: Buffer[]
}

/** The dependencies of one run: they keep what hooks are to be told, and repeat moment and random bytes. */
function observe<Deps extends HookedDeps>(deps: Deps, wanted: Wanted, { startedAt, draws }: Replay): Deps {
  let drawn = 0
  const send: Jobs['send'] = async (trx, task, payload, options) => {
    const { isInRequest } = deps.hooks
    // Notifications are queued, since their failure must not fail the request.
    if (isInRequest('SEND_EMAIL') && isFor(mailTask, task, payload) && payload.expiresAt !== null)
      wanted.mails.push(payload)
    else if (isInRequest('SEND_SMS') && isFor(smsTask, task, payload)) wanted.sms.push(payload)
    else if (isInRequest('AFTER_USER_CREATED') && isFor(userCreatedTask, task, payload))
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
    logger: Object.create(deps.logger, {
      info: { value: (line: object, text: string) => void wanted.lines.push([line, text]) },
    }),
  }
}

/** Whether a job is one of a task. Each task has one kind of payload. */
function isFor<Payload extends object>(wished: Task<Payload>, task: AnyTask, _payload: object): _payload is Payload {
  return task.name === wished.name
}

/**
 * The calls of the messages of a run, with their users as the transaction sees them. The mails of a run are those of one change of
 * email, which is one call.
 */
async function makeCalls(trx: Trx, { config }: HookedDeps, { mails, sms }: Wanted): Promise<readonly HookCall[]> {
  const calls: HookCall[] = []
  const deps = { config, db: trx }
  const [mail, ...others] = mails
  if (mail && !(await isDropped(trx, 'email', mail))) {
    const payload = await makeMailPayload(deps, [mail, ...others])
    if (payload) calls.push({ name: 'SEND_EMAIL', payload })
  }
  for (const message of sms) {
    const payload = (await isDropped(trx, 'phone', message)) ? undefined : await makeSmsPayload(deps, message)
    if (payload) calls.push({ name: 'SEND_SMS', payload })
  }
  return calls
}

/** Whether a message is for a free address alone, and a user has the address. */
async function isDropped(trx: Trx, kind: IdentifierKind, { onlyIfFree, to }: MailJob | SmsJob): Promise<boolean> {
  return onlyIfFree === true && (await isIdentifierTaken(trx, { kind, value: to }))
}

/** Whether the messages of the second run are among those of the first, which the hooks have been sent. */
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
