import type { Transaction } from 'kysely'
import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { userBanned, validationFailed } from '../errors.ts'
import { identityTaken, inviteNotFound } from '../external-errors.ts'
import type { ExternalAccount } from '../identities/external-account.ts'
import { findExternalIdentity, insertExternalIdentity } from '../identities/external-identity-repository.ts'
import { identitySince } from '../identities/identity.ts'
import { consumeToken, findTokenByLink } from '../one-time-tokens/one-time-token-repository.ts'
import { isBanned, type User } from '../users/user.ts'
import { lockUserById } from '../users/user-repository.ts'
import { learn } from './find-external-owner.ts'
import { confirmOwner, type ExternalOutcome } from './sign-in-externally.ts'
import { awaitsFirstSignIn } from './take-over-account.ts'

export interface AcceptedInvitation {
  readonly account: ExternalAccount
  readonly inviteTokenHash: Buffer
  /** For the audit trail. */
  readonly ip: string
}

/**
 * Signs an invited user in by an external account, and uses the invitation up: its token, which was in a mail to them,
 * confirms their address (reference: Invitations at a provider). The transaction is one of `settleRaces`.
 * @throws inviteNotFound, validationFailed, userBanned, identityTaken
 */
export async function acceptInvitation(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { account, inviteTokenHash, ip }: AcceptedInvitation,
): Promise<ExternalOutcome> {
  const invited = await lockInvited(trx, deps, inviteTokenHash)
  const matching = account.emails.find(({ email }) => email === invited.email)
  if (!matching) throw validationFailed({ message: 'Invited email does not match emails from external provider' })
  const known = await findExternalIdentity(trx, account)
  if (known && known.userId !== invited.id) throw identityTaken()
  const identity = known ?? (await insertExternalIdentity(trx, invited.id, account, deps.now()))
  const credentialSince = identitySince(identity, invited)
  const owner = {
    credentialSince,
    decision: 'link',
    user: await learn(trx, deps, invited, account),
    identityId: identity.id,
    isFirstAddress: false,
  } as const
  const user = await confirmOwner(trx, deps, owner, { ...account, email: matching })
  const traits = { provider: account.provider }
  await recordAudit(trx, deps, { action: 'invite_accepted', actor: user, ip, traits })
  return { verdict: 'signed-in', user, credentialSince }
}

async function lockInvited(trx: Transaction<AuthDatabase>, { now }: AuthDeps, linkHash: Buffer): Promise<User> {
  const token = await findTokenByLink(trx, linkHash, ['confirmation'])
  const user = token && (await lockUserById(trx, token.userId))
  if (!token || !user || user.invitedAt === null || user.deletedAt !== null) throw inviteNotFound()
  if (Date.parse(token.expiresAt) <= now().getTime()) throw inviteNotFound()
  if (isBanned(user, now())) throw userBanned()
  // An account that somebody signs in to gets no further way in by a mail alone.
  if (!(await awaitsFirstSignIn({ db: trx }, user))) throw inviteNotFound()
  if (!(await consumeToken(trx, token, { linkHash }))) throw inviteNotFound()
  return user
}
