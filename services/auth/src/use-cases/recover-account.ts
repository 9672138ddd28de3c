import { parsePkce } from '../flows/pkce.ts'
import { type MessageRequestDeps, requestMessage } from '../message-requests/request-message.ts'
import { requireMessagesEnabled } from '../messages/message-request.ts'
import { addressMissingAtRecover } from '../request-errors.ts'
import { requireEmail } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'

/** The members of a recovery request. Empty members count as absent. */
export interface RecoverFields {
  readonly email?: string | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** Requests a mail to set a new password. The answer does not reveal accounts (reference: POST /recover). */
export async function recoverAccount(
  deps: MessageRequestDeps,
  { fields, readContext }: { readonly fields: RecoverFields; readonly readContext: () => Promise<RequestContext> },
): Promise<void> {
  const { signup } = deps.config
  const { email } = fields
  if (!email) throw addressMissingAtRecover()
  requireMessagesEnabled(signup, 'email')
  const identifier = { kind: 'email', value: requireEmail(email) } as const
  const pkce = parsePkce(fields, signup.pkce)
  await requestMessage(deps, { purpose: 'recovery', identifier, pkce, context: await readContext() })
}
