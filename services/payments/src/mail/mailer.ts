import type { Counter, Meter } from '@opentelemetry/api'
import type { Transporter } from 'nodemailer'

/** A mail of plain text. */
export interface Mail {
  /** One validated address. */
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends mails by SMTP. */
export interface Mailer {
  /** @throws when the server does not take it */
  send(mail: Mail): Promise<void>
  /** Throws unless the server answers. */
  check(): Promise<void>
  close(): void
}

export interface MailerConfig {
  /** `smtp://user:password@host:port`, or `smtps://…` for TLS from the first byte. */
  readonly url: string
  readonly from: string
  /** Whether a server that offers no TLS gets no mail, and no password. */
  readonly requireTls: boolean
}

/** Mails by what became of them: sent, dropped, failed (for this time), waiting (without a server). */
export function countMails(meter: Meter): Counter {
  return meter.createCounter('payments_mail_total', { description: 'Mails by what became of them' })
}

/** Why the server did not take a mail, without its own words, which may name the address. */
export function smtpReason(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return {}
  return {
    reason: 'code' in error ? error.code : error.name,
    ...('responseCode' in error ? { smtp_status: error.responseCode } : {}),
  }
}

const CONNECT_MS = 10_000
const IDLE_MS = 20_000

export function createMailer({ url, from, requireTls }: MailerConfig): Mailer {
  let opened: Promise<Transporter> | undefined
  const open = () => {
    opened ??= openTransport(requireTls ? withTlsRequired(url) : url)
    return opened
  }
  return {
    send: async ({ to, subject, text }) => {
      // An object: within a text, a comma would begin a second address.
      await (await open()).sendMail({ from, to: { name: '', address: to }, subject, text })
    },
    check: async () => {
      await (await open()).verify()
    },
    close: () => void opened?.then((transport) => transport.close()),
  }
}

/** In the URL itself: what the URL says holds before any option, `requireTLS=false` too. */
function withTlsRequired(url: string): string {
  const address = new URL(url)
  address.searchParams.set('requireTLS', 'true')
  return address.href
}

/** With the first mail: the library is large, and no start waits for it. */
async function openTransport(url: string): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({ url, connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: IDLE_MS })
}
