import { recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import { invitedEmailElsewhere, inviteNotFound } from '../external-errors.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import { findExternalIdentity, insertExternalIdentity } from '../identities/external-identity-repository.ts'
import { identitySince } from '../identities/identity.ts'
import { claimToken, findTokenByLink } from '../one-time-tokens/one-time-token-repository.ts'
import { ACCEPTED_KINDS } from '../one-time-tokens/verify-type.ts'
import { awaitsFirstSignIn } from '../users/take-over-account.ts'
import { requireNotBanned, type User } from '../users/user.ts'
import { lockUserById } from '../users/user-repository.ts'
import { confirmOwner } from './confirm-owner.ts'
import {
  adoptProfile,
  type FindOwnerDeps,
  refuseCustomProvider,
  requireSameIssuer,
  requireSameSubjects,
} from './find-owner.ts'
import { requireOwnIdentity } from './link.ts'
import type { ExternalOutcome } from './sign-in.ts'

/** An invitation, and the external account by which its user accepts it. */
export interface AcceptedInvitation {
  readonly account: ExternalAccount
  readonly inviteTokenHash: Buffer
  /** The client's address, for the audit log. */
  readonly ip: string
}

/**
 * Signs an invited user in by an external account, and consumes the invitation. Its token was in a mail, so
 * it confirms the user's email (reference: Invitations at a provider). Runs in a transaction of
 * `withUniqueAccount`.
 * @throws inviteNotFound, consoleUserProtected, invitedEmailElsewhere, userBanned, identityTaken, StaleView
 */
export async function acceptInvitation(
  trx: Trx,
  deps: FindOwnerDeps,
  { account, inviteTokenHash, ip }: AcceptedInvitation,
): Promise<ExternalOutcome> {
  const invited = await lockInvitedUser(trx, deps, inviteTokenHash)
  refuseCustomProvider(account, invited)
  const matching = account.emails.find(({ email }) => email === invited.email)
  if (!matching) throw invitedEmailElsewhere()
  await requireSameSubjects(trx, account)
  const known = await findExternalIdentity(trx, account)
  requireOwnIdentity(known, invited.id)
  if (known) requireSameIssuer(known, account)
  const identity = known ?? (await insertExternalIdentity(trx, invited.id, account, deps.now()))
  const credentialSince = identitySince(identity, invited)
  const owner = {
    credentialSince,
    decision: 'link',
    user: await adoptProfile(trx, deps, invited, account),
    identityId: identity.id,
    isFirstAddress: false,
  } as const
  // The token of the mail proves the email, whatever the provider says of it.
  const user = await confirmOwner(trx, deps, owner, { ...account, email: { ...matching, isVerified: true } })
  const traits = { provider: account.provider }
  await recordAudit(trx, deps, { action: 'invite_accepted', actor: user, ip, traits })
  return { verdict: 'signed-in', user, credentialSince }
}

async function lockInvitedUser(trx: Trx, { now }: Pick<FindOwnerDeps, 'now'>, linkHash: Buffer): Promise<User> {
  const token = await findTokenByLink(trx, linkHash, ACCEPTED_KINDS.invite)
  const user = token && (await lockUserById(trx, token.userId))
  const isValid = token && Date.parse(token.expiresAt) > now().getTime()
  if (!isValid || !user || user.invitedAt === null || user.deletedAt !== null) return refuseInvitation()
  // The identity would be a way into the account of an SSO user who has left the company.
  if (user.isSsoUser) return refuseInvitation()
  requireNotBanned(user, now())
  // An account that somebody signs in to gets no further way in by a mail alone.
  const isConsumed = (await awaitsFirstSignIn({ db: trx }, user)) && (await claimToken(trx, { id: token.id, linkHash }))
  if (!isConsumed) refuseInvitation()
  return user
}

/** Refuses an invitation that is unknown, too old or used. @throws inviteNotFound */
function refuseInvitation(): never {
  throw inviteNotFound()
}
