import type { Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import type { Transporter } from 'nodemailer'
import type { MailConfig, SmtpConfig } from '../config/mail.ts'
import type { AuthDeps } from '../deps.ts'
import { MAIL_KINDS, type MailKind } from './default-templates.ts'
import { htmlToText } from './html-to-text.ts'
import { renderHtml, renderSubject, type Template, type TemplateVariables } from './mail-template.ts'
import type { TemplateLoader } from './template-loader.ts'

/** A mail that is to be rendered and sent. */
export interface Mail {
  readonly kind: MailKind
  readonly to: string
  /** A UUID of our own: what answers and the log name the mail by. Part of its Message-ID, so that a copy shows as one. */
  readonly messageId: string
  readonly variables: TemplateVariables
}

/** Sends mails by SMTP. */
export interface Mailer {
  /** @returns false where no server is set: the mail is dropped. @throws when the server does not take it */
  send(mail: Mail, now: Date): Promise<boolean>
  /** Throws unless the server answers; undefined where none is set. */
  check(): Promise<void>
  close(): void
}

interface MailerOptions {
  readonly config: MailConfig
  readonly templates: TemplateLoader
  readonly logger: AuthDeps['logger']
  readonly meter: Meter
}

const CONNECT_MS = 10_000
/** In each step of the conversation. A server that looks through a mail takes its time before it accepts it. */
const IDLE_MS = 60_000

export function createMailer({ config, templates, logger, meter }: MailerOptions): Mailer {
  const { smtp } = config
  const kinds = MAIL_KINDS.map((type) => ({ type }))
  const sent = startAtZero(
    meter.createCounter('auth_email_send_operations_total', { description: 'Mails handed to the server' }),
    kinds,
  )
  const failed = startAtZero(
    meter.createCounter('auth_email_send_errors_total', { description: 'Mails that it did not take' }),
    kinds,
  )
  let opened: Promise<Transporter> | undefined
  return {
    send: async (mail, now) => {
      if (!smtp) {
        logger.warn({ kind: mail.kind }, 'mail dropped: no SMTP server is set')
        return false
      }
      const message = await toMessage(mail, smtp, config.subject(mail.kind), await templates.body(mail.kind, now))
      try {
        sent.add(1, { type: mail.kind })
        opened ??= openTransport(smtp)
        await (await opened).sendMail(message)
        return true
      } catch (error) {
        failed.add(1, { type: mail.kind })
        throw withoutWords(error)
      }
    },
    check: async () => {
      if (!smtp) return
      opened ??= openTransport(smtp)
      await (await opened).verify()
    },
    close: () => void opened?.then((transport) => transport.close()),
  }
}

/** What went wrong, as the log and the queue may keep it: the server's own words can name the address. */
function withoutWords(error: unknown): Error {
  const known = error instanceof Error ? ['code', 'responseCode'].map((key): unknown => Reflect.get(error, key)) : []
  return new Error(['SMTP', ...known.filter((part) => part !== undefined)].join(' '))
}

/** With the first mail: the library is large, and no start waits for it. */
async function openTransport(smtp: SmtpConfig): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    host: smtp.host,
    port: smtp.port,
    // Port 465 speaks TLS from the first byte; elsewhere STARTTLS is used when the server offers it, or in any case.
    secure: smtp.port === 465,
    requireTLS: smtp.requireTls,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: IDLE_MS,
    ...(smtp.user === undefined ? {} : { auth: { user: smtp.user, pass: smtp.password ?? '' } }),
  })
}

function toMessage({ kind, to, messageId, variables }: Mail, smtp: SmtpConfig, subject: Template, body: Template) {
  const html = renderHtml(body, variables)
  return {
    from: smtp.from,
    to: { name: '', address: to },
    messageId: `<${messageId}@${smtp.from.address.split('@').at(-1)}>`,
    subject: renderSubject(subject, variables),
    html,
    text: htmlToText(html),
    headers: toHeaders(smtp.headers, kind),
  }
}

function toHeaders(headers: SmtpConfig['headers'], kind: MailKind) {
  return Object.entries(headers).flatMap(([key, values]) =>
    values.map((value) => ({ key, value: value.replaceAll('$messageType', kind.toLowerCase()) })),
  )
}
