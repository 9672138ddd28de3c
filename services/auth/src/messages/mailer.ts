import type { Meter } from '@opentelemetry/api'
import type { Outbound } from '@trestle/common/outbound/outbound.ts'
import { isRefusedRecipient } from '@trestle/common/outbound/smtp.ts'
import type { ServiceLogger } from '@trestle/common/telemetry/logger.ts'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import { compile, type DomNode, type FormatCallback } from 'html-to-text'
import type { Transporter } from 'nodemailer'
import type { MailConfig, SmtpConfig } from '../config/mail.ts'
import {
  DEFAULT_TEXTS,
  MAIL_KINDS,
  type MailKind,
  parseTemplate,
  renderHtml,
  renderSubject,
  type Template,
  type TemplateVariables,
} from './mail-template.ts'

export interface Mail {
  readonly kind: MailKind
  readonly to: string
  /** The service's UUID, for responses, the log and the Message-ID, by which mail programs recognise a duplicate. */
  readonly messageId: string
  readonly variables: TemplateVariables
}

/** Sends mails by SMTP, with a separate connection for each mail. */
export interface Mailer {
  /**
   * @returns `false` if no server is set and the mail is dropped
   * @throws DeadLetterJob if the server refuses the recipient permanently, Error if it does not accept the mail now
   */
  send(mail: Mail, now: Date): Promise<boolean>
  /** Does nothing if no server is set. @throws Error unless the server responds */
  check(): Promise<void>
  close(): void
}

interface MailerOptions {
  readonly config: MailConfig
  readonly templates: TemplateLoader
  readonly logger: ServiceLogger['logger']
  readonly meter: Meter
}

const CONNECT_MS = 10_000
/** The limit of each SMTP step. A server may scan a mail for long before it accepts the mail. */
const IDLE_MS = 60_000

