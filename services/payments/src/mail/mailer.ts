import type { Counter, Meter } from '@opentelemetry/api'
import type { Transporter } from 'nodemailer'

export interface Mail {
  /** One validated address. */
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The content of `text` as HTML, if the mail contains a link. */
  readonly html?: string
}

export interface Mailer {
  /** @throws Error if the server does not accept the mail */
  send(mail: Mail): Promise<void>
  /** @throws Error if the server does not answer */
  check(): Promise<void>
  close(): void
}

export interface MailerConfig {
  /** `smtp://user:password@host:port`, or `smtps://…` for TLS from the first byte. */
  readonly url: string
  readonly from: string
  /** Whether mails and the password are sent only over TLS. */
  readonly requireTls: boolean
  /** The host name in the SMTP greeting. A `name` in the query of the URL overrides it. */
  readonly greetingName: string
}

/** Counts mails by outcome: sent, dropped, failed (in this attempt), waiting (no mail server is set). */
export function countMails(meter: Meter): Counter {
  return meter.createCounter('payments_mail_total', { description: 'Mails by what became of them' })
}

/** The reason of a refused mail, without the server's text, because it may contain the address. */
export function smtpReason(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return {}
  return {
    reason: 'code' in error ? error.code : error.name,
    ...('responseCode' in error ? { smtp_status: error.responseCode } : {}),
  }
}

/** The reason for giving up a mail, as `payments doctor` shows it. */
export const RECIPIENT_REFUSED = 'the mail server refuses the recipient'

const CONNECT_MS = 10_000
const IDLE_MS = 20_000

/** Creates the sender of mails. It connects only for the first mail, so the service starts without a mail server. */
export function createMailer({ url, from, requireTls, greetingName }: MailerConfig): Mailer {
  let opened: Promise<Transporter> | undefined
  const open = () => {
    opened ??= openTransport(requireTls ? withTlsRequired(url) : url, greetingName)
    return opened
  }
  return {
    send: async ({ to, subject, text, html }) => {
      // Pass the address as an object. In a string, a comma would begin a second address.
      await (await open()).sendMail({ from, to: { name: '', address: to }, subject, text, html })
    },
    check: async () => {
      await (await open()).verify()
    },
    close: () => void opened?.then((transport) => transport.close()),
  }
}

/** Sets `requireTLS` in the URL, because the URL overrides options. Replaces `requireTLS=false` there too. */
function withTlsRequired(url: string): string {
  const address = new URL(url)
  address.searchParams.set('requireTLS', 'true')
  return address.href
}

/** Loads the library for the first mail, because the library is large and would delay the start. */
async function openTransport(url: string, name: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  const times = { connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: IDLE_MS }
  return createTransport({ url, name, ...times })
}
