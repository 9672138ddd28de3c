import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import { deleteUnverifiedIdentities } from '../identities/external-identity-repository.ts'
import { updateIdentityData } from '../identities/identity-repository.ts'
import type { TokenKind } from '../one-time-tokens/one-time-token.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import { type AddressMetadataConfig, confirmedMetadata, signUpMetadata } from '../users/address-metadata.ts'
import { setOwnIdentity } from '../users/own-identity.ts'
import { isStaged, type User } from '../users/user.ts'
import { clearedTimes, type PasswordRules, updateUser } from '../users/user-change-repository.ts'
import { isUnclaimed } from '../users/user-repository.ts'
import { claimSignUpContent, replaceIdentityData, type SignUpContent } from './sign-up-content-repository.ts'

/** The use of a message that went to the user's own email or phone. */
export interface AddressConfirmation {
  /** The kind of the message. */
  readonly tokenKind: TokenKind
  /** Replaces the stored hash; undefined keeps it. */
  readonly passwordHash: string | undefined
  /** The client's address, for the audit log. */
  readonly ip: string
}

/**
 * Confirms an address of a user and records it in the audit log. The user is neither staged nor anonymous after that. The first
 * message that confirms an account brings the metadata, the password and the audience of its own request
 * (reference: Duplicate sign-ups).
 * @param user locked, as they were before
 */
export async function confirmAddress(
  trx: Trx,
  deps: AuditDeps & { readonly config: AddressMetadataConfig & PasswordRules },
  user: User,
  { tokenKind, passwordHash, ip }: AddressConfirmation,
): Promise<void> {
  const at = deps.now()
  const kind = tokenKind === 'sms' ? 'phone' : 'email'
  const content = await takeContent(trx, user, tokenKind)
  const mayHoldStrangers = content !== undefined || (user.invitedAt !== null && (await isUnclaimed(trx, user)))
  const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
  const isAccepted = confirmedAt === null && user.invitedAt !== null && user.passwordHash === null
  await updateUser(trx, user.id, {
    updated_at: at,
    is_anonymous: false,
    ...(confirmedAt === null ? { [`${kind}_confirmed_at`]: at } : {}),
    ...(isStaged(user) ? { staged_at: null, created_at: at } : {}),
    ...(isAccepted ? clearedTimes(deps.config) : {}),
    ...(confirmedAt === null ? { raw_user_meta_data: metadataOf(deps.config, user, kind, content) } : {}),
    ...(content && {
      aud: content.audience,
      encrypted_password: content.passwordHash,
    }),
    ...(passwordHash === undefined ? {} : { encrypted_password: passwordHash }),
  })
  const value = user[kind]
  // An import may have brought accounts of a stranger at providers, and no identity of the address.
  if (mayHoldStrangers && value !== null && (await deleteUnverifiedIdentities(trx, user.id))) {
    await setOwnIdentity(trx, user, { identifier: { kind, value }, isVerified: true, at })
  }
  if (content && value !== null) await replaceIdentityData(trx, user, { kind, value }, content.data)
  await updateIdentityData(trx, { userId: user.id, provider: kind }, { [`${kind}_verified`]: true }, at)
  const firstAction = user.invitedAt === null ? 'user_signedup' : 'invite_accepted'
  const action = confirmedAt === null ? firstAction : 'login'
  await recordAudit(trx, deps, { action, actor: user, ip, traits: { provider: kind } })
}

/** The metadata of a user who confirms an address for the first time. */
function metadataOf(
  config: AddressMetadataConfig,
  user: User,
  kind: IdentifierKind,
  content: SignUpContent | undefined,
): Record<string, unknown> {
  const data = content?.data ?? user.userMetadata
  const address = { kind, value: user[kind] ?? '', userId: user.id, isVerified: true }
  const isSignUp = content !== undefined || isStaged(user)
  return confirmedMetadata(config, isSignUp ? signUpMetadata(config, data, address) : data, kind)
}

/** Takes the content of the sign-up whose message is the first to confirm the account. */
async function takeContent(trx: Trx, user: User, tokenKind: TokenKind): Promise<SignUpContent | undefined> {
  if (user.confirmedAt !== null || isStaged(user)) return undefined
  const content = await claimSignUpContent(trx, user.id, tokenKind)
  // An invited user keeps what the admin wrote: a stranger who signed up before the invitation may have sent the content.
  return user.invitedAt === null ? content : undefined
}
