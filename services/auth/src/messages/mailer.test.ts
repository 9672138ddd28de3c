import { createNoopMeter } from '@opentelemetry/api'
import { createOutbound } from '@trestle/common/outbound/outbound.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { DeadLetterJob } from '@trestle/jobs/task.ts'
import { startMailSink } from '@trestle/testing/mail-sink.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { loadAuthConfig } from '../config.ts'
import { DEFAULT_TEXTS, parseTemplate } from './mail-template.ts'
import { createMailer, createTemplateLoader, htmlToText } from './mailer.ts'

const sink = await startMailSink()
let template: { status: number; body: string } | undefined
const templates = await startStubProvider(() => template)
const { logger } = createLogger({ level: 'panic', stdout: false })
const now = new Date('2026-01-02T03:04:05.678Z')
const later = (ms: number) => new Date(now.getTime() + ms)

afterAll(async () => {
  await sink.close()
  await templates.close()
})

function open(settings: Record<string, string> = {}) {
  const config = loadAuthConfig({
    AUTH_SITE_URL: templates.url,
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DATABASE_URL: 'postgres://localhost/x',
    AUTH_JWT_SECRET: 'a secret of at least 32 bytes, for tests',
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_SMTP_HOST: '127.0.0.1',
    AUTH_SMTP_PORT: String(sink.port),
    AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com',
    ...settings,
  })
  const loader = createTemplateLoader(config.mail, createOutbound([]), logger)
  return { loader, mailer: createMailer({ config: config.mail, templates: loader, logger, meter: createNoopMeter() }) }
}

const mail = {
  kind: 'REAUTHENTICATION',
  to: 'ada@example.com',
  messageId: '0b9aa0f6-6b0c-4d0e-a6a3-8e6c2a2f9b11',
  variables: { Token: '123456', Data: { name: '<Ada>\r\nBcc: x@example.com' } },
} as const

describe('send', () => {
  it('sends both parts, the subject of the setting and its own headers', async () => {
    const { mailer } = open({
      AUTH_SMTP_SENDER_NAME: 'Trestle, "Auth"',
      AUTH_MAILER_SUBJECTS_REAUTHENTICATION: '{{ .Token }} for {{ .Data.name }}',
      AUTH_SMTP_HEADERS: '{"X-Kind":["$messageType","b"]}',
    })
    expect(await mailer.send(mail, now)).toBe(true)
    const sent = await sink.take()
    expect(sent.from).toEqual({ address: 'auth@example.com', name: 'Trestle, "Auth"' })
    expect(sent.to).toEqual([{ address: 'ada@example.com', name: '' }])
    expect(sent.bcc).toBeUndefined()
    expect(sent.messageId).toBe('<0b9aa0f6-6b0c-4d0e-a6a3-8e6c2a2f9b11@example.com>')
    expect(sent.subject).toBe('123456 for <Ada> Bcc: x@example.com')
    expect(sent.html).toContain('<strong>123456</strong>')
    expect(sent.text?.trim()).toBe('Confirm that it is you\n\nEnter this code: 123456')
    expect(sent.headers.filter(({ key }) => key === 'x-kind').map(({ value }) => value)).toEqual([
      'reauthentication',
      'b',
    ])
  })

  it('throws the refusal of the server, so that the job is tried again', async () => {
    const { mailer } = open()
    sink.refuse = true
    await expect(mailer.send(mail, now)).rejects.toThrow(/^SMTP EMESSAGE 451$/)
    sink.refuse = false
  })

  it('ends a mail whose recipient the server refuses for good, and no other', async () => {
    const { mailer } = open()
    sink.recipientAnswer = '550 5.1.1 ada@example.com is unknown'
    const error = await mailer.send(mail, now).catch((caught: unknown) => caught)
    sink.recipientAnswer = '450 4.2.1 ada@example.com is busy'
    await expect(mailer.send(mail, now)).rejects.toThrow(/^SMTP EENVELOPE 450$/)
    sink.recipientAnswer = undefined
    expect(error).toEqual(new DeadLetterJob('the mail server refuses the recipient: SMTP EENVELOPE 550'))
  })

  it('greets the server by the host of AUTH_API_EXTERNAL_URL', async () => {
    const { mailer } = open({ AUTH_API_EXTERNAL_URL: 'https://auth.example.com:8443/v1' })
    await mailer.send(mail, now)
    await sink.take()
    expect(sink.greetings.at(-1)).toBe('auth.example.com')
  })

  // ASVS 12.3.1
  it('sends no mail to a server without TLS when TLS is required', async () => {
    const { mailer } = open({ AUTH_SMTP_REQUIRE_TLS: 'true', AUTH_SMTP_USER: 'ada', AUTH_SMTP_PASS: 's3cret' })
    const before = sink.mails.length
    await expect(mailer.send(mail, now)).rejects.toThrow(/^SMTP ETLS/)
    await expect(mailer.check()).rejects.toHaveProperty('code', 'ETLS')
    expect(sink.mails).toHaveLength(before)
  })

  it('drops mails when no server is set', async () => {
    const { mailer } = open({ AUTH_SMTP_HOST: '' })
    expect(await mailer.send(mail, now)).toBe(false)
    await mailer.check()
  })
})

