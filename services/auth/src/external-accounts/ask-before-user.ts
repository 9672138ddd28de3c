import { randomUUID } from 'node:crypto'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { askBeforeUserCreated } from '../hooks/before-user-created.ts'
import type { Hooks } from '../hooks/hooks.ts'
import { type ExternalAccount, trustedEmails } from '../identities/external-account.ts'
import { findExternalIdentity, listOwnersOfEmails } from '../identities/external-identity-repository.ts'
import { toTimestamp } from '../records/timestamp.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { buildUnconfirmedUser } from '../users/unconfirmed-user.ts'

interface AskBeforeDeps {
  readonly config: Pick<AuthConfig, 'jwt' | 'mail'>
  readonly db: Db
  readonly hooks: Hooks
  readonly now: () => Date
}

/**
 * Asks the hook BEFORE_USER_CREATED whether an unknown external account may become a user, before any lock is taken.
 * @throws hookRejected, hookTimeout, hookTimeoutAfterRetry, hookAnswerTooLong, hookAnswerNoJson, hookFailed
 */
export async function askBeforeExternalUser(
  deps: AskBeforeDeps,
  account: ExternalAccount,
  context: Pick<RequestContext, 'audience' | 'ip'>,
): Promise<void> {
  if (!deps.hooks.isOn('BEFORE_USER_CREATED')) return
  const emails = trustedEmails(account, deps.config.mail.autoconfirm ? 'all' : 'verified')
  if (await findExternalIdentity(deps.db, account)) return
  if ((await listOwnersOfEmails(deps.db, emails)).length > 0) return
  const { provider, subject, data, email } = account
  const ids = { userId: randomUUID(), identityId: randomUUID() }
  const fresh = { ...ids, audience: context.audience, role: deps.config.jwt.defaultRole, data, now: deps.now() }
  const identifier = { kind: 'email', value: email?.email ?? '' } as const
  const { user } = buildUnconfirmedUser({ ...fresh, identifier })
  const at = toTimestamp(fresh.now)
  await askBeforeUserCreated(
    deps,
    {
      user: {
        ...user,
        email: email?.email ?? null,
        confirmationSentAt: null,
        appMetadata: { provider, providers: [provider] },
      },
      identities: [
        {
          id: fresh.identityId,
          userId: fresh.userId,
          provider,
          providerId: subject,
          data,
          email: email?.email ?? null,
          lastSignInAt: at,
          createdAt: at,
          updatedAt: at,
        },
      ],
    },
    context.ip,
  )
}
