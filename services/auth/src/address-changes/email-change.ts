import type { Behaviours } from '../config/behaviours.ts'
import type { AuthConfig } from '../config.ts'
import type { User } from '../users/user.ts'

/** The message of a pending change that was used: the message to the new address, or to the current address. */
export type EmailChangeToken = 'email_change_new' | 'email_change_current'

/**
 * The effect of a used message on a pending change of email (reference: Change of email). `confirm-one`: the other address
 * has yet to confirm. `refuse`: the current address alone proves nothing about the new one.
 */
export type EmailChangeVerdict = 'confirm-one' | 'apply' | 'refuse'

/** The addresses whose agreement a change of email needs: `either` is the rule where no address has to be confirmed. */
export type EmailChangeRule = 'both' | 'new' | 'either'

/** Returns which addresses must agree to a change, by the settings and the profile. */
export function emailChangeRule({
  behaviours,
  mail,
}: {
  readonly behaviours: Pick<Behaviours, 'applyEmailChangeUnderAutoconfirm'>
  readonly mail: Pick<AuthConfig['mail'], 'autoconfirm' | 'secureEmailChange'>
}): EmailChangeRule {
  if (mail.autoconfirm && behaviours.applyEmailChangeUnderAutoconfirm) return 'either'
  return mail.secureEmailChange ? 'both' : 'new'
}

/**
 * Judges a message of a change. An address that agrees loses all its messages, and gets no more of them. So the second message
 * that is used is the message to the other address.
 */
export function judgeEmailChange(
  user: Pick<User, 'email' | 'emailChangeConfirmStatus'>,
  used: EmailChangeToken,
  rule: EmailChangeRule,
): EmailChangeVerdict {
  if (user.emailChangeConfirmStatus > 0 || rule === 'either') return 'apply'
  if (needsBothAddresses(user, { secureEmailChange: rule === 'both' })) return 'confirm-one'
  return used === 'email_change_new' ? 'apply' : 'refuse'
}

/** Whether the current address must agree to a change too: where the settings ask for that, and the user has one. */
export function needsBothAddresses(
  { email }: Pick<User, 'email'>,
  { secureEmailChange }: { readonly secureEmailChange: boolean },
): boolean {
  return secureEmailChange && email !== null
}
