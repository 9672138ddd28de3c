import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type MailCatcher, startMailCatcher } from './mail-catcher.ts'
import { renderFrame, renderNotice } from './mail-page.ts'

removeFoldersAtEnd()

let catcher: MailCatcher
beforeAll(async () => {
  catcher = await startMailCatcher({ smtp: 0, web: 0 }, join(createFolder(), 'mails'), 'http://localhost:8083')
})
afterAll(() => catcher.close())

const mail = {
  from: 'Trestle <auth@trestle.localhost>',
  to: 'ada@example.com',
  subject: 'Confirm <your> address',
  text: 'Open http://localhost:8081/verify?token=a&type=signup now.',
  html: '<p>Open <a href="http://localhost:8081/verify?token=a&amp;type=signup">this</a><script>alert(1)</script></p>',
}

async function deliver(changes: Partial<typeof mail & { bcc: string; attachments: object[] }> = {}): Promise<void> {
  const transport = createTransport({ host: '127.0.0.1', port: catcher.smtpPort, auth: { user: 'any', pass: 'any' } })
  await transport.sendMail({ ...mail, ...changes })
  transport.close()
}

async function call(path: string, options: RequestInit = {}) {
  const response = await fetch(`http://127.0.0.1:${catcher.webPort}${path}`, { redirect: 'manual', ...options })
  return { status: response.status, headers: response.headers, body: await response.text() }
}

describe('GET /messages', () => {
  it('200: lists mails, newest first, and filters by recipient', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver()
    await deliver({ to: 'Grace@example.com', subject: 'Second' })
    const all = JSON.parse((await call('/messages')).body)
    expect(all).toEqual({
      messages: [
        {
          id: expect.any(Number),
          received: expect.stringMatching(/^\d{4}-.*Z$/),
          from: 'Trestle <auth@trestle.localhost>',
          to: ['Grace@example.com'],
          subject: 'Second',
          bytes: expect.any(Number),
        },
        {
          id: expect.any(Number),
          received: expect.stringMatching(/^\d{4}-.*Z$/),
          from: 'Trestle <auth@trestle.localhost>',
          to: ['ada@example.com'],
          subject: 'Confirm <your> address',
          bytes: expect.any(Number),
        },
      ],
    })
    const some = JSON.parse((await call('/messages?to=grace@example.com')).body)
    expect(some.messages).toEqual([all.messages[0]])
  })
})

describe('GET /messages/:id', () => {
  it('200: returns the whole mail, with hidden recipients and attachments', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver({ bcc: 'hidden@example.com', attachments: [{ filename: 'a.txt', content: 'four' }] })
    const [{ id }] = JSON.parse((await call('/messages')).body).messages
    const answer = await call(`/messages/${id}`)
    expect(JSON.parse(answer.body)).toEqual({
      id,
      from: 'Trestle <auth@trestle.localhost>',
      to: ['ada@example.com', 'hidden@example.com'],
      cc: [],
      subject: mail.subject,
      text: expect.stringContaining(mail.text),
      html: `${mail.html}\n`,
      attachments: [{ name: 'a.txt', type: 'text/plain', bytes: 4 }],
      received: expect.any(String),
      bytes: expect.any(Number),
      headers: [
        { name: 'from', value: 'Trestle <auth@trestle.localhost>' },
        { name: 'to', value: 'ada@example.com' },
        { name: 'subject', value: 'Confirm <your> address' },
        { name: 'message-id', value: expect.any(String) },
        { name: 'date', value: expect.any(String) },
        { name: 'mime-version', value: '1.0' },
        { name: 'content-type', value: expect.any(String) },
      ],
    })
    expect((await call(`/messages/${id}/source`)).body).toMatch(/^Subject: Confirm <your> address\r$/m)
    expect((await call(`/messages/${id}/text`)).body).toContain(mail.text)
  })

  it.each(['/messages/0', '/messages/999999', '/messages/x', '/messages/1/pdf'])('404: refuses %s', async (path) => {
    const { status, body } = await call(path)
    expect([status, body]).toEqual([404, '{"error":"Not found"}\n'])
  })

  it('421: refuses a foreign name that resolves to this address', async () => {
    const { request } = await import('node:http')
    const answer = await new Promise((resolve) => {
      const headers = { host: 'evil.example' }
      request({ port: catcher.webPort, host: '127.0.0.1', path: '/messages', headers }, (response) => {
        text(response).then((body) => resolve([response.statusCode, body]))
      }).end()
    })
    expect(answer).toEqual([421, '{"error":"Ask for localhost"}\n'])
  })
})

describe('DELETE /messages/:id', () => {
  it('204: removes a mail, which is not found afterwards', async () => {
    await deliver()
    const [{ id }] = JSON.parse((await call('/messages')).body).messages
    expect((await call(`/messages/${id}`, { method: 'DELETE' })).status).toBe(204)
    const { status, body } = await call(`/messages/${id}`)
    expect([status, body]).toEqual([404, '{"error":"Not found"}\n'])
  })

  it('404: refuses an unknown mail', async () => {
    const { status, body } = await call('/messages/999999', { method: 'DELETE' })
    expect([status, body]).toEqual([404, '{"error":"Not found"}\n'])
  })
})

