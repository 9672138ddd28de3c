import { parsePkce } from '../flows/pkce.ts'
import { type MagicLinkDeps, mailMagicLink } from '../message-requests/one-time-code.ts'
import { requireOneTimeCodesEnabled } from '../messages/message-request.ts'
import { magicLinkWithoutEmail } from '../request-errors.ts'
import { requireEmail } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { requireMetadata } from '../users/metadata.ts'

/** The members of a request for a magic link. Empty members count as absent. */
export interface MagicLinkFields {
  readonly email?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** Requests a mail for a sign-in, like `POST /otp` with an email (reference: POST /magiclink). */
export async function requestMagicLink(
  deps: MagicLinkDeps,
  { fields, readContext }: { readonly fields: MagicLinkFields; readonly readContext: () => Promise<RequestContext> },
): Promise<void> {
  const { email } = fields
  if (!email) throw magicLinkWithoutEmail()
  requireOneTimeCodesEnabled(deps.config.signup, 'email')
  const identifier = { kind: 'email', value: requireEmail(email) } as const
  const data = requireMetadata(deps.config, fields.data)
  const pkce = parsePkce(fields, deps.config.signup.pkce)
  await mailMagicLink(deps, { identifier, createUser: true, data, pkce, context: await readContext() })
}
