import { randomUUID } from 'node:crypto'
import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import { defineEncryptedTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import { z } from 'zod'
import type { NotificationName } from '../config/mail.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { HOOK_REJECTED } from '../external-errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { findProfileById } from '../users/profile-repository.ts'
import type { User } from '../users/user.ts'
import { type UserView, viewUser } from '../users/user-view.ts'
import { MAIL_KINDS } from './mail-template.ts'
import type { Mail } from './mailer.ts'
import { describeMail } from './message-record.ts'
import { insertMessage } from './message-repository.ts'
import { type Sms, SmsRefused } from './sms-gateway.ts'

/** A mail in the queue. Its job is encrypted, because the mail contains links and codes. */
export interface MailJob extends HookedMail {
  /** RFC 3339. The link and the code expire at this time. `null` for notifications. */
  readonly expiresAt: string | null
  /** Drops the mail if a user has the address by then. The request for the mail must not reveal that. */
  readonly onlyIfFree?: true
}

const StoredMail = z.object({
  kind: z.enum(MAIL_KINDS),
  to: z.string(),
  messageId: z.string(),
  variables: z.record(z.string(), z.unknown()),
  userId: z.string(),
  linkBase: z.string().exactOptional(),
  expiresAt: z.string().nullable(),
  onlyIfFree: z.literal(true).exactOptional(),
})

/**
 * The retries outlast a mail server outage of a day. The mailer limits each step of SMTP, so an attempt ends before this timeout.
 * With a shorter timeout, the queue could give up an attempt whose mail is still sent, and the next attempt would send a second
 * mail.
 */
export const mailTask = defineEncryptedTask('mail', (json): MailJob => StoredMail.parse(json), {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 700,
})

/** Queues a mail, to be sent after the commit. @param mail gets an id if it has none */
export async function queueMail(
  trx: Db,
  { jobs }: { readonly jobs: Jobs },
  mail: Omit<MailJob, 'messageId'> & { readonly messageId?: string },
): Promise<void> {
  const job = { messageId: randomUUID(), ...mail }
  await insertMessage(trx, describeMail(job))
  await jobs.send(trx, mailTask, job)
}

interface MessagePayloadDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'server'>
  readonly db: Db
}

export interface MessageHookDeps extends MessagePayloadDeps {
  readonly hooks: Hooks
}

/** A mail with values that only its hook needs. */
interface HookedMail extends Mail {
  readonly userId: string
  /** The base of its links. `undefined` if it has no links. */
  readonly linkBase?: string
}

type OwnedSms = Sms & { readonly userId: string; readonly purpose: string }

/** Names of mail kinds in hooks, if they differ from the kind in lower case. */
const ACTION_TYPES: Readonly<Partial<Record<Mail['kind'], string>>> = {
  CONFIRMATION: 'signup',
  MAGIC_LINK: 'magiclink',
}

/** The variables of a mail, by their names in hooks. */
const FIELDS = {
  token: 'Token',
  token_hash: 'TokenHash',
  redirect_to: 'RedirectTo',
  site_url: 'SiteURL',
  new_email: 'NewEmail',
  old_email: 'OldEmail',
  phone: 'Phone',
  old_phone: 'OldPhone',
  provider: 'Provider',
  factor_type: 'FactorType',
  passkeys: 'Passkeys',
  since: 'Since',
} as const

/**
 * Sends a mail by the hook SEND_EMAIL, one call for one mail to one address.
 * @returns `false` if the user no longer exists @throws Error if the hook fails; the queue tries again
 */
export async function sendMailByHook(deps: MessageHookDeps, mail: HookedMail): Promise<boolean> {
  const payload = await buildMailPayload(deps, [mail])
  if (payload) await deliver(deps, 'SEND_EMAIL', payload)
  return payload !== undefined
}

/**
 * Sends an SMS by the hook SEND_SMS.
 * @returns `false` if the user no longer exists @throws SmsRefused if the hook refuses with its own error
 */
export async function sendSmsByHook(deps: MessageHookDeps, sms: OwnedSms): Promise<boolean> {
  const payload = await buildSmsPayload(deps, sms)
  if (payload) await deliver(deps, 'SEND_SMS', payload)
  return payload !== undefined
}

/**
 * Builds the body of a SEND_EMAIL call for a mail, or for the two mails of a change of email. Reads the user through `db`.
 * @returns `{ user, email_data }` (reference: Hooks), or `undefined` if the user no longer exists
 */
export async function buildMailPayload(
  deps: MessagePayloadDeps,
  mails: readonly [HookedMail, ...HookedMail[]],
): Promise<object | undefined> {
  const { config } = deps
  const user = await findUserView(deps, mails[0].userId)
  if (!user) return undefined
  if (config.compatibility.messageHookPayload === 'all members')
    return { user, email_data: toAllMembers(config, mails) }
  const { kind, to, variables } = mails[0]
  const fields = Object.entries(FIELDS).map(([field, name]) => [field, variables[name]])
  return { user, email_data: { email_action_type: toActionType(kind), to, ...Object.fromEntries(fields) } }
}

