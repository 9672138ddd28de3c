import type { Kysely } from 'kysely'
import type { NotificationName } from '../config/mail.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
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
}

/** Something that has happened to an account. */
export type Notification = {
  readonly [Name in NotificationName]: { readonly name: Name; readonly variables: NotificationVariables[Name] }
}[NotificationName]

type Notified = Pick<User, 'id' | 'email' | 'userMetadata'>

/**
 * Tells the owner of an account what has happened to it, where the switch MAILER_NOTIFICATIONS_<name>_ENABLED is on and
 * there is an address (reference: Notifications). In the transaction of the event; the email bucket does not count it.
 * EMAIL_CHANGED goes to the old address.
 * @param user the account after the event; before it, where the event takes the address away
 */
export async function notify(
  trx: Kysely<AuthDatabase>,
  { config, jobs }: Pick<AuthDeps, 'config' | 'jobs'>,
  user: Notified,
  { name, variables }: Notification,
): Promise<void> {
  const to = name === 'EMAIL_CHANGED' ? variables.OldEmail : user.email
  if (to === null || !config.mail.isNotified(name)) return
  const common = { SiteURL: config.signup.redirects.siteUrl, Email: user.email, Data: user.userMetadata }
  await queueMail(
    trx,
    { jobs },
    {
      kind: `${name}_NOTIFICATION`,
      to,
      userId: user.id,
      variables: { ...common, ...variables },
      expiresAt: null,
    },
  )
}