describe('createTemplateLoader', () => {
  it('fetches and caches a template, and falls back to the cached or the built-in one', async () => {
    const { mailer } = open({ AUTH_MAILER_TEMPLATES_REAUTHENTICATION: '/mails/code.html' })
    const bodyAt = async (at: Date) => {
      await mailer.send(mail, at)
      return (await sink.take()).html?.trim()
    }
    const builtIn = '<h2>Confirm that it is you</h2>\n<p>Enter this code: <strong>123456</strong></p>'
    template = { status: 500, body: '<p>broken</p>' }
    expect(await bodyAt(now)).toBe(builtIn)
    template = { status: 200, body: '<p>{{ .Token }} v1</p>' }
    expect(await bodyAt(later(9_999))).toBe(builtIn)
    expect(await bodyAt(later(10_000))).toBe('<p>123456 v1</p>')
    template = { status: 200, body: '<p>{{ .Token }} v2</p>' }
    expect(await bodyAt(later(609_999))).toBe('<p>123456 v1</p>')
    expect(await bodyAt(later(610_000))).toBe('<p>123456 v2</p>')
    template = { status: 200, body: '<p>{{ range }}</p>' }
    expect(await bodyAt(later(1_220_000))).toBe('<p>123456 v2</p>')
    expect(templates.requests.at(-1)).toEqual({
      method: 'GET',
      url: '/mails/code.html',
      headers: expect.anything(),
      body: '',
    })
  })

  it.each([
    ['a redirect', { status: 302, body: '' }],
    ['more than MAILER_TEMPLATE_MAX_SIZE', { status: 200, body: 'x'.repeat(1_001) }],
  ])('refuses %s', async (_case, answer) => {
    template = answer
    const { loader } = open({ AUTH_MAILER_TEMPLATES_RECOVERY: '/r.html', AUTH_MAILER_TEMPLATE_MAX_SIZE: '1000' })
    expect(await loader.body('RECOVERY', now)).toEqual(parseTemplate(DEFAULT_TEXTS.RECOVERY.body))
  })

  it('fetches a template once for many mails', async () => {
    template = { status: 200, body: '<p>once</p>' }
    const { loader } = open({ AUTH_MAILER_TEMPLATES_RECOVERY: '/once.html' })
    const bodies = await Promise.all(Array.from({ length: 8 }, () => loader.body('RECOVERY', now)))
    expect(new Set(bodies).size).toBe(1)
    expect(templates.requests.filter(({ url }) => url === '/once.html')).toHaveLength(1)
  })
})

describe('htmlToText', () => {
  it.each([
    ['<h2>Title</h2>\n<p>One &amp; two</p>', 'Title\n\nOne & two'],
    ['<p><a href="https://h/?a=1&amp;b=2">Follow</a></p>', 'Follow:\nhttps://h/?a=1&b=2'],
    ["<a class='x' href='https://h/'>https://h/</a>", 'https://h/'],
    ['<style>p { color: red }</style><p>x<br>y</p>', 'x\ny'],
    ['&#39;&#x27;&lt;&quot;&nbsp;&copy;&unknown;', `''<"\u00a0©&unknown;`],
    ['<ul><li>one</li><li>two</li></ul>', '* one\n * two'],
    ['<table><tr><td>one</td><td>two</td></tr></table>', 'one\ntwo'],
    ['<!--[if mso]><p>Outlook</p><![endif]--><p>others</p>', 'others'],
    ['<p>Take <a href="https://h/">this link</a> soon.</p>', 'Take this link:\nhttps://h/\nsoon.'],
    ['<a href="https://a.example"><img alt="Help" src="h.png"></a>', 'Help: https://a.example'],
    ['<a href="https://a.example"><b><img alt="Get help" src="h.png"></b>\n</a>', 'Get help: https://a.example'],
    ['<a href="https://a.example"><img src="h.png"></a>', 'https://a.example'],
    ['<a href="https://a.example"><img alt="" src="h.png"> Help</a> us', 'Help:\nhttps://a.example\nus'],
    ['<a href="https://a.example"><img alt="Logo"> Help</a>', 'Logo Help:\nhttps://a.example'],
    ['<img alt="Logo" src="l.png"><p>x</p>', 'x'],
    ['plain', 'plain'],
  ])('writes %j as text', (html, text) => {
    expect(htmlToText(html)).toBe(text)
  })

  it('leaves out the content of elements nested deeper than 100', () => {
    expect(htmlToText(`<p>one</p>${'<div>'.repeat(101)}two`)).toBe('one\n…')
  })

  it('leaves out everything after 100,000 characters', () => {
    expect(htmlToText(`one${' '.repeat(100_000)}two`)).toBe('one')
  })
})
