import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { CompatibilityOptions } from '../config/compatibility.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { deleteTokensOfKinds } from '../one-time-tokens/one-time-token-repository.ts'
import { claimIdentifier, refuseTaken, releaseUnused } from '../users/claim-identifier.ts'
import { confirmedMetadata } from '../users/metadata.ts'
import type { User } from '../users/user.ts'
import { setOwnIdentity, updateUser, upsertAddressChange } from '../users/user-change-repository.ts'

export interface ApplyDeps extends AuditDeps, NotifyDeps {
  readonly config: Pick<AuthConfig, 'compatibility' | 'database' | 'mail' | 'signup'>
}

/**
 * Confirms a pending change of email after one of its messages was used. Applies the change, unless the other address must still
 * confirm it. Runs in a transaction of `withUniqueIdentifiers`.
 * @param user must be locked
 * @returns `refused` for the message to the current address if that address need not agree
 */
export async function confirmEmailChange(
  trx: Trx,
  deps: ApplyDeps,
  user: User,
  { used, ip }: { readonly used: EmailChangeToken; readonly ip: string },
): Promise<'applied' | 'other-address-left' | 'refused'> {
  const rule = emailChangeRule(deps.config)
  const verdict = judgeEmailChange(user, used, rule)
  if (verdict === 'refuse' || user.emailChange === null) return 'refused'
  if (verdict === 'apply') {
    // If either address may confirm, a message to the current address proves nothing about the new address.
    const isProved = rule !== 'either' || used === 'email_change_new'
    if (isProved) await releaseUnused(trx, { kind: 'email', value: user.emailChange }, deps.now())
    await applyEmailChange(trx, deps, user, { newEmail: user.emailChange, ip })
    return 'applied'
  }
  // The address may have two messages. The second one must not count as the agreement of the other address.
  await deleteTokensOfKinds(trx, user.id, [used])
  await updateUser(trx, user.id, { email_change_confirm_status: 1, updated_at: deps.now() })
  const traits = { provider: 'email', confirmed_by: used === 'email_change_new' ? 'new' : 'current' }
  await recordAudit(trx, deps, { action: 'user_modified', actor: user, ip, traits })
  return 'other-address-left'
}

/** Changes the email of a user. The new email counts as confirmed. An anonymous user becomes a permanent user. */
export async function applyEmailChange(
  trx: Trx,
  deps: ApplyDeps,
  user: User,
  { newEmail, ip }: { readonly newEmail: string; readonly ip: string },
): Promise<User> {
  const at = deps.now()
  const identifier = { kind: 'email', value: newEmail } as const
  await claimIdentifier(trx, identifier, { userId: user.id, refuse: refuseTaken })
  const changed = await updateUser(trx, user.id, {
    email: newEmail,
    email_confirmed_at: at,
    raw_user_meta_data: confirmedMetadata(deps.config, user.userMetadata, 'email'),
    email_change: '',
    email_change_confirm_status: 0,
    is_anonymous: false,
    updated_at: at,
  })
  await upsertAddressChange(trx, user, { kind: 'email', at })
  const owner = await setOwnIdentity(trx, changed, { identifier, isVerified: true, at })
  if (user.email !== null) {
    await notify(trx, deps, owner, { name: 'EMAIL_CHANGED', variables: { OldEmail: user.email } })
  }
  await recordAudit(trx, deps, { action: 'user_modified', actor: owner, ip, traits: { provider: 'email' } })
  return owner
}

/**
 * Changes the phone number of a user. The new number counts as confirmed. An anonymous user becomes a permanent user. Runs in a
 * transaction of `withUniqueIdentifiers`. @param user must be locked
 */
export async function applyPhoneChange(
  trx: Trx,
  deps: ApplyDeps,
  user: User,
  { newPhone, ip }: { readonly newPhone: string; readonly ip: string },
): Promise<User> {
  const at = deps.now()
  const identifier = { kind: 'phone', value: newPhone } as const
  await claimIdentifier(trx, identifier, { userId: user.id, refuse: refuseTaken })
  const updated = await updateUser(trx, user.id, {
    phone: newPhone,
    phone_confirmed_at: at,
    phone_change: '',
    is_anonymous: false,
    updated_at: at,
  })
  await upsertAddressChange(trx, user, { kind: 'phone', at })
  const owner = await setOwnIdentity(trx, updated, { identifier, isVerified: true, at })
  const isLinked = user.phone === null && deps.config.compatibility.notifyFirstPhoneAsLinked
  const linked = { name: 'IDENTITY_LINKED', variables: { Provider: 'phone' } } as const
  const changed = { name: 'PHONE_CHANGED', variables: { Phone: newPhone, OldPhone: user.phone } } as const
  await notify(trx, deps, owner, isLinked ? linked : changed)
  await recordAudit(trx, deps, { action: 'user_modified', actor: owner, ip, traits: { provider: 'phone' } })
  return owner
}

/** The used message of a pending change: the message to the new address, or to the current address. */
export type EmailChangeToken = 'email_change_new' | 'email_change_current'

/**
 * The effect of a used message on a pending change of email (reference: Change of email). `confirm-one`: the other address must
 * still confirm. `refuse`: the agreement of the current address alone proves nothing about the new address.
 */
type EmailChangeVerdict = 'confirm-one' | 'apply' | 'refuse'

/** The addresses that must agree to a change of email. `either` is the rule if no address must be confirmed. */
type EmailChangeRule = 'both' | 'new' | 'either'

function emailChangeRule({
  compatibility,
  mail,
}: {
  readonly compatibility: Pick<CompatibilityOptions, 'applyEmailChangeUnderAutoconfirm'>
  readonly mail: Pick<AuthConfig['mail'], 'autoconfirm' | 'secureEmailChange'>
}): EmailChangeRule {
  if (mail.autoconfirm && compatibility.applyEmailChangeUnderAutoconfirm) return 'either'
  return mail.secureEmailChange ? 'both' : 'new'
}

/**
 * Returns the effect of a used message of a change. If an address agrees, its messages are deleted and it gets no more messages.
 * So the second used message is always the message to the other address.
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

/** Whether the current address must also agree: if the settings require it and the user has an email. */
export function needsBothAddresses(
  { email }: Pick<User, 'email'>,
  { secureEmailChange }: { readonly secureEmailChange: boolean },
): boolean {
  return secureEmailChange && email !== null
}