/** Creates the mailer of a process. It loads its library with the first mail, and counts sent and refused mails. */
export function createMailer({ config, templates, logger, meter }: MailerOptions): Mailer {
  const { smtp } = config
  const kinds = MAIL_KINDS.map((type) => ({ type }))
  const sent = startAtZero(
    meter.createCounter('auth_email_send_operations_total', { description: 'Mails handed to the server' }),
    kinds,
  )
  const failed = startAtZero(
    meter.createCounter('auth_email_send_errors_total', { description: 'Mails that the server did not accept' }),
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
        throw withoutServerText(error)
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

/**
 * Returns the error for the log and the queue with only its codes, because the server's text may contain the address. A
 * permanently refused recipient ends the message.
 */
function withoutServerText(error: unknown): Error {
  const known = error instanceof Error ? ['code', 'responseCode'].map((key): unknown => Reflect.get(error, key)) : []
  const codes = ['SMTP', ...known.filter((part) => part !== undefined)].join(' ')
  return isRefusedRecipient(error)
    ? new DeadLetterJob(`the mail server refuses the recipient: ${codes}`)
    : new Error(codes)
}

/** Loads the library with the first mail, because it is large and would delay every start. */
async function openTransport(smtp: SmtpConfig): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    host: smtp.host,
    port: smtp.port,
    // Port 465 uses TLS from the first byte. Other ports use STARTTLS if offered, or always with requireTLS.
    secure: smtp.port === 465,
    name: smtp.greetingName,
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

/**
 * Writes the address of a link on its own line below the text, so that mail programs make it a link again. A picture link becomes
 * its alternative text and its address.
 */
const formatLink: FormatCallback = (element, walk, builder) => {
  let words = ''
  const address = element.attribs?.href ?? ''
  if (address !== '' && isBlank(element)) {
    const texts = pictureTexts(element).filter((text) => text !== address)
    builder.addInline(texts.length === 0 ? address : `${texts.join(' ')}: ${address}`)
    builder.addLineBreak()
    return
  }
  builder.pushWordTransform((word) => {
    words += word
    return word
  })
  walk(element.children, builder)
  builder.popWordTransform()
  if (address === '' || words === address) return
  builder.addLiteral(':')
  builder.addLineBreak()
  builder.addLiteral(address)
  builder.addLineBreak()
}

/** Writes the alternative text of a picture in a link. Omits all other pictures. */
const formatPicture: FormatCallback = (element, _walk, builder) => {
  if (isInLink(element)) builder.addInline(element.attribs?.alt ?? '')
}

function isInLink({ parent }: DomNode): boolean {
  return parent ? parent.name === 'a' || isInLink(parent) : false
}

/** Whether a node has no text of its own. It may have pictures. */
function isBlank({ type, data, children = [] }: DomNode): boolean {
  return type === 'comment' || ((data ?? '').trim() === '' && children.every(isBlank))
}

function pictureTexts({ name, attribs, children = [] }: DomNode): readonly string[] {
  const alt = name === 'img' ? (attribs?.alt?.trim() ?? '') : ''
  return [...(alt === '' ? [] : [alt]), ...children.flatMap(pictureTexts)]
}

/**
 * The maximum length of converted HTML, in characters. The parser's work grows with the square of the number of unclosed
 * elements. This limit keeps it below 0.3 s.
 */
const INPUT_LENGTH_MAX = 100_000

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 100, maxChildNodes: 10_000, ellipsis: '…' },
  formatters: { formatLink, formatPicture },
  selectors: [
    { selector: 'a', format: 'formatLink' },
    { selector: 'img', format: 'formatPicture' },
    { selector: 'title', format: 'skip' },
    { selector: 'td', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    { selector: 'p', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
  ],
})

/** The plain-text part of a mail. Converts only the beginning of an unusually long text. */
export function htmlToText(html: string): string {
  return convert(html.slice(0, INPUT_LENGTH_MAX)).trim()
}

/** Finds the body of a kind of mail. */
interface TemplateLoader {
  /** Returns the operator's template, its last copy, or the built-in template. Never fails. */
  body(kind: MailKind, now: Date): Promise<Template>
}

interface Copy {
  readonly template: Template
  /** The time of the next fetch. */
  readonly dueAt: number
}

const TIMEOUT_MS = 10_000

/** Caches fetched templates in memory (reference: Mail templates). A template that cannot be parsed is a failed fetch. */
export function createTemplateLoader(
  config: MailConfig,
  outbound: Outbound,
  logger: { warn(line: object, text: string): void },
): TemplateLoader {
  const copies = new Map<MailKind, Copy>()
  const fetches = new Map<MailKind, Promise<Template>>()
  const refresh = async (kind: MailKind, url: string, now: Date): Promise<Template> => {
    const { ageMsMax, retryMs } = config.templates
    const cacheCopy = (template: Template, forMs: number): Template => {
      copies.set(kind, { template, dueAt: now.getTime() + forMs })
      return template
    }
    try {
      return cacheCopy(await fetchTemplate(config, outbound, url), ageMsMax)
    } catch (error) {
      logger.warn(
        { err: error, kind, url: withoutSecrets(url) },
        'mail template not usable; an older copy or the built-in one takes its place',
      )
      return cacheCopy(copies.get(kind)?.template ?? builtIn(kind), retryMs)
    }
  }
  return {
    body: async (kind, now) => {
      const url = config.templateUrl(kind)
      if (url === undefined) return builtIn(kind)
      const known = copies.get(kind)
      if (known && now.getTime() < known.dueAt) return known.template
      // Concurrent mails share one fetch.
      const fetched = fetches.get(kind) ?? refresh(kind, url, now).finally(() => fetches.delete(kind))
      fetches.set(kind, fetched)
      return fetched
    },
  }
}

/**
 * Fetches all templates of the settings.
 * @returns the number of usable ones, and for each other one its kind, its URL and the reason, with the position of a mistake
 */
export async function checkTemplates(
  config: MailConfig,
  outbound: Outbound,
): Promise<{ readonly count: number; readonly problems: readonly string[] }> {
  const named = MAIL_KINDS.map((kind) => ({ kind, url: config.templateUrl(kind) }))
  const problems: string[] = []
  let count = 0
  for (const { kind, url } of named) {
    if (url === undefined) continue
    try {
      await fetchTemplate(config, outbound, url)
      count += 1
    } catch (error) {
      problems.push(`${kind} (${withoutSecrets(url)}): ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { count, problems }
}

async function fetchTemplate({ templates }: MailConfig, outbound: Outbound, url: string): Promise<Template> {
  const { status, body } = await outbound.send({
    method: 'GET',
    url,
    timeoutMs: TIMEOUT_MS,
    bytesMax: templates.bytesMax,
    origin: 'operator',
  })
  if (status !== 200) throw new Error(`${new URL(url).host} answered ${status}`)
  return parseTemplate(body)
}

/** A URL without user and query, which may contain a password and a signature. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function builtIn(kind: MailKind): Template {
  return parseTemplate(DEFAULT_TEXTS[kind].body)
}
