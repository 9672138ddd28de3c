import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { Db } from '../database.ts'
import { HOOK_REJECTED } from '../external-errors.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { findProfileById } from '../users/profile-repository.ts'
import { type UserView, viewUser } from '../users/user-view.ts'
import type { Sms } from './gateway-protocol.ts'
import type { Mail } from './mailer.ts'
import { SmsRefused } from './sms-gateway.ts'

interface MessageHookDeps {
  readonly db: Db
  readonly hooks: Hooks
}

/** A message, and whose it is. */
type Owned<Message> = Message & { readonly userId: string }

/** What hooks call a kind of mail, where that is not its name in lower case. */
const ACTION_TYPES: Readonly<Partial<Record<Mail['kind'], string>>> = {
  CONFIRMATION: 'signup',
  MAGIC_LINK: 'magiclink',
}

/** The variables of a mail, by the names that hooks use. */
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
} as const

/**
 * Sends a mail by the hook SEND_EMAIL. One call is one mail, to one address.
 * @returns false where its user no longer exists @throws Error when the hook does not take it; the queue tries again
 */
export async function sendMailByHook(
  deps: MessageHookDeps,
  { kind, to, userId, variables }: Owned<Mail>,
): Promise<boolean> {
  const user = await findUserView(deps, userId)
  if (!user) return false
  const fields = Object.entries(FIELDS).map(([field, name]) => [field, variables[name]])
  const email_action_type = ACTION_TYPES[kind] ?? kind.toLowerCase()
  await deliver(deps, 'SEND_EMAIL', { user, email_data: { email_action_type, to, ...Object.fromEntries(fields) } })
  return true
}

/**
 * Sends an SMS by the hook SEND_SMS.
 * @returns false where its user no longer exists @throws SmsRefused where the hook refuses with an error of its own
 */
export async function sendSmsByHook(
  deps: MessageHookDeps,
  { to, text, code, channel, userId }: Owned<Sms>,
): Promise<boolean> {
  const user = await findUserView(deps, userId)
  if (!user) return false
  await deliver(deps, 'SEND_SMS', { user, sms: { otp: code, phone: to, channel, message: text } })
  return true
}

async function findUserView({ db }: MessageHookDeps, userId: string): Promise<UserView | undefined> {
  const profile = await findProfileById(db, userId)
  return profile && viewUser(profile)
}

/** Calls a hook. The queue stores the errors of its jobs, so their messages must not name an address. */
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
