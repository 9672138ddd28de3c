import { randomUUID } from 'node:crypto'
import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { type FlowMethod, insertMailFlow } from '../flows/flow-repository.ts'
import type { FlowKind, PkceChallenge } from '../flows/pkce.ts'
import {
  generateCode,
  generateLinkToken,
  generateSalt,
  hashCode,
  hashLinkToken,
  type TokenKind,
} from '../one-time-tokens/one-time-token.ts'
import { type MessageSecrets, replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { RandomBytes, ServerKeys } from '../secrets/encrypted-secret.ts'
import type { User } from '../users/user.ts'
import { type MailJob, queueMail } from './mail-job.ts'
import { confirmationUrl, type MailKind } from './mail-template.ts'

/** A mail with a link and a code, before its secrets are created. */
export interface MailToken {
  readonly user: Pick<User, 'id' | 'userMetadata'>
  /** The normalised recipient. */
  readonly email: string
  readonly tokenKind: TokenKind
  readonly mailKind: MailKind
  /** The `type` in the link. */
  readonly linkType: string
  readonly linkPath: string
  readonly flow: { readonly method: FlowMethod; readonly pkce: PkceChallenge | undefined }
  readonly context: Pick<RequestContext, 'linkBase' | 'redirectTo'>
  /** The service's id of the message, if the client already knows it. */
  readonly messageId?: string
  /** The addresses of a change of email. The mail goes to one of them. */
  readonly change?: { readonly oldEmail: string; readonly newEmail: string }
  readonly onlyIfFree?: MailJob['onlyIfFree']
  /** Whether the secrets of the previous mail stay valid. */
  readonly isResent?: boolean
}

export interface MailTokenDeps {
  readonly config: Pick<AuthConfig, 'mail' | 'signup'>
  readonly now: () => Date
  readonly randomBytes: RandomBytes
  readonly serverKeys: ServerKeys
}

/** The mail, and its secrets as stored. */
export interface PreparedMailToken {
  readonly secrets: MessageSecrets
  readonly mail: MailJob
}

/** Creates a mail and its secrets without storing them. Only the mail contains the secrets, the row has their hashes. */
export function prepareMailToken(deps: MailTokenDeps, mail: MailToken): PreparedMailToken {
  const { secrets, link, code } = generateMailSecrets(deps, mail, mail.flow.pkce ? 'pkce' : 'implicit')
  return {
    secrets,
    mail: {
      messageId: mail.messageId ?? randomUUID(),
      kind: mail.mailKind,
      to: mail.email,
      userId: mail.user.id,
      expiresAt: secrets.expiresAt.toISOString(),
      linkBase: mail.context.linkBase,
      variables: toVariables(deps.config.signup.redirects.siteUrl, mail, { link, code }),
      ...(mail.onlyIfFree ? { onlyIfFree: true } : {}),
    },
  }
}

/**
 * Generates a link token and a code, for the mail and for storage. Neither can be computed from the other (reference: Codes and
 * link tokens).
 */
export function generateMailSecrets(
  { config, now, randomBytes, serverKeys }: MailTokenDeps,
  { email, tokenKind }: Pick<MailToken, 'email' | 'tokenKind'>,
  flow: FlowKind,
): { readonly secrets: MessageSecrets; readonly link: string; readonly code: string } {
  const sentAt = now()
  const expiresAt = new Date(sentAt.getTime() + config.mail.codeLifetimeSeconds * 1_000)
  const link = generateLinkToken(randomBytes, flow)
  const code = generateCode(randomBytes, config.mail.codeLength)
  const codeSalt = generateSalt(randomBytes)
  const codeHash = hashCode(serverKeys.hmac, codeSalt, email, code)
  const linkHash = hashLinkToken(link)
  return {
    secrets: { kind: tokenKind, identifier: email, linkHash, codeHash, codeSalt, sentAt, expiresAt },
    link,
    code,
  }
}

/**
 * Queues a mail in the transaction of its cause. Its secrets replace those of the previous mail of its kind, unless the mail is
 * resent.
 */
export async function issueMailToken(
  trx: Trx,
  deps: MailTokenDeps & { readonly jobs: Jobs },
  message: MailToken,
): Promise<void> {
  const { user, flow, isResent } = message
  const { secrets, mail } = prepareMailToken(deps, message)
  const flowStateId = flow.pkce ? await insertMailFlow(trx, user.id, flow.method, flow.pkce) : null
  await replaceToken(trx, { ...secrets, userId: user.id, flowStateId, isResent })
  await queueMail(trx, deps, mail)
}

function toVariables(siteUrl: string, mail: MailToken, secrets: { readonly link: string; readonly code: string }) {
  const { redirectTo, linkBase } = mail.context
  return {
    SiteURL: siteUrl,
    Email: mail.change?.oldEmail ?? mail.email,
    ConfirmationURL: confirmationUrl({
      base: linkBase,
      path: mail.linkPath,
      token: secrets.link,
      type: mail.linkType,
      redirectTo,
    }),
    Token: secrets.code,
    TokenHash: secrets.link,
    Data: mail.user.userMetadata,
    RedirectTo: redirectTo,
    ...(mail.change ? { NewEmail: mail.change.newEmail, SendingTo: mail.email } : {}),
  }
}
