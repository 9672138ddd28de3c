import { type MailSink, startMailSink } from '@trestle/testing/mail-sink.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errorBodies, refusals, statusAndBody } from '../../test/bodies.ts'
import { COMPRESSIBLE, pageHeaders } from '../../test/headers.ts'
import { mainOf } from '../../test/page-text.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'

const lines: string[] = []
let sink: MailSink
let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  sink = await startMailSink()
  payments = await startPayments({ smtp: sink, onLog: (line) => lines.push(JSON.stringify(line)) })
  member = await createTestApp(payments)
})
afterAll(async () => {
  await payments.close()
  await sink.close()
})

const NAME = '<script>alert("x")</script> & Co'
/** The name, escaped as in a page. */
const SHOWN_NAME = '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; Co'
/** Returns the title of a page, below the icon. */
const titled = (title: string) =>
  `<div class="title"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M1 3h14v3h-2l1 8h-3l-1-8H6l-1 8H2l1-8H1z"/></svg><h1>${title}</h1></div>`
/** Returns the address that `invite` invites, escaped as in a page. */
const addressOf = (merchantId: string) => `<span class="address">o&#39;${merchantId}@<wbr>example.<wbr>com</span>`

/** Invites a user to a new merchant, and returns the path of the link. */
async function invite(): Promise<{ merchantId: string; path: string; token: string }> {
  const { id } = await createTestMerchant(payments, member, { name: NAME })
  const url = `/merchants/${id}/users`
  const email = `o'${id}@example.com`
  await payments.app.inject({ method: 'POST', url, headers: member.headers, payload: { email } })
  const mail = await sink.take(({ to }) => to?.[0]?.address === email)
  const token = /\/invitations\/([\w-]+)\n/.exec(mail.text ?? '')?.[1] ?? ''
  return { merchantId: id, path: `/invitations/${token}`, token }
}

const isPending = async (merchantId: string) =>
  (
    await payments.database.db
      .selectFrom('merchant_users')
      .select('pending')
      .where('merchant_id', '=', merchantId)
      .executeTakeFirst()
  )?.pending
const get = (url: string) => payments.app.inject({ url })
const post = (url: string, headers: object = { 'content-type': 'application/x-www-form-urlencoded' }) =>
  payments.app.inject({ method: 'POST', url, headers: { ...headers }, payload: '' })

/** Expects the page for a token that belongs to no invitation. */
function expectMissing(response: LightMyRequestResponse): void {
  expect([response.statusCode, response.headers]).toEqual([404, pageHeaders()])
  expect(mainOf(response.body)).toBe(`
${titled('There is no such invitation')}
<p>It may have been withdrawn, or the link is incomplete. Ask whoever invited you for a new one.</p>

`)
}

describe('GET /invitations/:token', () => {
  it('200: shows a page that changes nothing, runs no script and loads nothing from elsewhere', async () => {
    const { merchantId, path } = await invite()
    const response = await get(path)
    expect(response.statusCode).toBe(200)
    expect(response.headers).toEqual(pageHeaders(undefined, COMPRESSIBLE))
    const [head, body] = response.body.split('</head>')
    expect([/<title>.*<\/title>/.exec(head ?? '')?.[0], head?.includes('<script'), body]).toEqual([
      `<title>Look after ${SHOWN_NAME}?</title>`,
      false,
      `
<body class="single">
<main>
${titled(`Look after ${SHOWN_NAME}?`)}
<p>An app invites ${addressOf(merchantId)} to look after ${SHOWN_NAME}. Whoever accepts may:</p>
<ul class="rights">
<li><b>See</b> its payments</li>
<li><b>Move its money</b></li>
<li><b>Invite and revoke</b> others</li>
</ul>
<p class="notice">The names were chosen by whoever invites you. Nobody has checked them.</p>
<form method="post" class="actions"><button>Accept the invitation</button></form>
<p class="other">Not you? Close this page.</p>
</main>
</body>
</html>
`,
    ])
    expect((await payments.app.inject({ method: 'HEAD', url: path })).statusCode).toBe(200)
    expect(await isPending(merchantId)).toBe(true)
  })

  it('200: spells the address as its merchant has typed it, whatever another merchant has typed', async () => {
    for (const email of ['JOHN.Doe@corp.example.com', 'john.doe@corp.example.com']) {
      const { id } = await createTestMerchant(payments, member, { name: 'Coffee' })
      const url = `/merchants/${id}/users`
      await payments.app.inject({ method: 'POST', url, headers: member.headers, payload: { email } })
      const mail = await sink.take(({ to }) => to?.[0]?.address === email)
      const page = await get(/\/invitations\/[\w-]+\n/.exec(mail.text ?? '')?.[0].trim() ?? '')
      const [address = ''] = /<span class="address">.*?<\/span>/.exec(page.body) ?? []
      expect([page.statusCode, address.replaceAll(/<[^>]+>/g, '')]).toEqual([200, email])
    }
  })

  it('404: refuses any other token', async () => {
    for (const token of ['x', 'x'.repeat(43), '%00', "'"]) {
      expectMissing(await get(`/invitations/${token}`))
    }
  })
})

