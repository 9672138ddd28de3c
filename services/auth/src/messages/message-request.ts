import { defineTask, RETRY_FOR_A_DAY } from '@trestle/jobs/task.ts'
import type { PkceChallenge } from '../flows/pkce.ts'
import type { SmsChannel } from './gateway-protocol.ts'
import type { UserIdentifier } from '../users/user-repository.ts'

/**
 * What somebody wants sent. `confirmation` and the changes are what POST /resend sends once more: the message that is
 * pending for the identifier.
 */
export type MessagePurpose = 'magiclink' | 'recovery' | 'confirmation' | 'email_change' | 'phone_change'

/**
 * A message that somebody has asked for, before anybody has looked whether there is a user. The request is answered when
 * this is queued; who it is for, and so whether anything is sent, is the job's to find out. So the answer takes as long for
 * an address that nobody has (reference: Enumeration and timing).
 */
export interface MessageRequest {
  readonly purpose: MessagePurpose
  readonly identifier: UserIdentifier
  readonly audience: string
  /**
   * Metadata of the staged user that an unknown identifier becomes (reference: Staged users); undefined: it becomes
   * none.
   */
  readonly stage?: { readonly data: Readonly<Record<string, unknown>> } | undefined
  readonly pkce?: PkceChallenge | undefined
  readonly channel?: SmsChannel
  readonly redirectTo: string
  readonly linkBase: string
  /** Address for the audit trail. */
  readonly ip: string
  /** A UUID of our own, for the answer and the log. */
  readonly messageId: string
  /** RFC 3339. */
  readonly askedAt: string
}

/** Sealed: it names who asks, and carries a PKCE challenge. */
export const messageRequestTask = defineTask<MessageRequest>('message-request', {
  ...RETRY_FOR_A_DAY,
  timeoutSeconds: 30,
  sealed: true,
})

/**
 * How many messages a request counts as. Of a change of email two mails go out where both addresses confirm: whether they do
 * here, nobody has looked yet.
 */
export function countOf({ purpose }: Pick<MessageRequest, 'purpose'>, secureEmailChange: boolean): number {
  return purpose === 'email_change' && secureEmailChange ? 2 : 1
}

/** How the message of a request travels. */
export function mediumOf({ purpose, identifier }: Pick<MessageRequest, 'purpose' | 'identifier'>): 'email' | 'sms' {
  const isSms = purpose === 'phone_change' || (purpose === 'confirmation' && identifier.kind === 'phone')
  return isSms ? 'sms' : 'email'
}
