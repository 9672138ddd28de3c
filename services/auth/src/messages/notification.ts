import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { NotificationName } from '../config/mail.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import type { User } from '../users/user.ts'
import { queueMail } from './mail-job.ts'

/** Variables of notifications, beside SiteURL, Email and Data (reference: Mail templates). */
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
  /** When each was added. A name of a passkey is not there: a thief may have chosen it. */
  readonly PASSKEYS_KEPT: { readonly Passkeys: string }
  readonly RECOVERY_CODES_CREATED: Readonly<Record<never, never>>
  readonly ACCOUNT_SECURED: { readonly Since: string }
}

/** An event of an account that its owner is notified of. */
export type Notification = {
  readonly [Name in NotificationName]: { readonly name: Name; readonly variables: NotificationVariables[Name] }
}[NotificationName]

type Notified = Pick<User, 'id' | 'email' | 'userMetadata'>

/** The dependencies of a notification. The mail is queued, so that its failure never reaches the request. */
export interface NotifyDeps {
  readonly config: Pick<AuthConfig, 'mail' | 'signup'>
  readonly jobs: Jobs
}

/** Writes a time for a mail, to the minute: `2026-01-02 03:04 UTC`. */
export function toMailTime(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/**
 * Mails the owner of an account about an event, where the setting MAILER_NOTIFICATIONS_<name>_ENABLED is on and the account has
 * an address (reference: Notifications). EMAIL_CHANGED goes to the old address. Queue it in the transaction of the event. The
 * limit of mails does not count notifications.
 * @param user the account after the event, or before it where the event removes the address
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
