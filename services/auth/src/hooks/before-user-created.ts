import { randomUUID } from 'node:crypto'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import type { UserIdentifier } from '../requests/identifier.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { buildUnconfirmedUser, type UnconfirmedUser } from '../users/unconfirmed-user.ts'
import { isStaged } from '../users/user.ts'
import { findIdentifierOwner } from '../users/user-repository.ts'
import { viewUser } from '../users/user-view.ts'
import type { Hooks } from './hooks.ts'

interface AskDeps {
  readonly hooks: Hooks
  readonly now: () => Date
}

/**
 * Asks the hook BEFORE_USER_CREATED whether somebody may become a user, before anything is written. The hook is also asked for
 * addresses that are taken, because the answer must not reveal that there is an account.
 * @param ip the client's address
 * @throws hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function askBeforeUserCreated(
  { hooks, now }: AskDeps,
  { user, identities }: UnconfirmedUser,
  ip: string,
): Promise<void> {
  if (!hooks.isOn('BEFORE_USER_CREATED')) return
  await hooks.call('BEFORE_USER_CREATED', {
    metadata: { uuid: randomUUID(), time: now().toISOString(), name: 'before-user-created', ip_address: ip },
    user: viewUser({ user, identities, factors: [] }),
  })
}

interface OwnUserCandidate {
  readonly identifier: UserIdentifier
  readonly data: Readonly<Record<string, unknown>>
  readonly context: Pick<RequestContext, 'audience' | 'ip'>
}

export interface AskOwnDeps extends AskDeps {
  readonly config: Pick<AuthConfig, 'jwt'>
  readonly db: Db
}

/**
 * Asks the hook about the user of an invitation, of an admin's link or of a code by SMS. Addresses with an account are not asked
 * about: an admin may learn who has an account. So may a client that asks for a code by SMS, if the user is made at once.
 * @throws hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function askBeforeOwnUser(
  deps: AskOwnDeps,
  { identifier, data, context }: OwnUserCandidate,
): Promise<void> {
  if (!deps.hooks.isOn('BEFORE_USER_CREATED')) return
  const owner = await findIdentifierOwner(deps.db, identifier)
  if (owner && !isStaged(owner)) return
  const [userId, identityId] = [randomUUID(), randomUUID()]
  const fresh = {
    userId,
    identityId,
    audience: context.audience,
    role: deps.config.jwt.defaultRole,
    data,
    now: deps.now(),
  }
  await askBeforeUserCreated(deps, buildUnconfirmedUser({ ...fresh, identifier }), context.ip)
}