/** Builds the body of a SEND_SMS call (reference: Hooks). @returns `undefined` if the user no longer exists */
export async function buildSmsPayload(
  deps: MessagePayloadDeps,
  { to, text, code, channel, userId, purpose }: OwnedSms,
): Promise<object | undefined> {
  const user = await findUserView(deps, userId)
  if (!user) return undefined
  const sms = { otp: code, phone: to }
  if (deps.config.compatibility.messageHookPayload === 'all members')
    return { user, sms: purpose === 'second_factor' ? { ...sms, sms_type: 'mfa' } : sms }
  return { user, sms: { ...sms, channel, message: text } }
}

/**
 * The members that supabase/auth sends. For a change of email it pairs the code of one address with the link token of the other:
 * `token` and `token_hash_new` belong to the present address, `token_new` and `token_hash` to the new one.
 */
function toAllMembers({ server }: Pick<AuthConfig, 'server'>, mails: readonly [HookedMail, ...HookedMail[]]): object {
  const toNew = mails.find(({ to, variables }) => to === variables.NewEmail) ?? mails[0]
  const toCurrent = mails.find((mail) => mail !== toNew)
  const { kind, linkBase = server.externalUrl, variables } = toNew
  return {
    email_action_type: toActionType(kind),
    token: (toCurrent ?? toNew).variables.Token ?? '',
    token_hash: variables.TokenHash ?? '',
    token_new: toCurrent ? variables.Token : '',
    token_hash_new: toCurrent?.variables.TokenHash ?? '',
    redirect_to: variables.RedirectTo ?? variables.SiteURL,
    site_url: linkBase,
    old_email: variables.OldEmail ?? '',
    old_phone: variables.OldPhone ?? '',
    provider: variables.Provider ?? '',
    factor_type: variables.FactorType ?? '',
  }
}

function toActionType(kind: Mail['kind']): string {
  return ACTION_TYPES[kind] ?? kind.toLowerCase()
}

async function findUserView({ config, db }: MessagePayloadDeps, userId: string): Promise<UserView | undefined> {
  const profile = await findProfileById(db, userId)
  return profile && viewUser(profile, config.compatibility)
}

/** Calls a hook. The queue stores job errors, so their messages must not contain an address. */
async function deliver({ hooks }: MessageHookDeps, name: 'SEND_EMAIL' | 'SEND_SMS', payload: object): Promise<void> {
  try {
    await hooks.call(name, payload)
  } catch (error) {
    const { code, status, message } = error instanceof HttpError ? error : { code: 'failed', status: 500, message: '' }
    if (name === 'SEND_SMS' && HOOK_REJECTED.some((refusal) => refusal === code)) {
      throw new SmsRefused('the hook', { reason: message, code: String(status) })
    }
    throw new Error(`hook ${code}`)
  }
}

/** Variables of notifications, in addition to SiteURL, Email and Data (reference: Mail templates). */
interface NotificationVariables {
  readonly PASSWORD_CHANGED: Readonly<Record<never, never>>
  readonly EMAIL_CHANGED: { readonly OldEmail: string }
  readonly PHONE_CHANGED: { readonly Phone: string | null; readonly OldPhone: string | null }
  readonly IDENTITY_LINKED: { readonly Provider: string }
  readonly IDENTITY_UNLINKED: { readonly Provider: string }
  readonly MFA_FACTOR_ENROLLED: { readonly FactorType: string }
  readonly MFA_FACTOR_UNENROLLED: { readonly FactorType: string }
  readonly PASSKEY_ADDED: Readonly<Record<never, never>>
  readonly PASSKEY_REMOVED: Readonly<Record<never, never>>
  /** The times of addition. Names of passkeys are left out, because a thief may have chosen them. */
  readonly PASSKEYS_KEPT: { readonly Passkeys: string }
  readonly RECOVERY_CODES_CREATED: Readonly<Record<never, never>>
  readonly ACCOUNT_SECURED: { readonly Since: string }
}

/** An account event about which the owner is notified. */
export type Notification = {
  readonly [Name in NotificationName]: { readonly name: Name; readonly variables: NotificationVariables[Name] }
}[NotificationName]

type Notified = Pick<User, 'id' | 'email' | 'userMetadata'>

/** The dependencies of a notification. Its mail is queued, so that a failure cannot affect the request. */
export interface NotifyDeps {
  readonly config: Pick<AuthConfig, 'mail' | 'signup'>
  readonly jobs: Jobs
}

/** Formats a time for a mail, to the minute: `2026-01-02 03:04 UTC`. */
export function toMailTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/**
 * Mails the owner of an account about an event, if the setting MAILER_NOTIFICATIONS_<name>_ENABLED is on and the account has an
 * address (reference: Notifications). EMAIL_CHANGED goes to the old address. Call it in the transaction of the event.
 * Notifications do not count for the mail limit.
 * @param user the account after the event, or before it if the event removes the address
 */
export async function notify(
  trx: Db,
  { config, jobs }: NotifyDeps,
  user: Notified,
  { name, variables }: Notification,
): Promise<void> {
  const to = name === 'EMAIL_CHANGED' ? variables.OldEmail : user.email
  if (to === null || !config.mail.isNotified(name)) return
  const variablesOfAll = { SiteURL: config.signup.redirects.siteUrl, Email: user.email, Data: user.userMetadata }
  const mail = { kind: `${name}_NOTIFICATION`, to, userId: user.id, expiresAt: null } as const
  await queueMail(trx, { jobs }, { ...mail, variables: { ...variablesOfAll, ...variables } })
}
