import type { AuthConfig } from '../config.ts'
import { parsePkce } from '../flows/pkce.ts'
import { type MessageRequestDeps, requestMessage } from '../message-requests/request-message.ts'
import { type MessagePurpose, messageMedium, requireMessagesEnabled } from '../messages/message-request.ts'
import {
  addressMissingAtResend,
  resendEmailMissing,
  resendPhoneMissing,
  resendTypeUnsupported,
  twoAddressesAtResend,
} from '../request-errors.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { requireIdentifier } from '../users/require-phone.ts'

/** The purpose of the message for each type of request (reference: POST /resend). */
const PURPOSES_BY_TYPE = {
  signup: 'confirmation',
  email_change: 'email_change',
  sms: 'confirmation',
  phone_change: 'phone_change',
} as const satisfies Record<string, MessagePurpose>

/** The types of messages that can be sent again, as clients name them. */
export const RESEND_TYPES = Object.keys(PURPOSES_BY_TYPE)

/** The members of a request to send a message again. Empty members count as absent. */
export interface ResendFields {
  readonly type?: string | undefined
  readonly email?: string | undefined
  readonly phone?: string | undefined
  readonly code_challenge?: string | undefined
  readonly code_challenge_method?: string | undefined
}

/** How the message is sent, and this service's id of it. */
export interface ResentMessage {
  readonly medium: 'email' | 'sms'
  readonly messageId: string
}

/** Sends the message of a pending confirmation again (reference: POST /resend). Does not reveal whether one is pending. */
export async function resendMessage(
  deps: MessageRequestDeps,
  { fields, readContext }: { readonly fields: ResendFields; readonly readContext: () => Promise<RequestContext> },
): Promise<ResentMessage> {
  const { signup } = deps.config
  const purpose = requirePurpose(fields, signup)
  const identifier = await requireIdentifier(deps, fields)
  const pkce = parsePkce(fields, signup.pkce)
  const messageId = await requestMessage(deps, { purpose, identifier, pkce, context: await readContext() })
  return { medium: messageMedium({ purpose, identifier }), messageId }
}

/** Checks the members (reference: POST /resend). The order decides which error a client gets. */
function requirePurpose({ type, email, phone }: ResendFields, signup: AuthConfig['signup']): MessagePurpose {
  if (!isResendType(type)) throw resendTypeUnsupported({ types: RESEND_TYPES })
  if (type === 'signup' && !email) throw resendEmailMissing()
  if (type === 'sms' && !phone) throw resendPhoneMissing()
  if (email && phone) throw twoAddressesAtResend()
  if (!email && !phone) throw addressMissingAtResend()
  requireMessagesEnabled(signup, email ? 'email' : 'phone')
  return PURPOSES_BY_TYPE[type]
}

function isResendType(type: string | undefined): type is keyof typeof PURPOSES_BY_TYPE {
  return type !== undefined && Object.hasOwn(PURPOSES_BY_TYPE, type)
}
