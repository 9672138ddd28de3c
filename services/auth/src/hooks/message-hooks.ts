import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { AuthDeps } from '../deps.ts'
import { hookRejected } from '../hook-errors.ts'
import type { MailJob } from '../messages/mail-job.ts'
import { SmsRefused } from '../messages/sms-gateway.ts'
import type { SmsJob } from '../messages/sms-job.ts'
import { findOwner } from '../users/user-profile-repository.ts'
import { toUserView, type UserView } from '../users/user-view.ts'

type Deps = Pick<AuthDeps, 'db' | 'hooks'>

/** What hooks call a kind of mail, where it is not its own name in small letters. */
const ACTION_TYPES: Readonly<Partial<Record<MailJob['kind'], string>>> = {
  CONFIRMATION: 'signup',
  MAGIC_LINK: 'magiclink',
}

/** What is in a mail, by the names of hooks. */
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
 * Has the hook SEND_EMAIL send a mail. One call is one mail, to one address.
 * @returns false where its user is gone. @throws when the hook does not take it; the queue tries again
 */
export async function sendMailByHook(deps: Deps, { kind, to, userId, variables }: MailJob): Promise<boolean> {
  const user = await viewOwner(deps, userId)
  if (!user) return false
  const fields = Object.entries(FIELDS).map(([field, name]) => [field, variables[name]])
  const email_action_type = ACTION_TYPES[kind] ?? kind.toLowerCase()
  await deliver(deps, 'SEND_EMAIL', { user, email_data: { email_action_type, to, ...Object.fromEntries(fields) } })
  return true
}

/** Has the hook SEND_SMS send an SMS. @returns as above @throws SmsRefused where the hook refuses in words of its own */
export async function sendSmsByHook(deps: Deps, { to, text, code, channel, userId }: SmsJob): Promise<boolean> {
  const user = await viewOwner(deps, userId)
  if (!user) return false
  await deliver(deps, 'SEND_SMS', { user, sms: { otp: code, phone: to, channel, message: text } })
  return true
}

async function viewOwner({ db }: Deps, userId: string): Promise<UserView | undefined> {
  const profile = await findOwner(db, userId)
  return profile && toUserView(profile.user, profile.identities, profile.factors)
}

/** Errors end in rows of the queue, where nothing may stand that names an address. */
async function deliver({ hooks }: Deps, name: 'SEND_EMAIL' | 'SEND_SMS', payload: object): Promise<void> {
  try {
    await hooks.call(name, payload)
  } catch (error) {
    const { code, status, message } = error instanceof HttpError ? error : { code: 'failed', status: 500, message: '' }
    if (name === 'SEND_SMS' && code === hookRejected.code) {
      throw new SmsRefused('the hook', { reason: message, code: String(status) })
    }
    throw new Error(`hook ${code}`)
  }
}
