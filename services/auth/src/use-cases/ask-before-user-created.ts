import { randomUUID } from 'node:crypto'
import type { AuthDeps } from '../deps.ts'
import { createUnconfirmedUser, type UnconfirmedUser } from '../users/unconfirmed-user.ts'
import { isStaged } from '../users/user.ts'
import { findIdentifierHolder } from '../users/user-repository.ts'
import { toUserView } from '../users/user-view.ts'
import type { RequestContext } from './request-context.ts'

/**
 * Asks the hook BEFORE_USER_CREATED whether somebody may become a user, before anything is written. It is asked for taken
 * addresses too: who has an account must not show. @param ip of who asks @throws what the hook refuses with
 */
export async function askBeforeUserCreated(
  { hooks, now }: Pick<AuthDeps, 'hooks' | 'now'>,
  { user, identities }: UnconfirmedUser,
  ip: string,
): Promise<void> {
  if (!hooks.isOn('BEFORE_USER_CREATED')) return
  await hooks.call('BEFORE_USER_CREATED', {
    metadata: { uuid: randomUUID(), time: now().toISOString(), name: 'before-user-created', ip_address: ip },
    user: toUserView(user, identities, []),
  })
}

interface OwnUserCandidate {
  /** Normalised. */
  readonly email: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: Pick<RequestContext, 'audience' | 'ip'>
}

/** The same where an admin invites somebody, or has a link made: there it may show who is known. */
export async function askBeforeOwnUser(
  deps: Pick<AuthDeps, 'config' | 'db' | 'hooks' | 'now'>,
  { email, data, context }: OwnUserCandidate,
): Promise<void> {
  if (!deps.hooks.isOn('BEFORE_USER_CREATED')) return
  const identifier = { kind: 'email', value: email } as const
  const holder = await findIdentifierHolder(deps.db, identifier)
  if (holder && !isStaged(holder)) return
  const [userId, identityId] = [randomUUID(), randomUUID()]
  const fresh = { userId, identityId, aud: context.audience, role: deps.config.jwt.defaultRole, data, now: deps.now() }
  await askBeforeUserCreated(deps, createUnconfirmedUser({ ...fresh, identifier }), context.ip)
}
