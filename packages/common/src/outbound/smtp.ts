import { isIPv4 } from 'node:net'
import { z } from 'zod'

/** The status of "authentication required", by which a server refuses the client and not the recipient. */
const AUTHENTICATION_REQUIRED = 530

const RecipientRefusal = z.object({
  command: z.literal('RCPT TO'),
  responseCode: z
    .int()
    .gte(500)
    .lt(600)
    .refine((status) => status !== AUTHENTICATION_REQUIRED),
})

/** Whether nodemailer failed because the mail server refuses the recipient for good, so that no later attempt can succeed. */
export function isRefusedRecipient(error: unknown): boolean {
  return RecipientRefusal.safeParse(error).success
}

/**
 * The name by which a service greets mail servers (RFC 5321, section 4.1.4): the host of its own address, which many servers look
 * up. An IP address is written as a literal.
 */
export function greetingName(ownUrl: string): string {
  const host = new URL(ownUrl).hostname.replace(/\.$/, '')
  if (isIPv4(host)) return `[${host}]`
  return host.replace(/^\[/, '[IPv6:')
}
