import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { AuditDeps, RunWork } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { signInLinkImpossible } from '../errors.ts'
import { confirmationUrl, generatedLinkPath } from '../messages/mail-template.ts'
import { generateMailSecrets, type MailTokenDeps } from '../messages/mail-token.ts'
import { replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { Manager, User } from '../users/user.ts'
import { lockManagedUser } from '../users/user-repository.ts'

const LIFETIME_MS = 600_000

/** Generates a link that signs in as a user once, within ten minutes. It replaces a pending magic link or recovery. */
export async function generateSignInLink<Answer>(
  deps: MailTokenDeps & AuditDeps & { readonly config: AuthConfig; readonly db: Db },
  {
    admin,
    userId,
    context,
  }: {
    readonly admin: Manager
    readonly userId: string
    readonly context: Pick<RequestContext, 'linkBase' | 'redirectTo'>
  },
  runWork: RunWork<string, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, { userId, audience: undefined }, admin)
      const { secrets, link } = generateMailSecrets(
        deps,
        { email: requireConfirmedEmail(user), tokenKind: 'recovery' },
        'implicit',
      )
      const expiresAt = new Date(secrets.sentAt.getTime() + LIFETIME_MS)
      await replaceToken(trx, { ...secrets, expiresAt, userId, flowStateId: null })
      const { linkBase: base, redirectTo } = context
      const path = generatedLinkPath(deps.config, 'magiclink')
      return confirmationUrl({ base, path, token: link, type: 'magiclink', redirectTo })
    }),
  )
}

/** Requires a confirmed email. Otherwise the link would confirm an address that only the operator states. */
function requireConfirmedEmail({ email, emailConfirmedAt }: User): string {
  if (email === null || emailConfirmedAt === null) throw signInLinkImpossible()
  return email
}
