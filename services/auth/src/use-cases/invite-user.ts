import type { Transaction } from 'kysely'
import { adminTraits, recordAudit } from '../audit/audit-log.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { emailExists } from '../errors.ts'
import { askBeforeOwnUser } from '../hooks/before-user-created.ts'
import { issueMailToken } from '../messages/mail-token.ts'
import type { RequestContext } from '../request-context.ts'
import type { Admin } from '../sessions/admin.ts'
import { insertOwnUser } from '../sign-ups/insert-own-user.ts'
import { keepSignUpContent, replaceIdentityData } from '../sign-ups/sign-up-content-repository.ts'
import { mergeMetadata } from '../users/metadata.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'
import { isStaged, type User } from '../users/user.ts'
import { deleteStagedUser, updateUser } from '../users/user-change-repository.ts'
import { isUnclaimed, lockOwnerOfIdentifier } from '../users/user-repository.ts'

type InviteUserDeps = Pick<
  AuthDeps,
  'config' | 'db' | 'logger' | 'now' | 'randomBytes' | 'serverKeys' | 'rateLimits' | 'jobs' | 'hooks'
>

export interface Invitation {
  readonly admin: Admin
  /** Normalised. */
  readonly email: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

/**
 * Mails an invitation, also where sign-ups are disabled (reference: POST /invite). Invites an unconfirmed user again.
 * @throws emailExists for a confirmed user, overEmailRateLimit
 */
export async function inviteUser(deps: InviteUserDeps, invitation: Invitation): Promise<Profile> {
  await askBeforeOwnUser(deps, invitation)
  // No share of the limit for each client: an admin may be a server that sends all invitations.
  const allowance = await deps.rateLimits.email.take(undefined)
  try {
    return await deps.db.transaction().execute((trx) => storeInvitation(trx, deps, invitation))
  } catch (error) {
    await allowance.giveBack()
    throw error
  }
}

async function storeInvitation(
  trx: Transaction<AuthDatabase>,
  deps: Omit<InviteUserDeps, 'db' | 'rateLimits'>,
  invitation: Invitation,
): Promise<Profile> {
  const { admin, email, context } = invitation
  const user = await findOrMakeInvited(trx, deps, invitation)
  await mailInvitation(trx, deps, { user, email, context })
  const traits = adminTraits(user)
  await recordAudit(trx, deps, { action: 'user_invited', actor: admin.actor, target: user, ip: context.ip, traits })
  return getProfile(trx, user.id)
}

/** Queues the mail of an invitation, with new secrets. */
export async function mailInvitation(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'now' | 'randomBytes' | 'serverKeys' | 'jobs'>,
  message: Pick<Invitation, 'email' | 'context'> & { readonly user: User },
): Promise<void> {
  await issueMailToken(trx, deps, {
    ...message,
    tokenKind: 'confirmation',
    mailKind: 'INVITE',
    linkType: 'invite',
    linkPath: deps.config.mail.linkPaths.invite,
    flow: { method: 'invite', pkce: undefined },
  })
}

/** Finds the unconfirmed user of an invitation, or makes one. @throws emailExists */
export async function findOrMakeInvited(
  trx: Transaction<AuthDatabase>,
  deps: Pick<AuthDeps, 'config' | 'now' | 'jobs' | 'hooks'>,
  invitation: Pick<Invitation, 'email' | 'data' | 'context'>,
): Promise<User> {
  const { email, data, context } = invitation
  const identifier = { kind: 'email', value: email } as const
  const at = deps.now()
  const since = { invited_at: at, confirmation_sent_at: at, keep_unconfirmed: true }
  const holder = await lockOwnerOfIdentifier(trx, identifier, at)
  if (holder && !isStaged(holder)) {
    if (holder.emailConfirmedAt !== null || holder.audience !== context.audience) throw emailExists()
    // The admin invites without the metadata with which a stranger may have signed up.
    const isStrange = await keepSignUpContent(trx, holder, {
      kind: 'confirmation',
      audience: holder.audience,
      data,
      passwordHash: null,
    })
    if (isStrange) await replaceIdentityData(trx, holder, identifier, data)
    return updateUser(trx, holder.id, {
      ...since,
      // A stranger may have signed up with this address, so the password of that sign-up must not outlive the invitation.
      ...((await isUnclaimed(trx, holder)) ? { encrypted_password: null } : {}),
      raw_user_meta_data: mergeMetadata(isStrange ? {} : holder.userMetadata, data),
      updated_at: at,
    })
  }
  if (holder) await deleteStagedUser(trx, holder.id)
  const made = await insertOwnUser(trx, deps, {
    identifier,
    audience: context.audience,
    passwordHash: null,
    data,
    since,
  })
  return made ?? findOrMakeInvited(trx, deps, invitation)
}