describe('guesses of tokens', () => {
  it('429: count as failed authentications of their address', async () => {
    const limited = await startPayments({ rateLimits: { failuresPerMinute: 3 } })
    const tryToken = (n: number) => limited.app.inject({ url: `/invitations/guess-${n}` })
    expect(statusAndBody(await limited.app.inject({ url: '/me', headers: basic('unknown') }))).toEqual(
      refusals.unauthorized,
    )
    for (const n of [1, 2]) expectMissing(await tryToken(n))
    const refused = await tryToken(3)
    expect(statusAndBody(refused)).toEqual(refusals.rateLimited)
    await limited.close()
  })
})

describe('POST /invitations/:token', () => {
  it('303: accepts once, and redirects to a page that says so', async () => {
    const { merchantId, path } = await invite()
    const responses = await Promise.all([post(path), post(path), post(path, {})])
    for (const response of responses) {
      expect([response.statusCode, response.headers.location, response.body]).toEqual([303, path, ''])
    }
    expect(await isPending(merchantId)).toBe(false)
    const audit = await payments.database.db
      .selectFrom('audit')
      .select('action')
      .where('merchant_id', '=', merchantId)
      .where('action', '=', 'user.accepted')
      .execute()
    expect(audit).toHaveLength(1)
    const page = await get(path)
    expect([page.statusCode, mainOf(page.body)]).toEqual([
      200,
      `
${titled(`You look after ${SHOWN_NAME}`)}
<p>${addressOf(merchantId)} has accepted the invitation.</p>
<h2>What now?</h2>
<p>Where your team works with the payments of ${SHOWN_NAME}, sign in as ${addressOf(merchantId)}. Ask whoever invited you for the
address.</p>
<details><summary>For developers</summary>
<p>Programs use an access token of ${addressOf(merchantId)}. This lists the newest payments:</p>
<p class="command"><code tabindex="0">GET /<wbr>merchants/<wbr>${merchantId}/<wbr>transactions?<wbr>limit=<wbr>10</code></p>
<p><a href="/docs">The API documentation</a> shows what else members may do.</p></details>
`,
    ])
  })

  it('303: redirects to the page of the invitation from a link with a slash at its end', async () => {
    const { merchantId, path } = await invite()
    const accepted = await post(`${path}/`)
    expect([accepted.statusCode, accepted.headers.location, accepted.body]).toEqual([303, path, ''])
    expect(await isPending(merchantId)).toBe(false)
  })

  it('410: does not accept an invitation that has expired', async () => {
    const { merchantId, path } = await invite()
    await payments.database.db
      .updateTable('invitations')
      .set({ expires: new Date('2026-01-01') })
      .where('merchant_id', '=', merchantId)
      .execute()
    for (const response of [await post(path), await get(path)]) {
      expect([response.statusCode, response.headers]).toEqual([410, pageHeaders()])
      expect(mainOf(response.body)).toBe(`
${titled('This invitation has expired')}
<p>Ask whoever invited you for a new one.</p>

`)
    }
    expect(await isPending(merchantId)).toBe(true)
  })

  it('404: refuses any other token', async () => {
    expectMissing(await post(`/invitations/${'x'.repeat(43)}`))
  })

  it('415: refuses a body of another media type', async () => {
    const { merchantId, path } = await invite()
    const response = await payments.app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'text/xml' },
      payload: '<a/>',
    })
    expect(statusAndBody(response)).toEqual(refusals.unsupportedMediaType)
    expect(await isPending(merchantId)).toBe(true)
  })

  it('303: keeps the token out of tables and logs', async () => {
    const { path, token } = await invite()
    await get(path)
    const answer = await post(path)
    expect([answer.statusCode, answer.body]).toEqual([303, ''])
    const { db } = payments.database
    const rows = await db.selectFrom('invitations').selectAll().execute()
    expect(JSON.stringify(rows.map((row) => row.token_hash.toString('latin1')))).not.toContain(token)
    expect(lines.join()).not.toContain(token)
    expect(lines.join()).toContain('"path":"/invitations/{token}"')
  })

  it.each([
    ['//invitations/TOKEN', false],
    ['/Invitations/TOKEN', false],
    ['/invitations/TOKEN/x', false],
    ['/invitations%2FTOKEN', false],
    ['/invitations%252fTOKEN', false],
    ['/%69nvitations/TOKEN', true],
    ['/invitations%25%32%46TOKEN', false],
    ['/pay/invitations/TOKEN', false],
    ['/x/../invitations/./TOKEN', true],
    ['/invitations/TOKEN.', true],
  ])('404: keeps the token of an unknown link out of logs: %s', async (path, isOwn) => {
    const token = 'x'.repeat(43)
    const url = path.replace('TOKEN', token)
    const read = await get(url)
    // Some of these paths are other spellings of the path of an invitation.
    if (isOwn) expectMissing(read)
    else expect(statusAndBody(read)).toEqual([404, errorBodies.endpointNotFound])
    const written = await payments.app.inject({ method: 'PUT', url })
    expect(statusAndBody(written)).toEqual([404, errorBodies.endpointNotFound])
    expect(lines.join()).not.toContain(token)
    const logged = lines.slice(-2).map((line) => JSON.parse(line))
    expect(logged.map(({ method, path: shown }) => [method, shown])).toEqual([
      ['GET', '/invitations/{token}'],
      ['PUT', '/invitations/{token}'],
    ])
  })
})
