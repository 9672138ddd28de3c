import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import type { Outcome } from '@trestle/jobs/attempt.ts'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import type { AuthConfig } from '../config.ts'
import { type MessageRequestDeps, sendRequested } from '../message-requests/request-message.ts'
import { type MailJob, type MessageHookDeps, mailTask, sendMailByHook } from '../messages/mail-job.ts'
import type { Mailer } from '../messages/mailer.ts'
import { countMessages, type MessageRequest, messageMedium, messageRequestTask } from '../messages/message-request.ts'
import { findTestCode } from '../messages/sms-code.ts'
import {
  attemptDelivery,
  type DeliverSmsDeps,
  type DropReason,
  deliverSms,
  type SmsJob,
  smsTask,
} from '../messages/sms-job.ts'
import { isIdentifierKept } from '../users/user-repository.ts'

/** The dependencies of sending a mail. If the hook SEND_EMAIL is enabled, `mailer` is not used. */
type SendMailDeps = MessageHookDeps & {
  readonly config: AuthConfig
  readonly logger: ServiceLogger['logger']
  readonly mailer: Mailer
  readonly now: () => Date
}

/**
 * Sends a queued mail by SMTP or by the hook SEND_EMAIL. Drops and counts it if no mail server is set. Logs a refusal by the
 * server or the hook, and records the outcome for operators.
 * @param attempt 1 for the first
 * @throws DeadLetterJob if the link of the mail has expired, Error if the mail could not be sent
 */
export async function sendMail(deps: SendMailDeps, job: MailJob, attempt: number): Promise<Outcome> {
  const { kind, messageId } = job
  return attemptDelivery(deps, { task: mailTask, messageId, attempt, line: { kind } }, async () => {
    const dropped = await deliverMail(deps, job)
    if (dropped === undefined) deps.logger.info({ kind, message_id: messageId }, 'mail sent')
    return dropped
  })
}

/** @returns why the mail is dropped, or `undefined` if sent @throws DeadLetterJob, Error if it could not be sent */
async function deliverMail(deps: SendMailDeps, job: MailJob): Promise<DropReason | undefined> {
  const at = deps.now()
  if (job.onlyIfFree && (await isIdentifierKept(deps.db, { kind: 'email', value: job.to })))
    return 'a user has the address already'
  if (job.expiresAt !== null && Date.parse(job.expiresAt) <= at.getTime())
    throw new DeadLetterJob('its link has expired')
  if (deps.hooks.isOn('SEND_EMAIL')) return (await sendMailByHook(deps, job)) ? undefined : 'the user is gone'
  return (await deps.mailer.send(job, at)) ? undefined : 'no mail server is set'
}

/**
 * Starts the worker of mails. If another user has taken the wanted address meanwhile, the mail is dropped and given back to the
 * limit of all clients. Other dropped mails are not given back, because the limit may not have counted them.
 */
export async function startMails(deps: SendMailDeps & Pick<MessageRequestDeps, 'jobs' | 'rateLimits'>): Promise<void> {
  await deps.jobs.work(mailTask, async (job, { attempt }) => {
    const outcome = await sendMail(deps, job, attempt)
    if (outcome === 'dropped' && job.onlyIfFree) await giveMailBack(deps, job)
    return outcome
  })
}

/** Gives a mail back to the window that counted it. Counting happened at the start of its link's lifetime. */
async function giveMailBack(
  { config, now, rateLimits }: SendMailDeps & Pick<MessageRequestDeps, 'rateLimits'>,
  { expiresAt }: Pick<MailJob, 'expiresAt'>,
): Promise<void> {
  const beganMs = expiresAt === null ? undefined : Date.parse(expiresAt) - config.mail.codeLifetimeSeconds * 1_000
  if (beganMs !== undefined) await rateLimits.email.giveBack(now().getTime() - beganMs)
}

type StartSmsDeps = DeliverSmsDeps & Pick<MessageRequestDeps, 'rateLimits'> & { readonly config: AuthConfig }

/** Starts the worker of SMS. An SMS that is never sent is given back to the limit of all clients. */
export async function startSms(deps: StartSmsDeps & Pick<MessageRequestDeps, 'jobs'>): Promise<void> {
  await deps.jobs.work(smsTask, async (job, { attempt }) => {
    try {
      const outcome = await deliverSms(deps, job, { attempt })
      if (outcome === 'dropped') await giveSmsBack(deps, job)
      return outcome
    } catch (error) {
      if (error instanceof DeadLetterJob) await giveSmsBack(deps, job)
      throw error
    }
  })
}

/** Gives an SMS back to the window that counted it. Counting happened at the start of its code's lifetime. */
async function giveSmsBack(
  { config, now, rateLimits }: StartSmsDeps,
  { purpose, expiresAt }: Pick<SmsJob, 'purpose' | 'expiresAt'>,
): Promise<void> {
  const { sms, mfa } = config
  const lifetimeSeconds = purpose === 'second_factor' ? mfa.challengeLifetimeSeconds : sms.codeLifetimeSeconds
  await rateLimits.sms.giveBack(now().getTime() - Date.parse(expiresAt) + lifetimeSeconds * 1_000)
}

/**
 * Sends the message of a request if it has a recipient. The limit of the client counts the message in any case. Without a
 * recipient, the message is given back to the limit of all clients, so that an attacker cannot use it up.
 *
 * If the process dies after the commit and before the queue records it, the next attempt sends the message again, with a new code
 * instead of the earlier one. The message of an address change is sent again only after the interval, and while the address has
 * fewer than two valid messages. The limits do not count that message again.
 */
export async function answerMessageRequest(
  deps: MessageRequestDeps,
  request: MessageRequest,
  attempt: number,
): Promise<Outcome> {
  const send = () => deps.db.transaction().execute((trx) => sendRequested(trx, deps, request))
  if (!isExpired(deps, request) && (await send()) === 'sent') return 'done'
  // Give back only in the first attempt, because it may already have done so before its process died.
  if (attempt === 1 && isCounted(deps, request)) await returnAllowance(deps, request)
  return 'dropped'
}

async function returnAllowance(
  { config, now, rateLimits }: MessageRequestDeps,
  request: MessageRequest,
): Promise<void> {
  const messages = countMessages(request, config)
  const agoMs = now().getTime() - Date.parse(request.askedAt)
  for (let returned = 0; returned < messages; returned += 1) await rateLimits[messageMedium(request)].giveBack(agoMs)
}

/** Whether the request is older than the lifetime of a code, so that the message would be too late. */
function isExpired({ config, now }: MessageRequestDeps, request: MessageRequest): boolean {
  const { codeLifetimeSeconds } = messageMedium(request) === 'email' ? config.mail : config.sms
  return now().getTime() >= Date.parse(request.askedAt) + codeLifetimeSeconds * 1_000
}

/** Whether the limits have counted the request. Test phones are not counted. */
function isCounted({ config, now }: MessageRequestDeps, { identifier: { kind, value } }: MessageRequest): boolean {
  return kind === 'email' || findTestCode(config.sms, value, now()) === undefined
}

/** Starts the worker of message requests. */
export async function startMessageRequests(deps: MessageRequestDeps): Promise<void> {
  await deps.jobs.work(messageRequestTask, (request, { attempt }) => answerMessageRequest(deps, request, attempt))
}
