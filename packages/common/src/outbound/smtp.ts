import { isIPv4 } from 'node:net'
import { z } from 'zod'

/** The status "authentication required". With this status a server refuses the client, not the recipient. */
const AUTHENTICATION_REQUIRED = 530

const RecipientRefusal = z.object({
  command: z.literal('RCPT TO'),
  responseCode: z
    .int()
    .gte(500)
    .lt(600)
    .refine((status) => status !== AUTHENTICATION_REQUIRED),
})

/** Whether the mail server refuses the recipient permanently, so that no later attempt can succeed. */
export function isRefusedRecipient(error: unknown): boolean {
  return RecipientRefusal.safeParse(error).success
}

/**
 * Returns the name that a service sends in its greeting to mail servers (RFC 5321, section 4.1.4). It is the host of the
 * service's own URL, because many servers look it up. An IP address is written as a literal.
 */
export function greetingName(ownUrl: string): string {
  const host = new URL(ownUrl).hostname.replace(/\.$/, '')
  if (isIPv4(host)) return `[${host}]`
  return host.replace(/^\[/, '[IPv6:')
}