describe('the page', () => {
  it('200: links to the page of the stack', async () => {
    expect((await call('/')).body).toContain('<nav><a href="http://localhost:8083">← Start page</a></nav>')
  })

  it('404: says on other paths that there is nothing', async () => {
    const { status, body } = await call('/nothing')
    expect([status, body]).toEqual([404, renderNotice('Not found', 'This address has no page.')])
    expect((await call('/mails/999999')).body).toBe(renderNotice('No such mail', 'It was removed, or never came.'))
  })

  it('lists mails with links, and shows one with its links, its text and a frame without rights', async () => {
    await call('/messages', { method: 'DELETE' })
    expect((await call('/')).body).toContain('<h2>No mail yet</h2>')
    await deliver()
    const list = await call('/')
    const path = /<a id="mail-\d+" href="(\/mails\/\d+)">Confirm &lt;your&gt; address<\/a>/.exec(list.body)?.[1] ?? ''
    const page = await call(path)
    expect(page.body).toContain(
      '<a class="button" href="http://localhost:8081/verify?token=a&amp;type=signup" rel="noreferrer">this</a>',
    )
    expect(page.body).toContain('sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"')
    expect(page.body).not.toContain('<script>alert(1)')
    for (const { headers } of [list, page]) {
      const policy = headers.get('content-security-policy')
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
      expect(policy).not.toMatch(/https?:|unsafe|\*/)
    }
  })

  it('serves the HTML of a mail with a policy against scripts and remote content, also outside its frame', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver()
    const [{ id }] = JSON.parse((await call('/messages')).body).messages
    const { body, headers } = await call(`/messages/${id}/html`)
    expect(body).toBe(renderFrame(`${mail.html}\n`))
    expect(body).toMatch(/^<!doctype html><base target="_blank">/)
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none';" +
        " frame-ancestors 'self'; sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox",
    )
  })

  it('shows a mail as unread until its page was opened, whatever programs read', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver()
    const [{ id }] = JSON.parse((await call('/messages')).body).messages
    await call(`/messages/${id}`)
    const before = (await call('/')).body
    expect(before).toContain('<title>(1) Mail –')
    expect(before).toContain('1 mail, 1 unread')
    await call(`/mails/${id}`)
    const after = (await call('/')).body
    expect(after).toContain('<title>Mail –')
    expect(after).not.toContain('class="unread"')
  })

  it('highlights the code of a mail', async () => {
    await deliver({ html: '<p>Or enter this code: <strong>123456</strong></p>' })
    const [{ id }] = JSON.parse((await call('/messages')).body).messages
    expect((await call(`/mails/${id}`)).body).toContain('<strong id="code">123456</strong>')
  })

  it('finds every word in subjects, addresses and texts, on the page and for programs', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver({ subject: 'Receipt' })
    await deliver({ subject: 'Invitation', to: 'grace@example.com' })
    const found = async (query: string) => {
      const { messages } = JSON.parse((await call(`/messages?q=${encodeURIComponent(query)}`)).body)
      const page = (await call(`/?q=${encodeURIComponent(query)}`)).body
      const shown = [...page.matchAll(/href="\/mails\/\d+">(\w+)</g)].map(([, subject]) => subject)
      expect(shown).toEqual(messages.map(({ subject }: { subject: string }) => subject))
      return shown
    }
    expect(await found('RECEIPT')).toEqual(['Receipt'])
    expect(await found('grace verify')).toEqual(['Invitation'])
    expect(await found('')).toEqual(['Invitation', 'Receipt'])
    expect(await found('grace receipt')).toEqual([])
    expect((await call('/?q=%3Cb%3E')).body).toContain('No mail contains “&lt;b&gt;”.')
  })

  it('removes one mail by its button, but not by the form of a foreign site', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver({ subject: 'Stays' })
    await deliver({ subject: 'Goes' })
    const subjects = async () =>
      JSON.parse((await call('/messages')).body).messages.map(({ subject }: { subject: string }) => subject)
    const [{ id }] = JSON.parse((await call('/messages')).body).messages
    const remove = (site: string) =>
      call(`/mails/${id}/remove?q=goes`, { method: 'POST', headers: { 'sec-fetch-site': site } })
    const foreign = await remove('cross-site')
    expect([foreign.status, foreign.body]).toEqual([404, expect.stringContaining('<h1>No such mail</h1>')])
    expect(await subjects()).toEqual(['Goes', 'Stays'])
    const { status, headers } = await remove('same-origin')
    expect([status, headers.get('location')]).toEqual([303, '/?q=goes'])
    expect(await subjects()).toEqual(['Stays'])
  })

  it('asks before it removes all mails', async () => {
    await call('/messages', { method: 'DELETE' })
    await deliver()
    await deliver()
    const { body } = await call('/?q=zebra')
    expect(body).toContain('<button class="quiet" popovertarget="confirm">Remove all 2 mails</button>')
    expect(body).toContain('<a href="/">Show all mails</a>')
    expect(body).toMatch(
      /<div id="confirm" popover .*<form method="post" action="\/clear".* autofocus>Keep them<.*<button class="bad">/s,
    )
  })

  it('is emptied by its button, but not by the form of a foreign site', async () => {
    await deliver()
    const foreign = await call('/clear', { method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } })
    expect([foreign.status, foreign.body]).toEqual([404, expect.stringContaining('<h1>Not found</h1>')])
    expect(JSON.parse((await call('/messages')).body).messages).not.toEqual([])
    const own = await call('/clear', { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } })
    expect([own.status, own.headers.get('location')]).toEqual([303, '/'])
    expect(JSON.parse((await call('/messages')).body)).toEqual({ messages: [] })
  })
})

describe('SMTP', () => {
  it('552: refuses a mail above 10 MiB, and accepts the next one', async () => {
    await call('/messages', { method: 'DELETE' })
    await expect(deliver({ attachments: [{ content: Buffer.alloc(8 * 1024 * 1024) }] })).rejects.toHaveProperty(
      'responseCode',
      552,
    )
    await deliver()
    expect(JSON.parse((await call('/messages')).body).messages).toHaveLength(1)
  })
})
